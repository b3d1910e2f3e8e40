/** How the body of an answer is packed, by its head. Pure. */

/**
 * Lower case, in the order in which they were put on; only those that change bytes: `identity` says that there is none. Every
 * request asks for that, so whoever cannot unpack takes any of these for a fault.
 * @param headers of the answer, names in lower case
 */
export function contentEncodings(headers: Readonly<Record<string, string>>): readonly string[] {
  const named = (headers['content-encoding'] ?? '').split(',').map((name) => name.trim().toLowerCase())
  return named.filter((name) => name !== '' && name !== 'identity')
}
