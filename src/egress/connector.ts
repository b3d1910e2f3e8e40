/**
 * The only place that opens a socket to the outside, and the guard around it. Three layers, all of them needed:
 * a literal in the URL never meets a resolver, so it is checked by itself; every address of a resolved name is checked and
 * the connection pinned to that answer; and the connected socket is asked once more whom it has reached. Nothing is
 * written before all three have agreed, TLS hello included.
 *
 * It does not know allow-lists (`policy.ts`): it judges addresses. TLS names and certificates stay on the host name.
 */
import dns, { type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction, Socket } from 'node:net'
import { buildConnector } from 'undici'
import { ConnectFailure, connectFailure, type Phase, refused } from './faults.ts'
import type { SecureContexts } from './host-tls.ts'
import { passOverInterim } from './interim-answers.ts'
import type { Proxy } from './proxy.ts'
import { mayReach, type ReachRules } from './reach.ts'
import { openTunnel } from './tunnel.ts'

/** `dns.lookup` as it is called here: all addresses, one callback. */
export type Lookup = (
  hostname: string,
  options: { readonly all: true; readonly hints: number },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

export interface ConnectorOptions extends ReachRules {
  readonly lookup: Lookup
  /** For name resolution, TCP, the proxy's answer and TLS together. */
  readonly timeoutMs: number
  /** Every connection is tunnelled through it when there is one. */
  readonly proxy: Proxy | null
  /** Hosts with a TLS context of their own. Default: none. */
  readonly secureContexts?: SecureContexts
  /** An unconnected socket. Default: `new Socket()`. */
  readonly newSocket?: () => Socket
}

export interface Connector {
  /** For undici's `connect` option. Fails with a `ConnectFailure`; the socket it returns is undici's handle to cancel. */
  connect(target: buildConnector.Options, callback: buildConnector.Callback): Socket
  /** Ends the attempts that are under way. */
  abandon(): void
}

/** How long one address may keep the next one waiting. Node's 250 ms gives up on servers that are merely far away. */
const NEXT_ADDRESS_AFTER_MS = 1_000
const TCP_KEEP_ALIVE_AFTER_MS = 60_000

/** Where an attempt stands: the phase is known to whoever reports its failure. */
interface Attempt {
  readonly socket: Socket
  readonly host: string
  readonly port: number
  phase: Phase
}

export function createConnector(options: ConnectorOptions): Connector {
  const { lookup, timeoutMs, proxy, newSocket = () => new Socket() } = options
  // NODE_TLS_REJECT_UNAUTHORIZED must not switch the name check off; the time limit is the attempt's own.
  const upgrades = { allowH2: false, timeout: 0, rejectUnauthorized: true }
  const upgrade = buildConnector(upgrades)
  // Each with sessions of its own, so that none is resumed that another authority vouched for.
  const ownUpgrades = new Map(
    [...(options.secureContexts ?? [])].map(([host, secureContext]) => [
      host,
      buildConnector({ ...upgrades, secureContext }),
    ]),
  )
  const attempts = new Set<Socket>()

  async function establish(attempt: Attempt, target: buildConnector.Options): Promise<Socket> {
    const { socket, host, port } = attempt
    const addresses = await resolve(host, lookup, options)
    if (proxy === null) {
      attempt.phase = 'connect'
      await dial(socket, host, port, (_name, _options, callback) => callback(null, addresses))
      const failure = checkPeer(socket, host, options)
      if (failure !== null) throw failure
    } else {
      attempt.phase = 'proxy'
      await dial(socket, proxy.host, proxy.port, (name, _options, callback) => {
        lookup(name, { all: true, hints: dns.ADDRCONFIG }, callback)
      })
      await tunnel(attempt, proxy, addresses)
    }
    if (target.protocol !== 'https:') return socket
    attempt.phase = 'tls'
    return secure(ownUpgrades.get(`${host}:${port}`) ?? upgrade, target, socket)
  }

  function connect(target: buildConnector.Options, callback: buildConnector.Callback): Socket {
    const attempt: Attempt = {
      socket: newSocket(),
      host: target.hostname,
      port: Number(target.port || (target.protocol === 'https:' ? 443 : 80)),
      phase: 'dns',
    }
    const { socket, host } = attempt
    let settled = false
    const settle = (error: unknown, connected: Socket | null) => {
      if (settled) return
      settled = true
      clearTimeout(timer)
      attempts.delete(socket)
      socket.off('close', onClose)
      if (connected !== null) return callback(null, passOverInterim(connected))
      socket.destroy()
      callback(connectFailure(error, attempt.phase, host), null)
    }
    const onClose = () => settle(coded('ECONNRESET'), null)
    const timer = setTimeout(() => settle(coded('ETIMEDOUT'), null), timeoutMs)

    attempts.add(socket)
    // Stays on for good: under TLS this socket can fail after the TLS socket above it has taken over.
    socket.on('error', (error) => settle(error, null))
    socket.on('close', onClose)
    socket.setNoDelay(true)
    socket.setKeepAlive(true, TCP_KEEP_ALIVE_AFTER_MS)
    establish(attempt, target).then(
      (connected) => settle(null, connected),
      (error: unknown) => settle(error, null),
    )
    return socket
  }

  function abandon(): void {
    for (const socket of attempts) socket.destroy()
  }

  return { connect, abandon }
}

/** The checked addresses of a host, literal or name. One bad address among them condemns them all. */
function resolve(host: string, lookup: Lookup, rules: ReachRules): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    const judge = (addresses: readonly LookupAddress[]) => {
      if (addresses.length === 0) return reject(coded('ENODATA'))
      if (!addresses.every(({ address }) => mayReach(host, address, rules))) {
        return reject(refused('address_blocked', host))
      }
      // The family is read from the address itself, so that a resolver's slip cannot unpin it.
      resolve(addresses.map(({ address }) => ({ address, family: isIP(address) })))
    }
    // A literal never reaches a resolver, neither ours nor Node's.
    if (isIP(host) !== 0) return judge([{ address: host, family: isIP(host) }])
    // ADDRCONFIG is what Node itself asks with: no IPv6 answers on a machine without IPv6.
    lookup(host, { all: true, hints: dns.ADDRCONFIG }, (error, addresses) => {
      if (error !== null) return reject(error)
      judge(addresses)
    })
  })
}

/** Connects to one of the addresses that `lookup` gives. Node asks with `all: true`, so it must answer with an array. */
function dial(socket: Socket, host: string, port: number, lookup: LookupFunction): Promise<void> {
  return new Promise((resolve, reject) => {
    // The attempt may have ended while the name was being resolved: connect() would bring the socket back to life.
    if (socket.destroyed) return reject(coded('ECONNABORTED'))
    socket.once('connect', resolve)
    socket.connect({
      host,
      port,
      lookup,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_AFTER_MS,
    })
  })
}

/** The third layer: whatever happened below the resolver, the address at the other end is looked at. */
function checkPeer(socket: Socket, host: string, rules: ReachRules): ConnectFailure | null {
  const peer = socket.remoteAddress
  if (peer === undefined) return connectFailure(coded('ECONNRESET'), 'connect', host)
  return mayReach(host, peer, rules) ? null : refused('address_blocked', host)
}

/** A proxy cannot try a second address for us; IPv4 is the family that every proxy can reach. */
async function tunnel(attempt: Attempt, proxy: Proxy, addresses: readonly LookupAddress[]): Promise<void> {
  const target = addresses.find(({ family }) => family === 4) ?? addresses[0]
  const status = await openTunnel(attempt.socket, proxy, target?.address ?? '', attempt.port)
  if (status >= 200 && status < 300) return
  const said = status === 0 ? 'did not answer CONNECT in HTTP' : `answered CONNECT with status ${status}`
  const message = `could not connect to ${attempt.host}: the configured proxy ${said}`
  throw new ConnectFailure({ kind: 'fault', fault: { kind: 'connect', message } })
}

function secure(
  upgrade: buildConnector.connector,
  target: buildConnector.Options,
  httpSocket: Socket,
): Promise<Socket> {
  // An address has no server name; its certificate is checked against the address itself.
  const servername = isIP(target.hostname) === 0 ? { servername: target.hostname } : {}
  return new Promise((resolve, reject) => {
    upgrade({ ...target, ...servername, httpSocket }, (error, socket) => {
      if (error !== null) reject(error)
      else resolve(socket)
    })
  })
}

function coded(code: string): Error {
  return Object.assign(new Error(code), { code })
}
