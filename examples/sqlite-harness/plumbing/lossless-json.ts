/**
 * JSON in with every digit kept (SPEC §4.6): a long number in arguments or results is stored and sent back as it came. Plain
 * `JSON.parse` would round it without a word. Pure.
 */
const native = JSON as unknown as {
  parse(text: string, reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown): unknown
  rawJSON(text: string): unknown
}

/** What could be a number that a double cannot hold. Looking for it is far quicker than parsing with a reviver. */
const LONG_NUMBER = /[\d.eE+-]{16}|\d[eE][+-]?\d{3}/

/** The value; numbers that a double cannot hold become raw JSON, which `stringify` writes as it was. Throws on bad JSON. */
export function parseLossless(text: string): unknown {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text)
  return native.parse(text, (_key, value, { source = '' }) =>
    typeof value === 'number' && LONG_NUMBER.test(source) && String(value) !== source ? native.rawJSON(source) : value,
  )
}

/** The value; null where the text is no JSON. */
export function parseOrNull(text: string): unknown {
  try {
    return parseLossless(text)
  } catch {
    return null
  }
}
