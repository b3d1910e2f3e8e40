/** The loop over a model and tools that play what a test says. Time stands still unless a test moves it. */
import assert from 'node:assert/strict'
import { callId, runId } from '../../src/contract/ids.ts'
import type { Json, JsonObject } from '../../src/contract/json.ts'
import type { RunResult } from '../../src/contract/result.ts'
import type { StreamEvent } from '../../src/contract/stream-event.ts'
import { NO_TOKENS, type Usage } from '../../src/contract/usage.ts'
import { resultOf } from '../../src/engine/ending.ts'
import { runLoop } from '../../src/engine/loop.ts'
import type {
  Ask,
  CallOrder,
  CallOutcome,
  EnginePorts,
  Interruption,
  JournalEntry,
  ModelCall,
  ModelPart,
  StepAnswer,
  StepTap,
} from '../../src/engine/ports.ts'
import { openRecord, type RunRecord } from '../../src/engine/record.ts'
import { sayIn } from '../../src/i18n/say.ts'
import { runRequest } from './run-request.ts'

export type Play = (ask: Ask, tap: StepTap, signal: AbortSignal) => StepAnswer | Promise<StepAnswer>
export type PlayTool = (order: CallOrder, signal: AbortSignal) => CallOutcome | Promise<CallOutcome>

export const say = sayIn('en')

export function text(words: string): StepAnswer {
  return answer([{ type: 'text', text: words }])
}

export function call(tool: string, args: JsonObject | null = {}, more: Partial<ModelCall> = {}): ModelCall {
  return { type: 'tool_call', tool, args, argsText: JSON.stringify(args), fault: null, provider_data: null, ...more }
}

export function answer(
  parts: readonly ModelPart[],
  stop: 'end_turn' | 'tool_calls' | 'length' | 'refusal' | 'paused' = 'end_turn',
): StepAnswer {
  return { kind: 'answer', message: { parts, stop, target: 0, provider_data: null } }
}

export function calls(...parts: readonly ModelPart[]): StepAnswer {
  return answer(parts, 'tool_calls')
}

/** Shows the words as a stream would, then answers with them. */
export function streamed(words: string): Play {
  return (_ask, tap) => {
    tap.text(words)
    return text(words)
  }
}

export function ok(result: Json, more: { readonly empty?: boolean } = {}): CallOutcome {
  return {
    kind: 'ok',
    result,
    note: null,
    truncated: false,
    empty: more.empty ?? false,
    attempts: 1,
    durationMs: 5,
    resultBytes: 10,
  }
}

export function deferred(operationId: string): CallOutcome {
  return { kind: 'deferred', operationId, attempts: 1, durationMs: 5, resultBytes: 0 }
}

export interface Played {
  readonly result: RunResult
  readonly record: RunRecord
  readonly asks: readonly Ask[]
  readonly orders: readonly CallOrder[]
  readonly events: readonly StreamEvent[]
  readonly journal: readonly JournalEntry[]
}

export interface Setting {
  readonly request?: { readonly [key: string]: Json }
  /** One entry a step; asking once too often fails the test. */
  readonly model: readonly (StepAnswer | Play)[]
  readonly tools?: PlayTool
  readonly checkArgs?: EnginePorts['tools']['checkArgs']
  readonly checkOutput?: EnginePorts['checkOutput']
  readonly now?: () => number
  readonly stop?: AbortController
}

const START = Date.parse('2026-11-30T12:00:00.000Z')

export async function play(setting: Setting): Promise<Played> {
  const record = openRecord(runId('01JDZZZZZZZZZZZZZZZZZZZZZZ'), runRequest(setting.request), [], START)
  const asks: Ask[] = []
  const orders: CallOrder[] = []
  const events: StreamEvent[] = []
  const journal: JournalEntry[] = []
  const now = setting.now ?? (() => START)
  let made = 0
  const ports: EnginePorts = {
    model: async (ask, tap, signal) => {
      const next = setting.model[asks.length]
      // The live list of messages is copied, so that a test sees what was asked then.
      asks.push({ ...ask, messages: [...ask.messages] })
      assert.ok(next !== undefined, `the model was asked once too often: ${asks.length}`)
      return typeof next === 'function' ? next(ask, tap, signal) : next
    },
    tools: {
      checkArgs: setting.checkArgs ?? (() => []),
      call: async (order, attemptStarting, signal) => {
        await attemptStarting(1)
        orders.push(order)
        assert.ok(setting.tools !== undefined, 'no tool was expected to be called')
        return setting.tools(order, signal)
      },
    },
    now,
    newCallId: () => callId(`01JDZZZZZZZZZZZZZZZZZZ${String((made += 1)).padStart(4, '0')}`),
    commit: async () => undefined,
    emit: (event) => events.push(event),
    announce: async (done) => void events.push(done),
    journal: (entry) => journal.push(entry),
    ticket: () => 'ticket',
    say,
    checkOutput: setting.checkOutput ?? (() => []),
  }
  const ending = await runLoop(record, ports, (setting.stop ?? new AbortController()).signal)
  const usage: Usage = { ...NO_TOKENS, cost: null, currency: null, complete: true, attempts: record.attempts }
  return { result: resultOf(record, ending, usage, now(), say), record, asks, orders, events, journal }
}

export function stopWith(why: Interruption): AbortController {
  const controller = new AbortController()
  controller.abort(why)
  return controller
}
