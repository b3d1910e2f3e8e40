/** Inputs made wrong: JSON values changed in their structure, and bytes changed without a thought for what they mean. */
import type { Random } from './random.ts'

export type Value = null | boolean | number | string | Value[] | { [name: string]: Value }

function nested(levels: number): Value {
  let value: Value = 1
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

/** Values that break what takes a type, a size or a form for granted. */
const HOSTILE: readonly Value[] = [
  null,
  true,
  false,
  0,
  -1,
  0.5,
  1e308,
  -0,
  2 ** 53,
  Number.MAX_VALUE,
  '',
  ' ',
  'null',
  '0',
  '12',
  '-1',
  '1e9',
  '{}',
  '{"a":',
  '[DONE]',
  'data: x\n\n',
  '\u0000',
  '\uD83D',
  '\uDE00',
  '\u{1F600}',
  '<think>',
  '</think>',
  '__proto__',
  'constructor',
  'x'.repeat(5000),
  [],
  {},
  [null],
  [[]],
  [{}],
  { __proto__: null, constructor: 1, toString: 2, length: -1 },
  { type: 'tool_use', id: 'x', name: 'y', input: {} },
  { type: 'error', error: { message: 'x' } },
  nested(60),
  nested(400),
]

/** One to three changes of the structure of a value, which itself stays as it is. */
export function mutatedJson(random: Random, value: Value): Value {
  let changed = value
  for (let left = 1 + random.int(3); left > 0; left -= 1) changed = mutatedOnce(random, changed)
  return changed
}

function mutatedOnce(random: Random, value: Value): Value {
  if (Array.isArray(value) && value.length > 0) {
    const at = random.int(value.length)
    return random.chance(0.75)
      ? value.with(at, mutatedOnce(random, value[at] as Value))
      : mutatedList(random, value, at)
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const names = Object.keys(value)
    if (names.length === 0) return random.pick(HOSTILE)
    const name = random.pick(names)
    return random.chance(0.75)
      ? { ...value, [name]: mutatedOnce(random, value[name] as Value) }
      : mutatedObject(random, value, name)
  }
  if (typeof value === 'string' && random.chance(0.4)) return mutatedString(random, value)
  if (typeof value === 'number' && random.chance(0.4)) {
    return random.pick([-value, value + 0.5, value * 1e12, String(value), value + 1, 0])
  }
  return random.pick(HOSTILE)
}

function mutatedList(random: Random, list: Value[], at: number): Value {
  switch (random.int(4)) {
    case 0:
      return list.toSpliced(at, 1)
    case 1:
      return list.toSpliced(at, 0, list[at] as Value)
    case 2:
      return list.toReversed()
    default:
      return list.toSpliced(at, 0, random.pick(HOSTILE))
  }
}

function mutatedObject(random: Random, object: { [name: string]: Value }, name: string): Value {
  const { [name]: value, ...rest } = object
  switch (random.int(4)) {
    case 0:
      return rest
    case 1:
      return {
        ...rest,
        [random.pick(['', 'type', 'index', 'id', 'delta', 'x', '__proto__', `${name} `])]: value as Value,
      }
    case 2:
      return { ...object, [random.pick(Object.keys(object))]: value as Value }
    default:
      return { ...object, [random.pick(['type', 'index', 'error', 'usage', 'content', 'x'])]: random.pick(HOSTILE) }
  }
}

function mutatedString(random: Random, text: string): string {
  const at = random.int(text.length + 1)
  switch (random.int(4)) {
    case 0:
      return text.slice(0, at)
    case 1:
      return text.slice(at)
    case 2:
      return text + text
    default:
      return text.slice(0, at) + random.pick(['"', '\\', '\uD800', '\n', '}', '1', 'é', '\u2028']) + text.slice(at)
  }
}

/** Bytes that mean something to whoever reads them. */
const TOKENS = [
  '\n\n',
  '\r',
  '\n',
  'data:',
  'data: [DONE]',
  'event: error',
  ':',
  '"',
  '{',
  '}',
  '[',
  ']',
  ',',
  '\\u',
  '\\ud800',
  '1e999',
  '0'.repeat(400),
  '\0',
  '\u{FEFF}',
].map((text) => Buffer.from(text))
const NOT_UTF8 = [Buffer.from([0xff]), Buffer.from([0xc3]), Buffer.from([0xf0, 0x9f]), Buffer.from([0xed, 0xa0, 0x80])]

/** One to four changes of the bytes. */
export function mutatedBytes(random: Random, bytes: Buffer): Buffer {
  let changed = bytes
  for (let left = 1 + random.int(4); left > 0; left -= 1) {
    const at = random.int(changed.length + 1)
    const end = Math.min(changed.length, at + 1 + random.int(random.chance(0.8) ? 8 : 400))
    changed = Buffer.concat(changedParts(random, changed, at, end))
  }
  return changed
}

function changedParts(random: Random, bytes: Buffer, at: number, end: number): Buffer[] {
  const before = bytes.subarray(0, at)
  const after = bytes.subarray(at)
  switch (random.int(6)) {
    case 0:
      return [before, bytes.subarray(end)]
    case 1:
      return [before, bytes.subarray(at, end), after]
    case 2:
      return [before, random.pick(TOKENS), after]
    case 3:
      return [before, random.pick(NOT_UTF8), after]
    case 4:
      return [before, Buffer.from([random.int(256)]), bytes.subarray(at + 1)]
    default:
      return random.chance(0.5) ? [before] : [after, before]
  }
}
