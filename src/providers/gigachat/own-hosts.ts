/** The hosts of GigaChat: those that its own certificate authority and a client certificate are for. Pure. */
import { gigachatRow } from './row.ts'

/**
 * `host` or `host:port` of the API, of the operator's base URL and of the tokens.
 * @param baseUrl null: the operator set none
 */
export function gigachatHosts(authUrl: string, baseUrl: string | null): string[] {
  const hosts = [gigachatRow.baseUrl, baseUrl, authUrl].flatMap((url) => {
    const host = url === null ? undefined : URL.parse(url)?.host
    return host === undefined ? [] : [host]
  })
  return [...new Set(hosts)]
}
