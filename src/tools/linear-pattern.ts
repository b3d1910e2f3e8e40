/**
 * The regular expressions of tool schemas, run in time linear to the text (RE2). A native RegExp never sees a pattern
 * that came from outside: `(a+)+$` hangs it.
 *
 * What linear time cannot do (look-around, back-references, counts above 1000) is refused when the schema is read. A
 * program grows with its counted repeats, so its size is estimated before anything is built.
 */
import { RE2JS } from 're2js'

/** Largest program of one pattern, in instructions; building takes about 2 µs for each. */
export const MAX_PATTERN_SIZE = 2000

/** A compiled pattern. */
export interface LinearPattern {
  /** As it stands in the schema. */
  readonly source: string
  /** Instructions, estimated. */
  readonly size: number
  /** True when the pattern is found anywhere in the text. */
  test(text: string): boolean
  /** What testing a text of this length may cost, in steps of about 0.1 µs: measured on the worst patterns found. */
  cost(length: number): number
}

export type CompiledPattern =
  | { readonly ok: true; readonly pattern: LinearPattern }
  /** Half a sentence: what is wrong and what to do. */
  | { readonly ok: false; readonly reason: string }

/**
 * Compiles an ECMA 262 pattern, as JSON Schema has them (`\s` is ASCII white space only). Never throws. SPEC §5.3.
 * @param room what the document's other patterns have left, in instructions
 */
export function compilePattern(source: string, room = MAX_PATTERN_SIZE): CompiledPattern {
  const shape = shapeOf(source)
  if (shape.size > MAX_PATTERN_SIZE) {
    return { ok: false, reason: 'repeats too much to be matched quickly: use minLength, maxLength or smaller counts' }
  }
  if (shape.size > room) {
    return { ok: false, reason: 'is too large beside the other patterns of this schema: use fewer, or smaller counts' }
  }
  try {
    return { ok: true, pattern: linear(source, shape, RE2JS.compile(RE2JS.translateRegExp(source))) }
  } catch {
    return {
      ok: false,
      reason:
        'cannot be matched in linear time: use no look-around and no back-reference, counts up to 1000, and valid syntax',
    }
  }
}

/** The states met while matching are kept for the next text, up to 8 MB a pattern; few texts are worth that. */
const KEEP_STATES_UP_TO = 200

function linear(source: string, { size, plain }: Shape, program: RE2JS): LinearPattern {
  const stepsPerCharacter = plain ? 3 : 20 + size / 3
  return {
    source,
    size,
    test: (text) => {
      const found = program.test(text)
      if (!plain && text.length > KEEP_STATES_UP_TO) program.reset()
      return found
    },
    cost: (length) => Math.ceil((length + 1) * stepsPerCharacter),
  }
}

interface Shape {
  /** Estimated instructions: atoms, each times the counts around it. */
  readonly size: number
  /** Few states whatever the text: atoms in a row from the start, at most one of them repeated freely; or very small. */
  readonly plain: boolean
}

const COUNT = /\{(\d+)(,?)(\d*)\}/y
const ESCAPE = /\\(?:[pPux]\{[^}]{0,64}\}|[\s\S])?/y
const CLASS = /\[\^?\]?(?:\\[\s\S]|[^\]\\])*\]?/y
const GROUP_START = /\((?:\?(?:P?<[^>]{0,64}>|[a-zA-Z-]*:|[a-zA-Z-]+|[=!]))?/y

/** Building the ranges of a class such as `\p{L}` takes as long as this many instructions, however often it is repeated. */
const UNICODE_CLASS_SIZE = 25
const VERY_SMALL = 5

/** Reads the text once, left to right. One that is no pattern gets some shape too, and is refused by the compiler. */
function shapeOf(source: string): Shape {
  const outer: number[] = []
  let sum = 0
  let atom = 0
  let freeRepeats = 0
  let branches = 0
  for (let index = 0; index < source.length;) {
    const count = matchAt(COUNT, source, index)
    if (count !== null) {
      const most = Math.max(1, Number(count[1]), Number(count[3]))
      if (count[2] !== '') freeRepeats += 1
      sum += atom * (most - 1)
      index += count[0].length
      continue
    }
    const character = source[index]
    index += lengthAt(source, index)
    if (character === '(') {
      outer.push(sum + 1)
      sum = 0
      atom = 0
    } else if (character === ')') {
      atom = sum + 2
      sum = (outer.pop() ?? 0) + atom
    } else {
      const repeats = character === '*' || character === '+' || character === '?'
      if (repeats) freeRepeats += 1
      else atom = 1
      sum += 1
    }
    if (character === '(' || character === '|') branches += 1
  }
  const unicodeClasses = source.match(/\\[pP]/g)?.length ?? 0
  const size = outer.reduce((total, part) => total + part, sum) + UNICODE_CLASS_SIZE * unicodeClasses
  return { size, plain: size <= VERY_SMALL || (source.startsWith('^') && branches === 0 && freeRepeats <= 1) }
}

/** Length of what stands here as one: an escape, a class, a group's opening, a character. */
function lengthAt(source: string, index: number): number {
  switch (source[index]) {
    case '\\':
      return matchAt(ESCAPE, source, index)?.[0].length ?? 1
    case '[':
      return matchAt(CLASS, source, index)?.[0].length ?? 1
    case '(':
      return matchAt(GROUP_START, source, index)?.[0].length ?? 1
    default:
      return 1
  }
}

function matchAt(expression: RegExp, source: string, index: number): RegExpExecArray | null {
  expression.lastIndex = index
  return expression.exec(source)
}
