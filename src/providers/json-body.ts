/**
 * The body of a provider request as JSON text.
 *
 * Lone surrogates become U+FFFD here, at the one place where everything that is sent passes: texts, arguments, schemas, keys
 * and the caller's own extra fields. Providers answer ill-formed UTF-16 with a 400 on every later turn.
 */

/** Serializes; numbers with more digits than a double holds keep them. Fields that are undefined are left out. */
export function jsonBody(body: object): string {
  return wellFormedJson(JSON.stringify(body))
}

/** For JSON that travels inside a string: there an escape of a lone surrogate would outlive the escaping of the body. */
export function wellFormedJson(json: string): string {
  return json.includes('\\ud') ? json.replaceAll(ESCAPE, wholeEscape) : json
}

/**
 * `JSON.stringify` writes a paired surrogate as it is and only a lone one as an escape. An escaped backslash is matched first,
 * so that the words `\ud83d` inside a text stay words.
 */
const ESCAPE = /\\(?:\\|ud[89a-f][0-9a-f]{2})/g

function wholeEscape(escape: string): string {
  return escape === '\\\\' ? escape : '\\ufffd'
}
