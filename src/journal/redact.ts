/**
 * The one redaction by value: whatever secret the engine knows is replaced wherever a text holds it, in any form of
 * `secret-forms.ts`. Applied where entries enter the journal, and to what the process logs beside it. SPEC §12.3.
 *
 * The cost of a text goes by its length and not by the number of secrets: forms are found by their first characters, in the
 * text and in what it reads as without its escapes. Secrets of requests are remembered up to a bound, those used longest ago
 * forgotten first; secrets of the environment always.
 */
import { isRawNumber, type Json } from '../contract/json.ts'
import type { JournalEntry } from '../engine/ports.ts'
import { withoutKeyShapes } from './key-shapes.ts'
import { SHORTEST_SECRET, SHORTEST_WORD, secretForms } from './secret-forms.ts'
import { readingsOf, type View } from './unescaped.ts'

const REDACTED = '[redacted]'

export interface Redactor {
  /**
   * From now on these are secrets, as long as they are among the newest. Values of fewer than 8 characters are passed over:
   * a header's value need be no secret at all.
   */
  hold(values: Iterable<string>): void
  /** The same for what is a secret by its place, a key or a password: from 4 characters on, short ones as whole words. */
  holdCredentials(values: Iterable<string>): void
  /** The same for tokens that the engine makes: many, and they must not push out what requests brought. */
  holdTokens(values: Iterable<string>): void
  text(text: string): string
  /** The same entry, its facts cleared. */
  entry(entry: JournalEntry): JournalEntry
}

export interface RedactorLimits {
  /** Values that are remembered, of requests and of tokens each. */
  readonly maxHeld: number
  /** Characters of all their forms. */
  readonly maxHeldChars: number
}

const REDACTOR_LIMITS: RedactorLimits = { maxHeld: 5000, maxHeldChars: 6_291_456 }

/** What the engine itself wrote, and names by which a harness finds its runs again: no free text. */
const PLAIN = new Set([
  'event',
  'run_id',
  'session_id',
  'call_id',
  'provider',
  'status',
  'error_code',
  'code',
  'outcome',
])

/** What a provider says, which may quote keys that nobody here was given. */
const FOREIGN_WORDS = 'detail'

/** Longest fact, UTF-16 units. */
const MAX_FACT_CHARS = 8000

export function createRedactor(always: Iterable<string>, limits: RedactorLimits = REDACTOR_LIMITS): Redactor {
  const index = createFormIndex()
  for (const value of always) for (const form of secretForms(value, SHORTEST_WORD)) index.add(form)

  function text(whole: string): string {
    return withoutQueryTokens(withoutForms(whole, index))
  }

  function fact(value: Json): Json {
    if (typeof value === 'string') return cut(text(value))
    if (Array.isArray(value)) return value.map((item: Json) => fact(item))
    if (typeof value !== 'object' || value === null || isRawNumber(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, fact(inner)]))
  }

  function entry(raw: JournalEntry): JournalEntry {
    const facts = Object.entries(raw).map(([name, value]) => {
      const cleared = PLAIN.has(name) ? value : fact(value)
      const isForeign = name === FOREIGN_WORDS && typeof cleared === 'string'
      return [name, isForeign ? withoutKeyShapes(cleared) : cleared] as const
    })
    return { ...Object.fromEntries(facts), event: raw.event, run_id: raw.run_id }
  }

  return {
    hold: createMemory(index, limits, SHORTEST_SECRET),
    holdCredentials: createMemory(index, limits, SHORTEST_WORD),
    holdTokens: createMemory(index, limits, SHORTEST_SECRET),
    text,
    entry,
  }
}

/** Remembers values up to a bound; those held longest ago go first. */
function createMemory(index: FormIndex, limits: RedactorLimits, shortest: number): (values: Iterable<string>) => void {
  const held = new Map<string, readonly string[]>()
  let heldChars = 0
  return (values) => {
    for (const value of values) {
      const known = held.get(value)
      held.delete(value)
      const forms = known ?? secretForms(value, shortest)
      if (forms.length === 0) continue
      held.set(value, forms)
      if (known !== undefined) continue
      heldChars += charsOf(forms)
      for (const form of forms) index.add(form)
    }
    for (const [value, forms] of held) {
      if (held.size <= limits.maxHeld && heldChars <= limits.maxHeldChars) break
      held.delete(value)
      heldChars -= charsOf(forms)
      for (const form of forms) index.remove(form)
    }
  }
}

function charsOf(forms: readonly string[]): number {
  return forms.reduce((sum, form) => sum + form.length, 0)
}

function cut(text: string): string {
  return text.length <= MAX_FACT_CHARS ? text : `${text.slice(0, MAX_FACT_CHARS)}…`.toWellFormed()
}

/** Tokens of runs and calls stand in the query of the addresses that the engine gives out. */
function withoutQueryTokens(text: string): string {
  return text.includes('token=') ? text.replaceAll(/\btoken=[^&\s"'<>]+/g, `token=${REDACTED}`) : text
}

type Span = readonly [start: number, end: number]

function withoutForms(whole: string, index: FormIndex): string {
  const spans = [...readingsOf(whole)].flatMap((view) => spansIn(view, index))
  if (spans.length === 0) return whole

  let cleared = ''
  let from = 0
  for (const [start, end] of spans.sort(([left], [right]) => left - right)) {
    if (start >= from) cleared += whole.slice(from, start) + REDACTED
    from = Math.max(from, end)
  }
  return cleared + whole.slice(from)
}

/** Where in the original of a view secrets stand. */
function spansIn({ text, places }: View, index: FormIndex): Span[] {
  const spans: Span[] = []
  for (let at = 0; at <= text.length - SHORTEST_WORD;) {
    const length = index.longestAt(text, at)
    if (length === 0) {
      at += 1
      continue
    }
    spans.push(places === null ? [at, at + length] : [places[at] ?? 0, places[at + length] ?? 0])
    at += length
  }
  return spans
}

interface FormIndex {
  add(form: string): void
  remove(form: string): void
  /** Length of the longest form that stands at this place; 0: none does. */
  longestAt(text: string, at: number): number
}

/** Forms, each with the number of secrets that have it. Nearly always there is one, of one secret: then it stands for itself. */
type Forms = string | Map<string, number>

function createFormIndex(): FormIndex {
  /** First characters → forms. */
  const byOpening = new Map<string, Forms>()
  /** First character → forms that count as whole words only. */
  const words = new Map<string, Forms>()
  const placeOf = (form: string) =>
    form.length < SHORTEST_SECRET
      ? { map: words, key: form.slice(0, 1) }
      : { map: byOpening, key: form.slice(0, SHORTEST_SECRET) }

  return {
    add(form) {
      const { map, key } = placeOf(form)
      const known = map.get(key)
      if (known === undefined) return void map.set(key, form)
      const forms = typeof known === 'string' ? new Map([[known, 1]]) : known
      map.set(key, forms)
      forms.set(form, (forms.get(form) ?? 0) + 1)
    },
    remove(form) {
      const { map, key } = placeOf(form)
      const forms = map.get(key)
      if (forms === form) return void map.delete(key)
      if (forms === undefined || typeof forms === 'string') return
      const count = forms.get(form) ?? 0
      if (count > 1) forms.set(form, count - 1)
      else forms.delete(form)
      if (forms.size === 0) map.delete(key)
    },
    longestAt(text, at) {
      const forms = byOpening.get(text.slice(at, at + SHORTEST_SECRET))
      return (forms === undefined ? 0 : longestForm(forms, text, at)) || longestWord(words, text, at)
    },
  }
}

/** The one, or each of them. */
function each(forms: Forms): Iterable<string> {
  return typeof forms === 'string' ? [forms] : forms.keys()
}

function longestForm(forms: Forms, text: string, at: number): number {
  let longest = 0
  const rest = text.length - at
  for (const form of each(forms)) {
    // A text that somebody cut may end inside a secret.
    const length = Math.min(form.length, rest)
    if (length > longest && text.startsWith(form.length <= rest ? form : form.slice(0, rest), at)) longest = length
  }
  return longest
}

const WORD = /[A-Za-z0-9]/

function longestWord(words: ReadonlyMap<string, Forms>, text: string, at: number): number {
  const forms = words.size === 0 ? undefined : words.get(text.charAt(at))
  if (forms === undefined || WORD.test(text.charAt(at - 1))) return 0
  let longest = 0
  for (const form of each(forms)) {
    const isWhole = text.startsWith(form, at) && !WORD.test(text.charAt(at + form.length))
    if (isWhole && form.length > longest) longest = form.length
  }
  return longest
}
