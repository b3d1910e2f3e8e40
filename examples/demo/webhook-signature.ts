/**
 * Checks the signature of a callback (SPEC §7.1, Standard Webhooks). Pure. Any library of that scheme does the same; it is one
 * HMAC over `<webhook-id>.<webhook-timestamp>.<body>`, with the body as the bytes that came.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** A letter that is older or newer than this was not sent just now. */
const TOLERANCE_MS = 5 * 60_000

export interface Letter {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** What is wrong with the letter; null: it is genuine and of now. */
export function signatureProblem({ headers, body }: Letter, secret: string, nowMs: number): string | null {
  const id = one(headers['webhook-id'])
  const timestamp = one(headers['webhook-timestamp'])
  const signatures = one(headers['webhook-signature'])
  if (id === null || timestamp === null || signatures === null) return 'it has no webhook-* headers'
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(nowMs - Number(timestamp) * 1000) > TOLERANCE_MS) {
    return 'its timestamp is not of now'
  }
  const wanted = createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.`).update(body).digest()
  // Several may stand there, separated by blanks, while a secret is changed.
  const genuine = signatures.split(' ').some((signature) => {
    const given = Buffer.from(/^v1,(.+)$/.exec(signature)?.[1] ?? '', 'base64')
    return given.length === wanted.length && timingSafeEqual(given, wanted)
  })
  return genuine ? null : 'its signature is not ours'
}

function keyOf(secret: string): Buffer {
  const base64 = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1]
  return base64 === undefined ? Buffer.from(secret) : Buffer.from(base64, 'base64')
}

function one(value: string | string[] | undefined): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}
