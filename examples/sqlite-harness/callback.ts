/**
 * The endpoint that takes results (SPEC §7; Obligation A.11): secret and signature are checked over the bytes that came, the
 * result is stored, and only then it is answered 200, which tells the engine "stored" (Obligation A.1). What is not genuine is
 * answered 401 and not read.
 */
import { createHmac } from 'node:crypto'
import type { RunResult } from '../../src/contract/result.ts'
import type { Context } from './context.ts'
import { type Incoming, wrong } from './plumbing/http-server.ts'
import { parseOrNull } from './plumbing/lossless-json.ts'
import { same } from './sign-in.ts'
import { storeResult } from './store-result.ts'

type Letter = Pick<Incoming, 'headers' | 'body'>

/** A letter older or newer than this was not sent just now. */
const TOLERANCE_MS = 5 * 60_000

/** @param secrets any of them is good: while a secret is changed, both the old and the new one are in use */
export function takeCallback(letter: Letter, secrets: readonly string[], context: Context): Response {
  if (!isGenuine(letter, secrets, Date.parse(context.database.now()))) return wrong(401, 'not a letter of our engine')
  const body = parseOrNull(letter.body.toString('utf8')) as { readonly payload?: RunResult } | null
  const result = body?.payload
  if (result?.run_id === undefined || result.run_id !== letter.headers['webhook-id']) {
    return wrong(400, 'no result in it, or one of another run')
  }
  const stored = storeResult(result, context)
  return stored === 'unknown' ? wrong(404, 'no such run here') : Response.json({ stored })
}

/** Both are asked for: the secret says who sends, a signature says that the bytes are theirs and of now. */
function isGenuine({ headers, body }: Letter, secrets: readonly string[], nowMs: number): boolean {
  const header = (name: string) => String(headers[name] ?? '')
  const timestamp = header('webhook-timestamp')
  const signatures = header('webhook-signature').split(' ')
  if (!secrets.some((secret) => same(header('x-engine-secret'), secret))) return false
  // What is no number is not within the tolerance.
  if (!(Math.abs(nowMs - Number(timestamp) * 1000) <= TOLERANCE_MS)) return false
  return secrets.some((secret) => {
    const sealed = createHmac('sha256', keyOf(secret))
      .update(`${header('webhook-id')}.${timestamp}.`)
      .update(body)
    const wanted = `v1,${sealed.digest('base64')}`
    return signatures.some((signature) => same(signature, wanted))
  })
}

function keyOf(secret: string): Buffer {
  return secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : Buffer.from(secret)
}
