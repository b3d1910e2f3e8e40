/**
 * Fetches one access token: GigaChat's authorization key is not sent to the API itself but exchanged, at a host of its own, for a
 * token of about half an hour. One request, no retry, never rejects; keys and tokens stand in no message.
 */
import { randomUUID } from 'node:crypto'
import { parseJson } from '../../contract/json.ts'
import type { Egress, EgressResponse } from '../../egress/egress.ts'
import { timeLimit } from '../../egress/time-limit.ts'
import { type AttemptFault, faultOf, faultOfEgress } from '../attempt-fault.ts'
import { httpFault } from '../provider-fault.ts'
import { isObject, text } from '../wire-value.ts'
import type { TokenSettings } from './token-settings.ts'
import { USER_AGENT } from './user-agent.ts'

export interface TokenSource extends TokenSettings {
  readonly send: Egress['request']
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

export interface AccessToken {
  readonly value: string
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
}

export type TokenAnswer =
  | { readonly ok: true; readonly token: AccessToken }
  /** `auth` for every answer that says that the key, the scope or the address is wrong. */
  | { readonly ok: false; readonly fault: AttemptFault }

/** From the request to the last byte of the answer. */
export const TOKEN_TIMEOUT_MS = 20_000
const MAX_BODY_BYTES = 64 * 1024

/** @param key the authorization key, base64 as the vendor's console gives it */
export async function fetchToken(source: TokenSource, key: string, signal: AbortSignal): Promise<TokenAnswer> {
  const limit = timeLimit(TOKEN_TIMEOUT_MS, signal)
  try {
    const answer = await exchange(source, key, limit.signal)
    return limit.isOver() ? failed(source, faultOf('timeout', `nothing within ${TOKEN_TIMEOUT_MS} ms`)) : answer
  } finally {
    limit.release()
  }
}

async function exchange(source: TokenSource, key: string, signal: AbortSignal): Promise<TokenAnswer> {
  const { authUrl, now, scope, send } = source
  const host = URL.parse(authUrl)?.host
  const answer = await send({
    purpose: 'provider',
    provider: 'gigachat',
    ownHosts: host === undefined ? [] : [host],
    method: 'POST',
    url: authUrl,
    headers: {
      authorization: `Basic ${key}`,
      rquid: randomUUID(),
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
      'user-agent': USER_AGENT,
    },
    body: `scope=${scope}`,
    signal,
  })
  if (answer.kind !== 'response') return failed(source, faultOfEgress(answer))
  const { headers, status } = answer.response
  const body = await bodyOf(answer.response)
  if (status >= 300) return failed(source, refusalOf(status, headers, body ?? '', now()))
  if (body === null) return failed(source, faultOf('network', 'the answer broke off', status))
  const token = tokenIn(body)
  if (token !== null) return { ok: true, token }
  return failed(source, faultOf('malformed', 'an answer that holds no token and no time it expires at', status))
}

function failed({ authUrl }: TokenSource, fault: AttemptFault): TokenAnswer {
  const host = URL.parse(authUrl)?.host ?? 'the authorization host'
  return { ok: false, fault: { ...fault, detail: `no access token from ${host}: ${fault.detail}` } }
}

/** A wrong key, scope or address is told in several statuses, and none of them passes by waiting. */
function refusalOf(status: number, headers: EgressResponse['headers'], body: string, now: number): AttemptFault {
  const fault = httpFault({ status, headers, body }, now, () => null)
  if (status === 429) return { ...fault, class: 'rate' }
  return status >= 500 || status === 408 ? fault : { ...fault, class: 'auth' }
}

/** null: it broke off, or is longer than any such answer. */
async function bodyOf(response: EgressResponse): Promise<string | null> {
  const decoder = new TextDecoder()
  const pieces: string[] = []
  let bytes = 0
  try {
    for await (const chunk of response.body) {
      bytes += chunk.byteLength
      if (bytes > MAX_BODY_BYTES) return null
      pieces.push(decoder.decode(chunk, { stream: true }))
    }
  } catch {
    return null
  }
  return pieces.join('') + decoder.decode()
}

/** Two spellings are known: `access_token` with milliseconds, and `tok` with seconds. */
function tokenIn(body: string): AccessToken | null {
  const parsed = parseJson(body)
  if (!parsed.ok || !isObject(parsed.value)) return null
  const value = text(parsed.value['access_token']) || text(parsed.value['tok'])
  const at = parsed.value['expires_at'] ?? parsed.value['exp']
  // It travels in a header.
  if (!/^[\x21-\x7e]+$/.test(value) || typeof at !== 'number' || !(at > 0)) return null
  return { value, expiresAt: at > LEAST_MILLISECONDS ? at : at * 1000 }
}

/** As seconds this is the year 33658. */
const LEAST_MILLISECONDS = 1e12
