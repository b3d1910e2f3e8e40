/**
 * The endpoint that takes results (SPEC §7): secret and signature are checked over the bytes that came, the result is stored,
 * and only then it is answered 200, which tells the engine "stored". What is not genuine is answered 401 and not read.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { RunResult } from '../../src/contract/result.ts'
import { parseOrNull } from './lossless-json.ts'
import type { Storing } from './store-result.ts'

export interface Letter {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export interface CallbackAnswer {
  readonly status: number
  readonly body: unknown
}

/** A letter older or newer than this was not sent just now. */
const TOLERANCE_MS = 5 * 60_000

export function takeCallback(
  letter: Letter,
  secret: string,
  nowMs: number,
  store: (result: RunResult) => Storing,
): CallbackAnswer {
  if (!isGenuine(letter, secret, nowMs)) return { status: 401, body: { error: 'not a letter of our engine' } }
  const body = parseOrNull(letter.body.toString('utf8')) as { readonly payload?: RunResult } | null
  const result = body?.payload
  if (result?.run_id === undefined || result.run_id !== letter.headers['webhook-id']) {
    return { status: 400, body: { error: 'no result in it, or one of another run' } }
  }
  const storing = store(result)
  return storing === 'unknown'
    ? { status: 404, body: { error: 'no such run here' } }
    : { status: 200, body: { stored: storing } }
}

/** Both are asked for: the secret says who sends, the signature says that the bytes are theirs and of now. */
function isGenuine({ headers, body }: Letter, secret: string, nowMs: number): boolean {
  const shown = headers['x-engine-secret']
  const id = headers['webhook-id']
  const timestamp = headers['webhook-timestamp']
  const signatures = headers['webhook-signature']
  if ([shown, id, timestamp, signatures].some((value) => typeof value !== 'string')) return false
  if (!same(Buffer.from(String(shown)), Buffer.from(secret))) return false
  if (!/^\d{1,12}$/.test(String(timestamp)) || Math.abs(nowMs - Number(timestamp) * 1000) > TOLERANCE_MS) return false
  const wanted = createHmac('sha256', keyOf(secret))
    .update(`${String(id)}.${String(timestamp)}.`)
    .update(body)
    .digest()
  return String(signatures)
    .split(' ')
    .some((signature) => signature.startsWith('v1,') && same(Buffer.from(signature.slice(3), 'base64'), wanted))
}

function keyOf(secret: string): Buffer {
  return secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : Buffer.from(secret)
}

function same(left: Buffer, right: Buffer): boolean {
  return left.length === right.length && timingSafeEqual(left, right)
}
