/**
 * What a random run is made of: a tape of numbers, and the requests, answers, attempts and tool outcomes read from it. A tape
 * that has ended reads 0, and 0 is always the plain choice, so every run comes to its end.
 */
import { parseJson, type Json, type JsonObject } from '../../src/contract/json.ts'
import type { StopReason } from '../../src/contract/message.ts'
import type { RunRequest, Tool } from '../../src/contract/run-request.ts'
import type { Attempt } from '../../src/contract/usage.ts'
import type { CallOutcome, ModelCall, ModelPart } from '../../src/engine/ports.ts'
import { call } from '../fakes/engine.ts'
import { runRequest, tool, userMessage } from '../fakes/run-request.ts'

/** Numbers, read one after the other; the last choice of every fork is as likely as the first. */
export class Tape {
  readonly #numbers: ArrayLike<number>
  #place = 0

  constructor(numbers: ArrayLike<number>) {
    this.#numbers = numbers
  }

  below(most: number): number {
    const number = this.#numbers[this.#place] ?? 0
    this.#place += 1
    return number % most
  }

  /** True once in `times`; never when the tape has ended. */
  once(times: number): boolean {
    return this.below(times) === times - 1
  }

  of<T>(...choices: readonly [T, ...T[]]): T {
    return choices[this.below(choices.length)] ?? choices[0]
  }
}

const pricing = { currency: 'USD', input: 1, output: 3 }
const base = runRequest({
  llm: {
    provider: 'scripted',
    model: 'first',
    pricing,
    fallbacks: [{ provider: 'scripted', model: 'second', pricing }],
  },
  tools: [
    tool('read'),
    tool('poll', { repeatable: true }),
    tool('write', { effect: 'write' }),
    tool('__proto__', { label: 'Looking…' }),
  ],
  meta: { session_id: 's1', n: 1 },
})

const answered: readonly JsonObject[] = [
  userMessage('Where is it?'),
  { role: 'assistant', content: [{ type: 'tool_call', call_id: 'c1', tool: 'read', args: {} }] },
  { role: 'tool', call_id: 'c1', tool: 'read', result: { at: 1 } },
]
const histories = [
  base.messages,
  runRequest({ messages: answered }).messages,
  runRequest({
    messages: [...answered, { role: 'assistant', content: [{ type: 'text', text: 'Here.' }] }, userMessage('And now?')],
  }).messages,
]
const schema = { type: 'object' }
const LONG = parseRaw('12345678901234567890')

export function requestFrom(tape: Tape): RunRequest {
  return {
    ...base,
    history_revision: tape.of(7, 7, 7, 7, null, LONG),
    messages: tape.of(base.messages, ...histories),
    output: tape.of({ schema: null, blocks: {} }, { schema, blocks: {} }, { schema: null, blocks: { chart: schema } }),
    limits: {
      ...base.limits,
      max_steps: tape.of(12, 0, 1, 2, 3, 5),
      max_tool_calls: tape.of(40, 0, 1, 2, 5),
      timeout_ms: tape.of(180_000, 100, 40_000, 80_000),
      max_output_tokens_total: tape.of(null, null, null, 1, 60, 300),
      max_total_tokens: tape.of(null, null, null, 1, 200, 900),
      max_cost: tape.of(null, null, null, 0.0001, parseRaw('0.00030000000000000000001')),
      final_answer: tape.of(true, true, false),
      loop_guard: tape.of(base.limits.loop_guard, {
        same_call: 1 + tape.below(3),
        same_result: 1 + tape.below(3),
        refused_steps: 1 + tape.below(3),
        empty_steps: 1 + tape.below(3),
        invalid_steps: 1 + tape.below(3),
        cycle_rounds: 2 + tape.below(2),
      }),
    },
    stream: tape.of(base.stream, { tool_names: true, tool_args: true, tool_results: true, reasoning: true }),
  }
}

function parseRaw(text: string) {
  const parsed = parseJson(text)
  return parsed.ok ? parsed.value : null
}

export function partsFrom(tape: Tape): ModelPart[] {
  const parts: ModelPart[] = []
  if (tape.once(2)) parts.push({ type: 'reasoning', text: 'hm', ...tape.of({}, { provider_data: { s: 'x' } }) })
  const words = tape.of('Hello.', '', 'Привет 🙂', '{"ok":true}', ' \n', '<tool_call>{}', '```chart\n{"ok":1}\n```')
  if (words !== '') parts.push({ type: 'text', text: words })
  const many = tape.of(0, 1, 2, 0, 1, 3, 4, tape.once(4) ? 40 : 2)
  for (let index = 0; index < many; index += 1) parts.push(callFrom(tape, index))
  // Blank text beside other text is shown and not stored; the two would differ by it.
  if (many > 0 && words.trim() !== '' && tape.once(5)) parts.push({ type: 'text', text: 'More.' })
  return parts
}

function callFrom(tape: Tape, index: number): ModelCall {
  const name = tape.of('read', 'read', 'poll', 'write', '__proto__', 'nobody', 'no name!', '')
  const args: JsonObject = tape.of<JsonObject>(
    { id: 1 },
    { id: 2 },
    { id: index },
    { bad: 1 },
    tape.once(5) ? { n: parseRaw('1e999') } : {},
  )
  const fault = tape.of(
    null,
    null,
    null,
    null,
    null,
    'not_json' as const,
    'not_object' as const,
    'too_large' as const,
    'cut' as const,
  )
  return call(name, fault === null ? args : null, {
    fault,
    argsText: fault === null ? JSON.stringify(args) : '{"id":',
  })
}

export function stopFrom(tape: Tape): StopReason {
  return tape.of('end_turn', 'tool_calls', 'length', 'tool_calls', 'refusal', 'paused', 'stop_sequence', 'other')
}

/** `fault`: null for a whole answer. */
export function attemptFrom(
  tape: Tape,
  place: Pick<Attempt, 'step' | 'attempt' | 'model'>,
  fault: string | null,
): Attempt {
  const input_tokens = tape.of(20, 1, 100)
  const output_tokens = tape.of(5, 0, 40)
  const unknown = tape.once(3)
  return {
    ...place,
    provider: 'scripted',
    status: unknown ? 'unknown' : fault === null ? 'ok' : 'failed',
    input_tokens,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    output_tokens,
    reasoning_tokens: 0,
    total_tokens: input_tokens + output_tokens,
    estimated: unknown,
    cost: tape.of(0.00002, 0.0001, 0),
    http_status: fault === null ? 200 : null,
    error_code: fault,
    provider_request_id: null,
    queued_ms: 0,
    first_token_ms: null,
    duration_ms: 10,
  }
}

/** `stopped`: the run was stopped while the call was under way. */
export function outcomeFrom(tape: Tape, asked: Tool, stopped: boolean): CallOutcome {
  const figures = { attempts: 1 + tape.below(3), durationMs: 5, resultBytes: 10 }
  if (stopped && tape.once(2)) return { ...figures, kind: 'unknown', reason: 'cancelled' }
  const choice = tape.below(8)
  if (choice === 4)
    return { ...figures, attempts: tape.of(1, 0), kind: 'error', error: 'No such order.', truncated: false }
  if (choice === 5) return { ...figures, kind: 'unknown', reason: tape.of('timeout', 'reset') }
  if (choice === 6) return { ...figures, kind: 'deferred', operationId: 'op_1' }
  if (asked.effect === 'write') {
    return tape.once(4) ? { ...figures, kind: 'not_deferred' } : { ...figures, kind: 'deferred', operationId: 'op_2' }
  }
  const result = tape.of<Json>(
    { state: 'sent' },
    [],
    '{"error":"x"}',
    tape.once(5) ? { n: parseRaw('0.12345678901234567890') } : {},
    tape.below(100),
  )
  return {
    ...figures,
    kind: 'ok',
    result,
    note: tape.of(null, 'There is no such data.'),
    truncated: tape.once(4),
    empty: choice === 7,
  }
}
