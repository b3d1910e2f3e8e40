/**
 * Fetches one image or file from its address: one GET through the egress gate, with nothing that says who asks. No redirect, no
 * repeat, no decompression. Never rejects; by the time it has answered, the socket is on its way down. SPEC §10.
 */
import { contentEncodings } from '../egress/content-encodings.ts'
import { BodyBroken } from '../egress/body.ts'
import type { Egress, EgressResponse, Refusal } from '../egress/egress.ts'
import type { PartFetch } from '../engine/ports.ts'
import type { PartBudget } from './part-budget.ts'
import { canBeChecked, kindProblem } from './part-kind.ts'
import type { WantedPart } from './sent-part.ts'

/** Of one image or file, as it comes. */
export const MAX_PART_BYTES = 10 * 1024 * 1024

export type PartFacts = Omit<PartFetch, 'durationMs'>

export type Fetch =
  /** `taken`: of the budget, for its base64. */
  | { readonly ok: true; readonly bytes: Buffer; readonly taken: number; readonly facts: PartFacts }
  /** `why`: a sentence, with the host only. */
  | { readonly ok: false; readonly why: string; readonly facts: PartFacts }

/** @param signal aborting it ends the fetch at once */
export async function fetchPart(
  send: Egress['request'],
  part: WantedPart,
  budget: PartBudget,
  signal: AbortSignal,
): Promise<Fetch> {
  const { mimeType, url } = part
  if (!canBeChecked(mimeType)) return notFetched(part, 'wrong_kind', UNCHECKABLE)
  const accept = /^[\w.+-]+\/[\w.+-]+$/.test(mimeType) ? mimeType : '*/*'
  const headers = { accept, 'accept-encoding': 'identity' }
  const answer = await send({ purpose: 'image', method: 'GET', url, headers, signal })
  if (answer.kind === 'refused') return notFetched(part, 'refused', refusedWhy(answer.refusal))
  if (answer.kind === 'fault') return notFetched(part, 'network', answer.fault.message)
  const { response } = answer
  const problem = headProblem(part, response)
  if (problem !== null) {
    response.destroy()
    return problem
  }
  return judged(part, response, await readBytes(response, budget), budget)
}

/** Of a part that is not fetched at all. */
export const UNCHECKABLE = 'a file of this type is never fetched, for what comes could not be checked'

/** What the gate refused, for whoever sent the address. */
export function refusedWhy({ host, reason }: Refusal): string {
  const listed = reason === 'host_not_listed' || reason === 'port' ? ', for it is not on EGRESS_ALLOWLIST' : ''
  return `the egress rules refuse ${host === '' ? 'it' : `host ${host}`} (${reason})${listed}`
}

export function notFetched(
  { url }: WantedPart,
  outcome: PartFetch['outcome'],
  why: string,
  { bytes = 0, status = null }: Partial<Pick<PartFacts, 'bytes' | 'status'>> = {},
): Fetch {
  return { ok: false, why, facts: { host: hostOf(url), outcome, status, bytes } }
}

function hostOf(url: string): string {
  return URL.parse(url)?.hostname ?? ''
}

/** What the headers already say against it. */
function headProblem(part: WantedPart, { headers, status }: EgressResponse): Fetch | null {
  const host = hostOf(part.url)
  if (status !== 200) {
    const redirect = status >= 300 && status < 400 ? ', and redirects are not followed' : ''
    return notFetched(part, 'status', `${host} answered HTTP ${status}${redirect}`, { status })
  }
  if (contentEncodings(headers).length > 0) {
    return notFetched(part, 'encoded', `${host} compressed what it sent, unasked`, { status })
  }
  return Number(headers['content-length'] ?? 0) > MAX_PART_BYTES ? tooLarge(part, status) : null
}

function tooLarge(part: WantedPart, status: number): Fetch {
  return notFetched(part, 'too_large', `what ${hostOf(part.url)} sent is larger than ${MAX_PART_BYTES} bytes`, {
    status,
  })
}

type Read =
  | { readonly kind: 'bytes'; readonly bytes: Buffer; readonly taken: number }
  | { readonly kind: 'too_large' | 'full' }
  | { readonly kind: 'broken'; readonly why: string | null }

function judged(part: WantedPart, { headers, status }: EgressResponse, read: Read, budget: PartBudget): Fetch {
  const host = hostOf(part.url)
  switch (read.kind) {
    case 'too_large':
      return tooLarge(part, status)
    case 'full':
      return notFetched(part, 'full', 'the engine holds as much of what was fetched as it may', { status })
    case 'broken':
      return notFetched(part, 'network', read.why ?? `the connection to ${host} broke off`, { status })
    case 'bytes': {
      const { bytes, taken } = read
      const facts = { status, bytes: bytes.length }
      const problem = kindProblem(bytes, headers['content-type'] ?? '', part.mimeType)
      if (problem === null) return { ok: true, bytes, taken, facts: { host, outcome: 'ok', ...facts } }
      budget.give(taken)
      return notFetched(part, 'wrong_kind', `what ${host} sent ${problem}`, facts)
    }
  }
}

/** What is not handed on is not taken either. */
async function readBytes(response: EgressResponse, budget: PartBudget): Promise<Read> {
  const chunks: Uint8Array[] = []
  let size = 0
  let taken = 0
  const left = (read: Read): Read => {
    budget.give(taken)
    return read
  }
  try {
    // Leaving the loop destroys the socket.
    for await (const chunk of response.body) {
      size += chunk.length
      if (size > MAX_PART_BYTES) return left({ kind: 'too_large' })
      const inBase64 = Math.ceil((chunk.length * 4) / 3)
      if (!budget.take(inBase64)) return left({ kind: 'full' })
      taken += inBase64
      chunks.push(chunk)
    }
  } catch (error) {
    return left({ kind: 'broken', why: error instanceof BodyBroken ? error.fault.message : null })
  }
  return { kind: 'bytes', bytes: Buffer.concat(chunks), taken }
}
