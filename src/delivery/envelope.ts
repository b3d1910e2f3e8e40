/**
 * What a callback carries: one body, made once, and the headers of one attempt. Pure. SPEC §7.1.
 *
 * Signed after Standard Webhooks (https://github.com/standard-webhooks/standard-webhooks, symmetric scheme `v1`). Done
 * with node:crypto over the body's own bytes: the scheme is one HMAC, and a result can be megabytes.
 */
import { createHmac } from 'node:crypto'
import type { Callback } from '../contract/run-request.ts'

/** Those of CALLBACK_SECRET, in its order: each signs, and the first alone is sent as it is. */
export type Secrets = readonly [string, ...string[]]

export interface Envelope {
  readonly runId: string
  readonly callback: Callback
  /** The same bytes at every attempt. */
  readonly body: Uint8Array
}

/** `resultJson` stands in the body as it is, so that it has the same bytes here as everywhere else. */
export function envelope(runId: string, callback: Callback, resultJson: string): Envelope {
  return { runId, callback, body: Buffer.from(`{"payload":${resultJson}}`) }
}

/**
 * The headers of an attempt at `atMs`, lower-case. The callback's own come first and win over none of the engine's.
 * From attempt to attempt only `webhook-timestamp` and, with it, the signature differ; `webhook-id` is the run's id.
 */
export function headersOf(letter: Envelope, secrets: Secrets, atMs: number): Record<string, string> {
  const own = Object.entries(letter.callback.headers).map(([name, value]) => [name.toLowerCase(), value])
  return {
    ...(Object.fromEntries(own) as Record<string, string>),
    'content-type': 'application/json; charset=utf-8',
    'x-engine-secret': secrets[0],
    ...signedHeaders({ id: letter.runId, body: letter.body }, secrets, atMs),
  }
}

/** What Standard Webhooks adds to one message sent at `atMs`: a signature a secret, in their order. No secret is in it. */
export function signedHeaders(
  message: { readonly id: string; readonly body: Uint8Array },
  secrets: Secrets,
  atMs: number,
): Record<string, string> {
  const timestamp = String(Math.floor(atMs / 1000))
  const signatures = secrets.map((secret) => {
    const hmac = createHmac('sha256', signingKey(secret)).update(`${message.id}.${timestamp}.`).update(message.body)
    return `v1,${hmac.digest('base64')}`
  })
  return { 'webhook-id': message.id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}

/**
 * The HMAC key in one secret of CALLBACK_SECRET: what base64 after `whsec_` stands for, else the UTF-8 bytes of the whole text (in
 * Standard Webhooks libraries that is the `raw` format).
 */
export function signingKey(secret: string): Buffer {
  const base64 = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1]
  return base64 === undefined ? Buffer.from(secret) : Buffer.from(base64, 'base64')
}
