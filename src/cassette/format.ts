/**
 * What stands in a cassette: one JSON object a line, the run as it was before its first step first, its result last. Between
 * them everything that came from outside, in the order in which it came. Reading never throws.
 *
 * A change that an older reader would take wrongly raises `FORMAT`; a reader refuses what is newer than itself.
 */
import { isJsonObject, parseJson, type Json, type JsonObject } from '../contract/json.ts'
import type { Refusal, Fault } from '../egress/egress.ts'
import type { Interruption } from '../engine/ports.ts'
import type { RunRecord } from '../engine/record.ts'

export const FORMAT = 1

/** A record nests deeper than what may come from outside: the history inside the request inside the record. */
const MOST_LEVELS = 256

/** What of the settings a run depends on. No secret: of keys only whose there are. */
export interface RunFacts {
  readonly engine: string
  readonly locale: string
  readonly first_token_ms: number
  readonly stall_ms: number
  readonly gigachat_scope: string
  readonly keys: readonly string[]
  readonly certified: readonly string[]
  readonly base_urls: Readonly<Record<string, string>>
}

interface RunLine {
  readonly kind: 'run'
  readonly format: number
  readonly facts: RunFacts
  /** As the loop began with it, secrets replaced. */
  readonly record: RunRecord
}

/** When something came: `at` in milliseconds since the run's start, `seq` ascending over the whole run. */
interface When {
  readonly at: number
  readonly seq: number
}

/** The lane of images and files that are fetched from their addresses. */
export const FETCHED_LANE = 'fetched'

/** `lane`: `model`, `fetched`, or the id of a tool call. Exchanges of one lane begin in the same order again. */
type RequestLine = When & {
  readonly kind: 'request'
  readonly exchange: number
  readonly lane: string
  readonly method: string
  /** Without what stands in its query. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null
}
export type HeadLine = When & {
  readonly kind: 'head'
  readonly exchange: number
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
}
export type NoAnswerLine = When & {
  readonly kind: 'no_answer'
  readonly exchange: number
  /** `left`: the engine itself ended it before an answer came. */
  readonly how: 'refused' | 'fault' | 'left'
  readonly refusal: Refusal | null
  readonly fault: Fault | null
}
/** Bytes as they came, as text where they are whole UTF-8. */
export type ChunkLine = When & { readonly kind: 'chunk'; readonly exchange: number } & (
    | { readonly text: string }
    | { readonly base64: string }
  )
export type EndLine = When & {
  readonly kind: 'end'
  readonly exchange: number
  /** `left`: the engine read no further. */
  readonly how: 'whole' | 'broken' | 'left'
  readonly fault: Fault | null
}
/** A place in the queue of a provider's key; not granted: the wait for it was given up. */
export type SlotLine = When & { readonly kind: 'slot'; readonly granted: boolean }
/** What a key was exchanged for; the fault where it was refused. */
export type AuthorizationLine = When & { readonly kind: 'authorization'; readonly fault: Json }
/** `readings`: how many of each there had been by then, for a timer that was due in the same moment may have taken one more. */
export type StopLine = When & {
  readonly kind: 'stop'
  readonly why: Interruption
  readonly readings: Readonly<Record<string, number>>
}
type LateResultLine = When & { readonly kind: 'late_result'; readonly call_id: string; readonly answer: Json }
/** What a run was given one by one: the clock, chance, ids. `of`: `clock` or `random` of a lane, `call_ids`. */
export interface ReadingsLine {
  readonly kind: 'readings'
  readonly of: string
  readonly values: readonly (number | string)[]
}
/** The bytes of the result, as text. */
interface ResultLine {
  readonly kind: 'result'
  readonly json: string
}
/** Nothing more was recorded. */
interface CutLine {
  readonly kind: 'cut'
  readonly why: string
}

export type TimedLine =
  | RequestLine
  | HeadLine
  | NoAnswerLine
  | ChunkLine
  | EndLine
  | SlotLine
  | AuthorizationLine
  | StopLine
  | LateResultLine
export type CassetteLine = RunLine | TimedLine | ReadingsLine | ResultLine | CutLine

export interface Cassette {
  readonly run: RunLine
  /** By `seq`. */
  readonly lines: readonly TimedLine[]
  readonly readings: ReadonlyMap<string, readonly (number | string)[]>
  readonly result: string
}

export type ReadCassette =
  | { readonly ok: true; readonly cassette: Cassette }
  /** A sentence: what is wrong with it. */
  | { readonly ok: false; readonly fault: string }

export function readCassette(text: string): ReadCassette {
  const lines: JsonObject[] = []
  for (const [index, line] of text.split('\n').entries()) {
    if (line === '') continue
    const parsed = parseJson(line, MOST_LEVELS)
    if (!parsed.ok || !isJsonObject(parsed.value)) return notOk(`line ${index + 1} is no JSON object`)
    lines.push(parsed.value)
  }
  const [head] = lines
  if (head?.['kind'] !== 'run' || typeof head['format'] !== 'number') return notOk('this is no cassette')
  if (head['format'] > FORMAT) {
    return notOk(
      `its format is ${head['format']}, newer than this version reads (${FORMAT}): replay it with a newer one`,
    )
  }
  // Written by `Tape` alone; the format's number says that these are its types.
  return assemble(lines as unknown as readonly CassetteLine[], head as unknown as RunLine)
}

function assemble(all: readonly CassetteLine[], run: RunLine): ReadCassette {
  const lines: TimedLine[] = []
  const readings = new Map<string, (number | string)[]>()
  let result: string | null = null
  for (const line of all) {
    switch (line.kind) {
      case 'run':
        break
      case 'cut':
        return notOk(`it was cut while it was recorded: ${line.why}`)
      case 'result':
        result = line.json
        break
      case 'readings': {
        const known = readings.get(line.of) ?? []
        for (const value of line.values) known.push(value)
        readings.set(line.of, known)
        break
      }
      default:
        lines.push(line)
    }
  }
  if (result === null) return notOk('it ends without a result: the process ended while it was recorded')
  lines.sort((left, right) => left.seq - right.seq)
  return { ok: true, cassette: { run, lines, readings, result } }
}

function notOk(fault: string): ReadCassette {
  return { ok: false, fault: `not a cassette that can be replayed: ${fault}` }
}
