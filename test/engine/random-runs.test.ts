/**
 * What every run of the loop owes, whatever its model, its tools, its limits and its stop do: runs are drawn at random, with the
 * clock moved by hand. The seed of the draw is told; fast-check tells the tape of a run that fails, shortened.
 */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import fc from 'fast-check'
import { check, Faults } from '../../src/contract/check.ts'
import { parseJson } from '../../src/contract/json.ts'
import { callsOf, textOf, type AssistantMessage, type StoredMessage } from '../../src/contract/message.ts'
import type { Keywords } from '../../src/contract/schema.ts'
import { RunResult, type ToolCallRecord } from '../../src/contract/result.ts'
import { NO_TOKENS } from '../../src/contract/usage.ts'
import { resultOf, type Ending } from '../../src/engine/ending.ts'
import { checkHistory } from '../../src/engine/history-rules.ts'
import { MOST_REPAIRS } from '../../src/engine/format-gate.ts'
import type { CallOutcome } from '../../src/engine/ports.ts'
import type { RunRecord } from '../../src/engine/record.ts'
import { say } from '../fakes/engine.ts'
import { at } from '../fakes/run-request.ts'
import { closedHistory, RandomRun } from './random-run.ts'

const RUNS = 20_000

const tapes = fc.uint8Array({ maxLength: 128, size: 'max' })

test(`whatever happens in ${RUNS} random runs, each ends once with a valid result and a valid history`, async (t) => {
  const seed = Math.floor(Math.random() * 2 ** 31)
  t.diagnostic(`seed ${seed}`)
  const seen = new Map<string, number>()
  const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1)
  await fc.assert(
    fc.asyncProperty(tapes, async (tape) => {
      const run = new RandomRun(tape)
      const ending = await run.run()
      for (const what of checkRun(run, run.record, ending)) count(what)
      if (run.snapshot === null) return
      const resumed = await run.resume(run.snapshot)
      checkRun(run, resumed.record, resumed.ending)
      count('resumed')
    }),
    { seed, numRuns: RUNS },
  )
  t.diagnostic(JSON.stringify(Object.fromEntries([...seen].toSorted(([a], [b]) => (a < b ? -1 : 1)))))
  // A generator that no longer reaches a kind of end would prove nothing about it.
  for (const what of EVERYTHING) assert.ok((seen.get(what) ?? 0) >= 5, `${what} was seen ${seen.get(what) ?? 0} times`)
})

const EVERYTHING = [
  'completed',
  'awaiting_tool',
  'stopped_limit',
  'cancelled',
  'failed',
  'max_steps',
  'max_tool_calls',
  'timeout_ms',
  'max_output_tokens_total',
  'max_total_tokens',
  'max_cost',
  'call ok',
  'call error',
  'call deferred',
  'call invalid',
  'call refused',
  'call not_sent',
  'call unknown',
  'loop_protection',
  'write_not_deferred',
  'format_not_met',
  'engine_shutdown',
  'provider_unavailable',
  'resumed',
  'source model',
  'source fallback',
  'reset empty',
  'reset repair',
  'reset retry',
  'reset restart',
  'output',
]

/** Every invariant of a run; returns what was seen, to be counted. */
function checkRun(run: RandomRun, record: RunRecord, ending: Ending): string[] {
  const usage = { ...NO_TOKENS, cost: null, currency: null, complete: true, attempts: record.attempts }
  const result = resultOf(record, ending, usage, run.now, say)
  checkForm(result)
  checkMessages(record)
  checkCalls(run, record)
  checkSteps(run, record)
  checkStream(run, result)
  checkEnding(record, result)
  assert.deepEqual(record.attempts, run.attempts)
  assert.equal(record.attempting, null)
  assert.equal(getEventListeners(run.controller.signal, 'abort').length, 0)
  return [
    result.status,
    ...(result.limit_reached === null ? [] : [result.limit_reached]),
    ...result.tool_calls.map(({ status }) => `call ${status}`),
    ...result.warnings.map(({ code }) => code),
    ...(result.error === null ? [] : [result.error.code]),
    `source ${result.answer_source}`,
    ...run.events.flatMap((event) => (event.event === 'reset' ? [`reset ${event.data.reason}`] : [])),
    ...(result.output === null ? [] : ['output']),
  ]
}

function checkForm(result: RunResult): void {
  const parsed = parseJson(JSON.stringify(result))
  assert.ok(parsed.ok)
  const faults = new Faults()
  check(RunResult as Keywords, parsed.value, '', faults)
  assert.deepEqual(faults.list, [])
}

function checkMessages(record: RunRecord): void {
  const faults = new Faults()
  // With the next user message, as the harness's next run has it.
  checkHistory([...closedHistory(record), NEXT], faults)
  assert.deepEqual(faults.list, [])
  for (const [seq, message] of record.messages.entries()) {
    assert.equal(message.seq, seq)
    assert.equal(message.run_id, record.runId)
  }
}

const NEXT: StoredMessage = { role: 'user', content: [{ type: 'text', text: 'next' }], created_at: at }

/** Every call a model made is in the result once, in order, and its status is what the tool port saw. */
function checkCalls(run: RandomRun, record: RunRecord): void {
  assert.equal(record.batch, null)
  const made = record.messages.flatMap((message) => (message.role === 'assistant' ? callsOf(message) : []))
  assert.deepEqual(
    record.toolCalls.map(({ call_id }) => call_id),
    made.map(({ call_id }) => call_id),
  )
  const ended = new Map(record.toolCalls.map((one) => [one.call_id, one]))
  for (const [id, outcome] of run.outcomes) {
    assert.ok(outcome !== 'under way')
    const told = ended.get(id)
    assert.equal(told?.attempts, outcome.attempts)
    assert.equal(told?.status, statusOf(outcome))
  }
  const sent = record.toolCalls.filter((one) => run.outcomes.has(one.call_id as never))
  const called = run.journal.filter(({ event }) => event === 'tool_called')
  assert.deepEqual(new Set(called.map(({ call_id }) => call_id)), new Set(sent.map(({ call_id }) => call_id)))
  assert.equal(called.length, sent.length)
  assert.ok(record.toolCalls.filter(({ attempts }) => attempts > 0).length <= record.request.limits.max_tool_calls)
  for (const one of record.toolCalls) if (!sent.includes(one)) checkUnsent(one, record)
  assert.deepEqual(
    record.toolCalls.filter(({ status }) => status === 'deferred').map(({ call_id }) => call_id),
    record.pending.map(({ call_id }) => call_id),
  )
}

function statusOf(outcome: CallOutcome): ToolCallRecord['status'] {
  return outcome.kind === 'not_deferred' ? 'unknown' : outcome.kind
}

function checkUnsent(one: ToolCallRecord, record: RunRecord): void {
  assert.equal(one.attempts, 0)
  if (one.status === 'invalid' || one.status === 'refused' || one.status === 'not_sent') return
  // Only an equal read of the same step lends its result.
  const twins = record.toolCalls.filter(
    ({ tool, step, status }) => tool === one.tool && step === one.step && status === one.status,
  )
  assert.ok(one.effect === 'read' && twins.length > 1, `${one.tool} is ${one.status} and was never sent`)
}

function checkSteps(run: RandomRun, record: RunRecord): void {
  const { max_steps } = record.request.limits
  assert.equal(run.asks.length, record.steps)
  assert.ok(record.steps <= max_steps + 1 + MOST_REPAIRS, `${record.steps} steps`)
  const choices = run.asks.map(({ toolChoice }) => toolChoice)
  assert.ok(choices.filter((choice) => choice === 'auto').length <= max_steps)
  // Once tools are taken away they stay away.
  assert.ok(!choices.join(' ').includes('none auto'), choices.join(' '))
  for (const ask of run.asks)
    assert.equal(ask.tools, run.asks[0]?.tools === ask.tools ? ask.tools : record.request.tools)
}

/** A reader who only knows the offset rule and resets has the result's text before it. */
function checkStream(run: RandomRun, result: RunResult): void {
  const visible: string[] = []
  for (const { event, data } of run.events) {
    if (event === 'step') assert.equal(visible.push(''), data.step)
    else if (event === 'reset') visible[data.step - 1] = ''
    else if (event === 'delta') {
      const before = visible[data.step - 1]
      assert.equal(data.step, visible.length, 'a delta of a step that is over')
      assert.equal(data.offset, before?.length, 'an offset is where the text ends')
      visible[data.step - 1] = `${before?.slice(0, data.offset)}${data.text}`
      assert.ok(data.text.isWellFormed() && data.text !== '')
    }
  }
  // What is visible of a step was stored, or is the fixed sentence: what is dropped was reset.
  const stored = result.messages.map((message) => (message.role === 'assistant' ? textOf(message) : ''))
  for (const text of visible) {
    assert.ok(text.trim() === '' || stored.includes(text) || text === result.text, `${text} is visible and nowhere`)
  }
  // A stop between two texts leaves the one before it.
  if (result.status === 'cancelled' || result.error?.code === 'engine_shutdown') {
    assert.equal(visible.findLast((text) => text.trim() !== '') ?? '', result.text)
  } else if (result.text !== '') assert.equal(visible.at(-1), result.text)
}

function checkEnding(record: RunRecord, result: RunResult): void {
  const { status } = result
  assert.equal(result.limit_reached !== null, status === 'stopped_limit')
  assert.equal(result.error !== null, status === 'failed')
  assert.equal(result.answer_source === null, result.text === '')
  if (status === 'completed' || status === 'stopped_limit') assert.notEqual(result.text.trim(), '')
  if (status === 'awaiting_tool') assert.ok(result.pending.length > 0 && result.stop_reason === 'tool_calls')
  else assert.notEqual(result.stop_reason, 'tool_calls')
  if (status !== 'completed' || result.answer_source !== 'model') return
  const missed = result.warnings.some(({ code }) => code === 'format_not_met')
  assert.equal(missed, record.request.output.schema !== null ? result.output === null : missed)
  const last = record.messages.at(-1)
  assert.equal(last?.role, 'assistant')
  assert.equal(textOf(last as AssistantMessage), result.text)
}
