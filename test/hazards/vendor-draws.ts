/** What is drawn for random runs at fake vendors: what a model writes, what a tool answers, what a request says. */
import type { JsonObject } from '../../src/contract/json.ts'
import type { TurnUsage } from '../fakes/vendors/turn.ts'
import type { Vendor } from '../fakes/vendors/vendor.ts'
import type { VendorAnswer } from '../fakes/vendors/vendor-answer.ts'
import type { Tape } from '../engine/random-draws.ts'
import { tool } from '../fakes/run-request.ts'

/** What a vendor has counted for one request, as far as the engine is told of it. */
export interface Billed {
  /** Of this request, in the whole world: a vendor knows its own answers by their words, so no two say the same. */
  readonly serial: number
  /** null: it told no usage, or its answer was not whole. */
  usage: TurnUsage | null
  /** Its answer was written to its end. */
  whole: boolean
}

const WORDS = [
  'Hello.',
  'Привет 🙂 мир',
  ' \n',
  '',
  '<tool_call>{"name":"read"}</tool_call>',
  '{"n":1}',
  '```chart\n{"n":1}\n```',
  'one two three '.repeat(9),
] as const
const TOOLS = [
  'read',
  'read',
  'poll',
  'write',
  'breach',
  'fails',
  'empty',
  'hangs',
  'nobody',
  '__proto__',
  're ad',
] as const
const ARGS: readonly [JsonObject | string, ...(JsonObject | string)[]] = [
  {},
  {},
  {},
  { id: 1 },
  { id: 1 },
  { id: 1 },
  { id: 2 },
  { id: 3 },
  '{"n":12345678901234567890}',
  '{"id":',
  '[1]',
  '{"a":1}{"b":2}',
  '',
  '{"__proto__":{"x":1}}',
]

/** Writes one answer of a model, whole or not. */
export function writeAnswer(tape: Tape, answer: VendorAnswer, vendor: Vendor, billed: Billed): void {
  switch (
    tape.of(
      'whole',
      'whole',
      'whole',
      'whole',
      'whole',
      'whole',
      'whole',
      'whole',
      'whole',
      'whole',
      'whole',
      'whole',
      'cut',
      'status',
      'error',
      'garbage',
      'hang',
    )
  ) {
    case 'status': {
      const code = tape.of(500, 529, 429, 503, 400, 401, 404, 413)
      const headers = tape.of<Record<string, string>>({}, { 'retry-after': '1' }, { 'retry-after': '500' })
      return answer.status(code, { error: { message: 'no', type: 'error' } }, headers)
    }
    case 'error':
      writeParts(tape, answer, vendor, billed.serial)
      answer.begin()
      return answer.raw(tape.of(vendor.streamErrors.passing, vendor.streamErrors.passing, vendor.streamErrors.final))
    case 'garbage':
      writeParts(tape, answer, vendor, billed.serial)
      return answer.raw('data: {"broken\n\n')
    case 'hang':
      if (tape.once(2)) writeParts(tape, answer, vendor, billed.serial)
      return
    case 'cut':
      writeParts(tape, answer, vendor, billed.serial)
      if (tape.once(3)) answer.openCall('read', '{"id":')
      return answer.cut()
    default: {
      writeParts(tape, answer, vendor, billed.serial)
      const usage = tape.once(8) ? null : usageFrom(tape)
      const end = tape.of<boolean | 'held'>(true, true, true, 'held', false)
      const stop = tape.once(8) ? ({ stop: tape.of('length', 'calls', 'end') } as const) : {}
      billed.usage = usage
      billed.whole = true
      return answer.finish({ ...stop, usage, end })
    }
  }
}

function writeParts(tape: Tape, answer: VendorAnswer, vendor: Vendor, serial: number): void {
  answer.begin()
  if (tape.once(3)) for (const piece of halves(tape.of('Let me see…', 'Hm 🙂'))) answer.thinking(piece)
  const words = tape.of(...WORDS)
  const most = vendor.oneCall ? 1 : 3
  const calls = tape.of(0, 1, 1, most)
  if (words !== '' && (calls === 0 || tape.once(2)))
    for (const piece of halves(words.trim() === '' ? words : `${words} ${serial}`)) answer.text(piece)
  for (let call = 0; call < calls; call += 1) answer.call(tape.of(...TOOLS), tape.of(...ARGS))
}

function halves(text: string): string[] {
  const half = text.length >> 1
  return [text.slice(0, half), text.slice(half)].filter((piece) => piece !== '')
}

/** All figures differ, so that a swap shows. */
function usageFrom(tape: Tape): TurnUsage {
  const n = tape.below(50)
  return { input: 40 + n, cacheRead: 200 + n, cacheWrite: 9, output: 120 + n, reasoning: 12 }
}

export const tools: JsonObject[] = [
  tool('read'),
  tool('poll', { repeatable: true }),
  tool('write', { effect: 'write' }),
  tool('breach', { effect: 'write' }),
  tool('fails'),
  tool('empty'),
  tool('hangs', { timeout_ms: 3000 }),
  tool('__proto__'),
]

export interface ToolAnswerDrawn {
  readonly status: number
  readonly body: string
}

/** null: it says nothing. */
export function toolAnswer(tape: Tape, name: string): ToolAnswerDrawn | null {
  const answer = (body: unknown, status = 200) => ({ status, body: JSON.stringify(body) })
  switch (name) {
    case 'write':
      return tape.once(6)
        ? answer({ status: 'error', error: 'not now' })
        : answer({ status: 'deferred', operation_id: 'op_1' })
    case 'fails':
      return tape.of(
        answer({ status: 'error', error: 'no such order' }, 422),
        { status: 500, body: 'oops' },
        { status: 200, body: '<p>' },
      )
    case 'empty':
      return answer({ status: 'ok', result: tape.of<unknown>([], null, '', {}) })
    case 'hangs':
      return null
    case 'poll':
      return answer({ status: 'ok', result: { done: tape.below(9) } })
    default:
      return {
        status: 200,
        body: `{"status":"ok","result":${tape.of('{"n":12345678901234567890}', '1', '"<tool_call>"', 'false')}}`,
      }
  }
}

/** Most models miss the form; those who meet it do so by their serial number alone. */
export function outputFrom(tape: Tape): JsonObject {
  if (!tape.once(4)) return {}
  const blocks = tape.of<JsonObject>({}, { chart: { schema: FORMS[0] } })
  return { schema: tape.of<JsonObject | null>(null, ...FORMS), blocks }
}

const FORMS: readonly [JsonObject, ...JsonObject[]] = [
  { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
  { $ref: '#/$defs/root', $defs: { root: { type: 'object', properties: { next: { $ref: '#/$defs/root' } } } } },
  {
    oneOf: [
      { type: 'object', required: ['a'] },
      { type: 'object', required: ['b'] },
    ],
  },
  { type: 'object', additionalProperties: { type: ['number', 'null'], minimum: 0 } },
  {
    type: 'object',
    properties: { list: { type: 'array', prefixItems: [{ const: 1 }], items: { enum: ['a', null] } } },
  },
  { type: 'object', definitions: { x: { type: 'string' } }, properties: { 'odd key': { $ref: '#/definitions/x' } } },
  {},
]

export function paramsFrom(tape: Tape): JsonObject {
  return {
    thinking: tape.of('medium', null, 'off', 'high', 'low', 'max'),
    temperature: tape.of(null, null, null, 0, 0.7, 2),
    top_p: tape.of(null, null, null, 0.5),
    max_output_tokens: tape.of(null, null, 1, 5000, 1_000_000),
    parallel_tool_calls: tape.of(null, null, true, false),
    stop: tape.of<JsonObject['stop']>([], [], ['END']) ?? [],
    seed: tape.of(null, null, 7),
  }
}

export function limitsFrom(tape: Tape): JsonObject {
  return {
    max_steps: tape.of(5, 5, 0, 1, 2, 3),
    max_tool_calls: tape.of(40, 40, 0, 1, 3),
    timeout_ms: tape.of(180_000, 180_000, 40_000, 2000),
    max_total_tokens: tape.of(null, null, null, 900, 2500),
    max_output_tokens_total: tape.of(null, null, null, 300),
    max_cost: tape.of(null, null, null, 0.0001, 0.02),
    final_answer: !tape.once(6),
    on_cancel: tape.of('cut', 'drain'),
  }
}
