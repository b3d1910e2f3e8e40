/** The headers of a request to a provider: the one place that says how a key is shown in them. Pure. */
import type { DialectCall } from './dialect.ts'

/**
 * @param more what a dialect needs beside
 * @returns without a key where there is none, or the provider takes none
 */
export function requestHeaders(
  { profile, apiKey }: Pick<DialectCall, 'profile' | 'apiKey'>,
  more: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream', ...more }
  if (apiKey === null || profile.auth === 'none') return headers
  return profile.auth === 'bearer'
    ? { ...headers, authorization: `Bearer ${apiKey}` }
    : { ...headers, 'x-api-key': apiKey }
}
