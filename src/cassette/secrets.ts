/**
 * Takes secrets out of what is recorded. Pure but for the list of secrets, which grows as a run learns new ones.
 *
 * Where a secret stands by its place (a header, a key of the request), its place is what takes it out, whatever its
 * length. Everywhere else its text does: as it is, as JSON writes it, and in every form that the journal clears. Texts
 * below `LEAST_LENGTH` characters stand in any text: there they count as whole words, and only where their place says
 * that they are secrets. Tokens of URLs and tickets are found by their form.
 */
import { secretForms, SHORTEST_WORD } from '../journal/secret-forms.ts'
import { readingsOf } from '../journal/unescaped.ts'

export const SECRET = '[secret]'

const LEAST_LENGTH = 8
const LETTER = /[A-Za-z0-9]/
/** A tool's words inside a result, inside a message, inside a request. */
const DEEPEST_JSON = 4
/** An escape is at most so many times as long as what it stands for, the longest forms having some in them. */
const MOST_ESCAPED = 3
/** Names that are remembered. */
const MOST_NAMES = 1000
/** No token and no ticket is longer. */
const LONGEST_FORM = 512

/** `?token=…` of the engine's own URLs, and tickets inside JSON, also inside a text inside JSON. */
const FORMS = [/[?&]token=([A-Za-z0-9._~%+/=-]{8,512})/dg, /\\?"ticket\\?":\s?\\?"(v1\.[^"\\]{8,512})/dg]

/** Headers of requests whose values say nothing secret; lower case. */
const PLAIN_HEADERS: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'anthropic-beta',
  'anthropic-version',
  'content-type',
  'idempotency-key',
  'traceparent',
  'user-agent',
  'x-deadline-ms',
])
const SECRET_ANSWER_HEADERS: ReadonlySet<string> = new Set(['set-cookie', 'authorization', 'www-authenticate'])

type Headers = Readonly<Record<string, string>>
type Span = readonly [start: number, end: number]

export class Secrets {
  readonly #texts = new Set<string>()
  /** Short ones, which count as whole words only. */
  readonly #words = new Set<string>()
  #longest = LONGEST_FORM
  /** Names of fields, which are few and come again, and how they may be written down. */
  readonly #names = new Map<string, string>()

  /** @param credentials what is a secret by its place, however short */
  constructor(values: readonly string[], credentials: readonly string[] = []) {
    for (const value of values) this.add(value)
    for (const value of credentials) for (const form of secretForms(value, SHORTEST_WORD)) this.#addForm(form)
  }

  /** How many bytes one secret may span. */
  get longest(): number {
    return this.#longest
  }

  /** A header's value may hold a scheme: what follows it is a secret by itself. */
  add(value: string): void {
    const space = value.lastIndexOf(' ')
    for (const part of space === -1 ? [value] : [value, value.slice(space + 1)]) {
      if (part.length < LEAST_LENGTH) continue
      for (const form of formsOf(part)) this.#addForm(form)
    }
    for (const form of secretForms(value)) this.#addForm(form)
  }

  #addForm(form: string): void {
    this.#names.clear()
    if (form.length < LEAST_LENGTH) this.#words.add(form)
    else this.#texts.add(form)
    this.#longest = Math.max(this.#longest, MOST_ESCAPED * Buffer.byteLength(form))
  }

  text(text: string): string {
    return pieces(
      text,
      this.#spans(text, (secret) => secret),
      0,
      text.length,
    )
  }

  /** For `JSON.stringify`: texts and names of fields without secrets. What is no text, a number above all, stays as it is. */
  plain = (_name: string, value: unknown): unknown => {
    if (typeof value === 'string') return this.text(value)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    const fields = Object.entries(value)
    if (fields.every(([name]) => this.#name(name) === name)) return value
    return Object.fromEntries(fields.map(([name, inner]) => [this.#name(name), inner]))
  }

  #name(name: string): string {
    const known = this.#names.get(name)
    if (known !== undefined) return known
    const plain = this.text(name)
    if (this.#names.size < MOST_NAMES) this.#names.set(name, plain)
    return plain
  }

  /** As many chunks as came, their bytes without secrets, those among them that span several. */
  chunks(chunks: readonly Uint8Array[]): Uint8Array[] {
    // One character a byte, so that places in the text are places in the bytes.
    const joined = Buffer.concat(chunks).toString('latin1')
    const spans = this.#spans(joined, (secret) => Buffer.from(secret).toString('latin1'))
    if (spans.length === 0) return [...chunks]
    let start = 0
    return chunks.map((chunk) => {
      const from = start
      start += chunk.length
      return Buffer.from(pieces(joined, spans, from, start), 'latin1')
    })
  }

  /** Places of secrets, in order, none over another. */
  #spans(text: string, spell: (secret: string) => string): Span[] {
    const found: Span[] = []
    for (const { places, text: read } of readingsOf(text)) {
      const placeOf = (at: number) => (places === null ? at : (places[at] ?? 0))
      const find = (word: string, isOne: (at: number) => boolean) => {
        for (let at = read.indexOf(word); at !== -1; at = read.indexOf(word, at + word.length)) {
          if (isOne(at)) found.push([placeOf(at), placeOf(at + word.length)])
        }
      }
      for (const secret of this.#texts) find(spell(secret), () => true)
      // What escapes stand for is written out in it.
      if (places !== null) for (const secret of this.#texts) if (spell(secret) !== secret) find(secret, () => true)
      for (const word of this.#words) {
        find(word, (at) => !LETTER.test(read.charAt(at - 1)) && !LETTER.test(read.charAt(at + word.length)))
      }
    }
    for (const form of FORMS) {
      for (const { indices } of text.matchAll(form)) {
        const place = indices?.[1]
        if (place !== undefined) found.push(place)
      }
    }
    found.sort(([left], [right]) => left - right)
    const merged: Span[] = []
    for (const [start, end] of found) {
      const last = merged.at(-1)
      if (last !== undefined && start < last[1]) merged[merged.length - 1] = [last[0], Math.max(last[1], end)]
      else merged.push([start, end])
    }
    return merged
  }
}

/** How it is written in a URL, and in JSON that stands in JSON, as the arguments of a call do. */
function formsOf(secret: string): string[] {
  const forms = [encodeURIComponent(secret.toWellFormed()), secret]
  for (let level = 0, form = secret; level < DEEPEST_JSON; level += 1) {
    form = JSON.stringify(form).slice(1, -1)
    forms.push(form)
  }
  return forms
}

/** `text` from `from` to `to`; a secret leaves its mark where it begins. */
function pieces(text: string, spans: readonly Span[], from: number, to: number): string {
  const out: string[] = []
  let at = from
  for (const [start, end] of spans) {
    if (end <= from || start >= to) continue
    if (start >= at) out.push(text.slice(at, start))
    if (start >= from) out.push(markOf(text.slice(start, end)))
    at = Math.max(at, Math.min(end, to))
  }
  out.push(text.slice(at, to))
  return out.join('')
}

/** A number stays one, so that a document around it can still be read. */
function markOf(secret: string): string {
  return /^\d+$/.test(secret) ? '1'.repeat(secret.length) : SECRET
}

export function plainRequestHeaders(headers: Headers): Record<string, string> {
  const plain = (name: string) => PLAIN_HEADERS.has(name.toLowerCase())
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, plain(name) ? value : SECRET]))
}

export function plainAnswerHeaders(headers: Headers): Record<string, string> {
  const hidden = (name: string) => SECRET_ANSWER_HEADERS.has(name.toLowerCase())
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, hidden(name) ? SECRET : value]))
}

/** Scheme, host and path; that there was a query is told, and nothing of it. */
export function plainUrl(url: string): string {
  const parsed = URL.parse(url)
  if (parsed === null) return SECRET
  return `${parsed.origin}${parsed.pathname}${parsed.search === '' ? '' : `?${SECRET}`}`
}
