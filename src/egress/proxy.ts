/**
 * The operator's HTTP proxy, read from its URL. Pure. The URL holds a password, so no message here quotes any of it.
 */

/** Where PROXY_URL or PROXY_<PROVIDER> points. */
export interface Proxy {
  /** Name or bare address. Chosen by the operator, so it may be private. */
  readonly host: string
  readonly port: number
  /** Value of Proxy-Authorization, or null without userinfo. */
  readonly authorization: string | null
}

export type ParsedProxy =
  | { readonly ok: true; readonly proxy: Proxy }
  /** A sentence for the operator. */
  | { readonly ok: false; readonly reason: string }

/** Reads `http://[user:password@]host[:port]` (default port 80). SPEC §10. */
export function parseProxyUrl(text: string): ParsedProxy {
  const url = URL.parse(text.trim())
  if (url === null || url.protocol !== 'http:') {
    return { ok: false, reason: 'must be an http:// URL such as http://proxy.example:3128; this is not one' }
  }
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    return { ok: false, reason: 'must end after the host and port; a path or query means nothing to a proxy' }
  }
  const authorization = basicAuthorization(url)
  if (authorization === undefined) {
    return { ok: false, reason: 'has a user or password with a broken % escape: write % itself as %25' }
  }
  const host = url.hostname.replace(/^\[|\]$/g, '')
  return { ok: true, proxy: { host, port: url.port === '' ? 80 : Number(url.port), authorization } }
}

function basicAuthorization(url: URL): string | null | undefined {
  if (url.username === '' && url.password === '') return null
  try {
    const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
    return `Basic ${Buffer.from(pair, 'utf8').toString('base64')}`
  } catch {
    return undefined
  }
}
