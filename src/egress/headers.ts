/** HTTP headers on their way out and in. Pure. Values are secrets as a rule: they are judged here and never quoted. */
import type { IncomingHttpHeaders } from 'undici/types/header.js'

/** RFC 9110 §5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/** RFC 9110 §5.5: visible ASCII, space, tab and obs-text; no CR, LF, NUL or anything beyond latin-1. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/**
 * The connection's own headers. `host` would also choose the TLS server name, and with it the name that the certificate is
 * checked for; the others would say something else about the message than what is sent. (`content-length` is let through:
 * undici writes its own and refuses a body of another length.)
 */
const RESERVED: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'expect',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** What is wrong with the first header that must not be sent, or null. Names a header, never its value. */
export function headerProblem(headers: Readonly<Record<string, string>>): string | null {
  for (const [name, value] of Object.entries(headers)) {
    if (!TOKEN.test(name)) return 'a header has a name that HTTP does not allow'
    if (RESERVED.has(name.toLowerCase())) return `the header ${name} is set by the connection, not by the caller`
    if (!VALUE.test(value)) return `the header ${name} has a character that HTTP does not allow in a value`
  }
  return null
}

/** The headers to send: the answer is asked for unencoded unless the caller asks otherwise, for nothing here inflates. */
export function outgoingHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const chosen = Object.keys(headers).some((name) => name.toLowerCase() === 'accept-encoding')
  return chosen ? { ...headers } : { ...headers, 'accept-encoding': 'identity' }
}

/** Lower-case names; a header that came several times is joined with ', '. */
export function incomingHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name.toLowerCase(), Array.isArray(value) ? value.join(', ') : value]],
    ),
  )
}
