/**
 * What a browser of another origin is told (SPEC §9): the origin itself, exactly as it was sent, where ALLOWED_ORIGINS names
 * it, and nothing otherwise. Never `*`, never credentials: a run token travels in the URL. Pure.
 */

/** For every answer of a browser route, whatever its status. */
export function corsHeaders(origin: string | undefined, allowedOrigins: readonly string[]): Record<string, string> {
  if (!isAllowed(origin, allowedOrigins)) return {}
  return { 'access-control-allow-origin': origin, vary: 'Origin' }
}

/**
 * Beside those, for a preflight. A plain EventSource and a plain POST need none; readers built on fetch send
 * Last-Event-ID as a header of their own.
 */
export function preflightHeaders(
  origin: string | undefined,
  allowedOrigins: readonly string[],
  methods: readonly string[],
): Record<string, string> {
  if (!isAllowed(origin, allowedOrigins)) return {}
  return {
    'access-control-allow-methods': methods.join(', '),
    'access-control-allow-headers': 'content-type, last-event-id',
    'access-control-max-age': '600',
  }
}

/** `null` is what sandboxed pages and files send: it names nobody, so it cannot be allowed. */
function isAllowed(origin: string | undefined, allowedOrigins: readonly string[]): origin is string {
  return origin !== undefined && origin !== 'null' && allowedOrigins.includes(origin)
}
