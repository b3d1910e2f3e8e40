/**
 * What the network's errors are called. Pure: an error in, a `Fault` out.
 *
 * Messages name the host and an error code, nothing else: the errors themselves carry addresses, certificates and bytes
 * of foreign answers, so they are never chained as `cause` and never quoted.
 */
import { errors } from 'undici'
import type { EgressAnswer, Fault, Refusal } from './egress.ts'

/** Why there is no connection, carried through undici from the connector to the caller. */
export class ConnectFailure extends Error {
  override readonly name = 'ConnectFailure'
  readonly answer: Exclude<EgressAnswer, { kind: 'response' }>

  constructor(answer: Exclude<EgressAnswer, { kind: 'response' }>) {
    super(answer.kind === 'fault' ? answer.fault.message : `egress to ${answer.refusal.host} is refused`)
    this.answer = answer
  }
}

export function refused(reason: Refusal['reason'], host: string): ConnectFailure {
  return new ConnectFailure({ kind: 'refused', refusal: { reason, host } })
}

/** How far a connection had come when it failed. */
export type Phase = 'dns' | 'connect' | 'proxy' | 'tls'

const KINDS: ReadonlyMap<string, Fault['kind']> = new Map([
  ['ECONNREFUSED', 'connect'],
  ['EHOSTUNREACH', 'connect'],
  ['ENETUNREACH', 'connect'],
  ['ECONNRESET', 'reset'],
  ['ECONNABORTED', 'reset'],
  ['EPIPE', 'reset'],
  ['ETIMEDOUT', 'timeout'],
  ['EPROTO', 'tls'],
  // undici: the other side closed, or closed before the announced length or the last chunk had come.
  ['UND_ERR_SOCKET', 'reset'],
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'reset'],
  ['HPE_INVALID_EOF_STATE', 'reset'],
  // Destroyed from this side: by the reader of the body, or because the gate was closed.
  ['UND_ERR_ABORTED', 'aborted'],
  ['UND_ERR_DESTROYED', 'aborted'],
  ['UND_ERR_CLOSED', 'aborted'],
])

/** A connection that could not be made. A reset or time-out is called that in every phase. */
export function connectFailure(error: unknown, phase: Phase, host: string): ConnectFailure {
  if (error instanceof ConnectFailure) return error
  const code = codeOf(error)
  const known = KINDS.get(code)
  const kind = known === 'reset' || known === 'timeout' ? known : phase === 'proxy' ? 'connect' : phase
  return new ConnectFailure({ kind: 'fault', fault: { kind, message: connectMessage(kind, phase, host, code) } })
}

function connectMessage(kind: Fault['kind'], phase: Phase, host: string, code: string): string {
  const via = phase === 'proxy' ? 'through the configured proxy ' : ''
  switch (kind) {
    case 'dns':
      return `the name ${host} could not be resolved${shown(code)}`
    case 'tls':
      return `no trusted TLS connection to ${host}${shown(code)}`
    case 'reset':
      return `the connection to ${host} ${via}broke off before it stood${shown(code)}`
    case 'timeout':
      return `the connection to ${host} ${via}timed out${shown(code)}`
    default:
      return `could not connect to ${host}${via === '' ? '' : ` ${via.trimEnd()}`}${shown(code)}`
  }
}

/** An exchange that broke after its connection stood. */
export function exchangeFault(error: unknown, host: string): Fault {
  const code = codeOf(error)
  const kind = KINDS.get(code) ?? (/^ERR_(?:SSL|TLS)_/.test(code) ? 'tls' : 'protocol')
  switch (kind) {
    case 'aborted':
      return abortedFault(host)
    case 'timeout':
      return { kind, message: `the connection to ${host} timed out${shown(code)}` }
    case 'protocol':
      return { kind, message: `the exchange with ${host} is not valid HTTP${shown(code)}` }
    default:
      return { kind, message: `the connection to ${host} broke off${shown(code)}` }
  }
}

export function abortedFault(host: string): Fault {
  return { kind: 'aborted', message: `the call to ${host} was aborted` }
}

/** Codes are constants of Node and undici; anything of another shape may quote what it met, and stays out. */
function codeOf(error: unknown): string {
  // undici's parser errors come without their code; the reason in the message is a constant of llhttp.
  if (error instanceof errors.HTTPParserError && error.message.includes('Invalid EOF state')) {
    return 'HPE_INVALID_EOF_STATE'
  }
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{0,63}$/.test(code) ? code : ''
}

function shown(code: string): string {
  return code === '' ? '' : ` (${code})`
}
