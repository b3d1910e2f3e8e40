/** Where a dialect's requests go, given the base URL of a provider. Pure. */

/**
 * Joins a base URL and a path without repeating what both name: `https://h/v1` and `/v1/messages` give `https://h/v1/messages`,
 * and a base URL that already is the whole address stays as it is.
 * @param baseUrl without a slash at its end
 * @param path with a slash at its beginning
 */
export function endpoint(baseUrl: string, path: string): string {
  if (baseUrl.endsWith(path)) return baseUrl
  return baseUrl.endsWith('/v1') && path.startsWith('/v1/') ? baseUrl + path.slice('/v1'.length) : baseUrl + path
}
