/**
 * A text as it reads once its escapes are undone: those of URLs, of JSON and of other string literals, and of HTML. What is found
 * in such a view is found in the text, for each unit of it knows where it came from. Pure; linear in the text.
 */

export interface View {
  readonly text: string
  /** Where in the original each UTF-16 unit begins, and behind the last one where the text ends. null: at the same place. */
  readonly places: Uint32Array | null
}

/** As long as the shortest secret in it would be. */
const HEX = /[0-9a-f]{8,}/gi

/** Escapes in escapes: JSON in JSON in JSON, a URL in the query of a URL. */
const MOST_LEVELS = 3

/** One character in UTF-8, each byte of it behind the same prefix. */
function bytesBehind(prefix: string): string {
  const byte = (high: string) => `${prefix}${high}[0-9a-f]`
  const more = `(?:${byte('[89ab]')})`
  return `${byte('[0-7]')}|${byte('[cd]')}${more}|${byte('e')}${more}{2}|${byte('f')}${more}{3}`
}

const NAMED: ReadonlyMap<string, string> = new Map(
  Object.entries({ '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&apos;': "'" }),
)
const LETTERS: ReadonlyMap<string, string> = new Map(
  Object.entries({ b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', '0': '\0' }),
)

const ESCAPE = new RegExp(
  [
    bytesBehind('%'),
    bytesBehind(String.raw`\\x`),
    String.raw`\\u[0-9a-f]{4}|\\u\{[0-9a-f]{1,6}\}|\\[01][0-7]{2}|\\["'\\/bfnrt0]`,
    // HTML does without the semicolon where it must.
    `&(?:#\\d{1,7};?|#x[0-9a-f]{1,6};?|(?:${[...NAMED.keys()].map((name) => name.slice(1, -1)).join('|')});)`,
  ].join('|'),
  'gi',
)

/** A text as it is, with its hex in small letters where some is not, and each with one more level of its escapes undone. */
export function* readingsOf(text: string): Generator<View> {
  yield { text, places: null }
  const lowered = text.replaceAll(HEX, (run) => run.toLowerCase())
  if (lowered !== text) yield { text: lowered, places: null }
  let view: View = { text, places: null }
  for (let level = 0; level < MOST_LEVELS && /[%\\&]/.test(view.text); level += 1) {
    const next = unescaped(view)
    if (next === null) return
    yield next
    view = next
  }
}

function unescaped({ text, places }: View): View | null {
  const placeOf = (at: number) => (places === null ? at : (places[at] ?? 0))
  // No escape is shorter than what it stands for.
  const found = new Uint32Array(text.length + 1)
  const pieces: string[] = []
  let length = 0
  let from = 0
  const keep = (to: number) => {
    pieces.push(text.slice(from, to))
    for (let at = from; at < to; at += 1, length += 1) found[length] = placeOf(at)
  }
  for (const { 0: escape, index } of text.matchAll(ESCAPE)) {
    keep(index)
    const meant = meaningOf(escape)
    pieces.push(meant)
    for (let unit = 0; unit < meant.length; unit += 1, length += 1) found[length] = placeOf(index)
    from = index + escape.length
  }
  if (from === 0) return null
  keep(text.length)
  found[length] = placeOf(text.length)
  return { text: pieces.join(''), places: found }
}

function meaningOf(escape: string): string {
  if (escape.startsWith('%')) return Buffer.from(escape.replaceAll('%', ''), 'hex').toString('utf8')
  if (/^\\x/i.test(escape)) return Buffer.from(escape.replaceAll(/\\x/gi, ''), 'hex').toString('utf8')
  if (/^\\u\{/i.test(escape)) return characterOf(Number.parseInt(escape.slice(3), 16), escape)
  if (/^\\u/i.test(escape)) return String.fromCharCode(Number.parseInt(escape.slice(2), 16))
  if (/^\\\d{3}/.test(escape)) return String.fromCharCode(Number.parseInt(escape.slice(1), 8))
  if (escape.startsWith('\\')) return LETTERS.get(escape.slice(1)) ?? escape.slice(1)
  const [, hex, decimal] = /^&#(?:x([0-9a-f]+)|(\d+));?$/i.exec(escape) ?? []
  if (hex === undefined && decimal === undefined) return NAMED.get(escape.toLowerCase()) ?? escape
  return characterOf(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16), escape)
}

function characterOf(code: number, escape: string): string {
  return code > 0x10ffff ? escape : String.fromCodePoint(code)
}
