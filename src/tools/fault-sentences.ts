/**
 * What is wrong with arguments, said to a model so that its next call can be right: where, what is wanted, what was got.
 *
 * At most ten sentences of at most 300 characters: the model pays for each. Always the same for the same schema and value.
 */
import { isJsonObject, wellFormed, type Json } from '../contract/json.ts'
import type { Members, SchemaNode, TypeName } from './schema-node.ts'

export const MAX_SENTENCES = 10
export const MAX_SENTENCE_LENGTH = 300

/** Where in the arguments; null is the arguments as a whole. */
export interface Place {
  readonly parent: Place | null
  readonly key: string | number
}

export class FaultSentences {
  readonly list: string[] = []

  get full(): boolean {
    return this.list.length >= MAX_SENTENCES
  }

  /** `message` goes on after the path, without a full stop: "must be a string; got 5". */
  add(place: Place | null, message: string): void {
    const sentence = `${shortened(`${pathText(place)}: ${message}`, MAX_SENTENCE_LENGTH - 1)}.`
    // Two keywords may find the same thing wrong.
    if (!this.full && !this.list.includes(sentence)) this.list.push(sentence)
  }
}

const MAX_PATH_LENGTH = 120

function pathText(place: Place | null): string {
  if (place === null) return 'the arguments'
  const keys: (string | number)[] = []
  for (let at: Place | null = place; at !== null; at = at.parent) keys.push(at.key)
  const text = keys
    .reverse()
    .map((key) => step(key))
    .join('')
    .replace(/^\./, '')
  // The end of a long path says more than its beginning.
  return text.length <= MAX_PATH_LENGTH ? text : `…${wellFormed(text.slice(-MAX_PATH_LENGTH))}`
}

/** `.name`, `[0]`, or `["odd name"]`. */
function step(key: string | number): string {
  if (typeof key === 'number') return `[${key}]`
  return /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(key) ? `.${key}` : `[${JSON.stringify(shortened(key, 64))}]`
}

/** Cut to a length, never inside a surrogate pair, and with a mark. */
function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}

/** What a schema asks for, in a few words: "a string", "a whole number from 1 to 100", "one of "a", "b"". */
export function wanted(node: SchemaNode): string {
  return shortened(phrase(node, 0), 160)
}

/** How far a phrase follows references and branches. */
const MAX_PHRASE_DEPTH = 3

function phrase(node: SchemaNode, depth: number): string {
  if (node.verdict === false) return 'nothing'
  const [members] = node.members
  if (members !== undefined) return oneOf(members)
  if (node.types !== null)
    return listed(
      node.types.map((type) => typePhrase(type, node)),
      'or',
    )
  if (depth < MAX_PHRASE_DEPTH) {
    if (node.reference !== null) return phrase(node.reference, depth + 1)
    const branches = node.anyOf.length > 0 ? node.anyOf : node.oneOf
    if (branches.length > 0) return either(branches, depth + 1)
  }
  return node.properties.size > 0 ? objectPhrase(node) : 'a value of the declared form'
}

/** "a string or null": each form once. */
export function either(branches: readonly SchemaNode[], depth = 0): string {
  return listed([...new Set(branches.slice(0, 12).map((branch) => phrase(branch, depth)))], 'or')
}

function oneOf({ list }: Members): string {
  const values = list.slice(0, 40).map((value) => shownJson(value))
  return values.length === 1 ? values.join('') : `one of ${values.join(', ')}`
}

function typePhrase(type: TypeName, node: SchemaNode): string {
  switch (type) {
    case 'integer':
      return `a whole number${range(node)}`
    case 'number':
      return `a number${range(node)}`
    case 'object':
      return objectPhrase(node)
    case 'array':
      return 'an array'
    case 'boolean':
      return 'true or false'
    case 'string':
      return 'a string'
    case 'null':
      return 'null'
  }
}

function range({ bounds: { minimum, maximum } }: SchemaNode): string {
  if (minimum !== undefined && maximum !== undefined) return ` from ${minimum} to ${maximum}`
  if (minimum !== undefined) return ` of at least ${minimum}`
  return maximum === undefined ? '' : ` of at most ${maximum}`
}

/** Names what tells this object from another: its required fields, with their fixed values. */
function objectPhrase(node: SchemaNode): string {
  const fields = node.required.slice(0, 6).map((name) => {
    const [members] = node.properties.get(name)?.members ?? []
    return members?.list.length === 1
      ? `${JSON.stringify(name)}: ${shownJson(members.list[0] ?? null)}`
      : JSON.stringify(name)
  })
  return fields.length === 0 ? 'an object' : `an object with ${listed(fields, 'and')}`
}

export function listed(words: readonly string[], conjunction: 'and' | 'or'): string {
  if (words.length < 2) return words.join('')
  return `${words.slice(0, -1).join(', ')} ${conjunction} ${words.at(-1)}`
}

/** What was got, short. */
export function got(value: Json): string {
  if (Array.isArray(value)) return `an array of ${value.length}`
  return isJsonObject(value) ? 'an object' : shownJson(value)
}

function shownJson(value: Json): string {
  if (typeof value === 'string') return JSON.stringify(shortened(value, 60))
  return shortened(JSON.stringify(value), 60)
}

/** For a value of a wrong kind. Models often send an object as its JSON text. */
export function wrongType(node: SchemaNode, value: Json): string {
  const types = node.types ?? []
  const encoded =
    typeof value === 'string' && /^\s*[[{]/.test(value) && (types.includes('object') || types.includes('array'))
  return encoded
    ? `must be ${wanted(node)}; got a string with JSON in it: send the value itself, not its text`
    : `must be ${wanted(node)}; got ${got(value)}`
}
