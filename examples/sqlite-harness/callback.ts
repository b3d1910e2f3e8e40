/**
 * The endpoint that takes results (SPEC §7; Obligation A.11): secret and signature are checked over the bytes that came, the
 * result is stored, and only then it is answered 200, which tells the engine "stored" (Obligation A.1). What is not genuine is
 * answered 401 and not read.
 */
import { createHmac } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { RunResult } from '../../src/contract/result.ts'
import { parseOrNull } from './plumbing/lossless-json.ts'
import { same } from './sign-in.ts'
import type { Storing } from './store-result.ts'

export interface Letter {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export interface CallbackAnswer {
  readonly status: number
  readonly json: unknown
}

/** A letter older or newer than this was not sent just now. */
const TOLERANCE_MS = 5 * 60_000

/** @param secrets any of them is good: while a secret is changed, both the old and the new one are in use */
export function takeCallback(
  letter: Letter,
  secrets: readonly string[],
  nowMs: number,
  store: (result: RunResult) => Storing,
): CallbackAnswer {
  if (!isGenuine(letter, secrets, nowMs)) return { status: 401, json: { error: 'not a letter of our engine' } }
  const body = parseOrNull(letter.body.toString('utf8')) as { readonly payload?: RunResult } | null
  const result = body?.payload
  if (result?.run_id === undefined || result.run_id !== letter.headers['webhook-id']) {
    return { status: 400, json: { error: 'no result in it, or one of another run' } }
  }
  const stored = store(result)
  return stored === 'unknown' ? { status: 404, json: { error: 'no such run here' } } : { status: 200, json: { stored } }
}

/** Both are asked for: the secret says who sends, a signature says that the bytes are theirs and of now. */
function isGenuine({ headers, body }: Letter, secrets: readonly string[], nowMs: number): boolean {
  const shown = textOf(headers['x-engine-secret'])
  const id = textOf(headers['webhook-id'])
  const timestamp = textOf(headers['webhook-timestamp'])
  const signatures = textOf(headers['webhook-signature']).split(' ')
  if (!secrets.some((secret) => same(shown, secret))) return false
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(nowMs - Number(timestamp) * 1000) > TOLERANCE_MS) return false
  return secrets.some((secret) => {
    const sealed = createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.`).update(body)
    const wanted = `v1,${sealed.digest('base64')}`
    return signatures.some((signature) => same(signature, wanted))
  })
}

function keyOf(secret: string): Buffer {
  return secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : Buffer.from(secret)
}

function textOf(header: string | string[] | undefined): string {
  return typeof header === 'string' ? header : ''
}
