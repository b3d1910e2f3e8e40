/** From entries of the journal to spans, where a run goes its odd ways. The usual ones: test/conformance/traces.test.ts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runSpanId, stepSpanId } from '../../src/contract/trace-context.ts'
import type { JournalEntry } from '../../src/engine/ports.ts'
import { createRunSpans, type RunSpansOptions } from '../../src/observe/run-spans.ts'
import type { Span } from '../../src/observe/span.ts'
import { runRequest } from '../fakes/run-request.ts'

function tracing(options: Partial<RunSpansOptions> = {}) {
  const made: Span[] = []
  const spans = createRunSpans({
    sampler: () => true,
    redact: (text) => text.replaceAll('sk-secret', '[redacted]'),
    emit: (span) => made.push(span),
    ...options,
  })
  const begin = (parts: Parameters<typeof runRequest>[0] = {}, runId = 'run_1') =>
    spans.begin({ runId, startedAtMs: 1000, request: runRequest(parts) })
  const tell = (at: number, event: string, facts: Omit<JournalEntry, 'event' | 'run_id'> = {}, runId = 'run_1') =>
    spans.note({ event, run_id: runId, ...facts }, at)
  return { begin, tell, made, names: () => made.map(({ name }) => name) }
}

const end = { status: 'completed', limit_reached: null, error_code: null, steps: 1 }

test('a step that a bug cut short is told before its run', () => {
  const { begin, tell, made, names } = tracing()
  begin()
  tell(1500, 'attempt_ended', { step: 1, attempt: 1, provider: 'kimi', model: 'k', duration_ms: 100, error_code: null })
  tell(2000, 'bug', { stack: 'Error: at a place', content: '"words"' })
  tell(2000, 'ended', { ...end, status: 'failed', error_code: 'engine_error' })
  assert.deepEqual(names(), ['chat k', 'step 1', 'invoke_agent'])
  const [chat, step, run] = made
  assert.equal(chat?.attributes['gen_ai.provider.name'], 'moonshot_ai')
  assert.deepEqual([chat.parentSpanId, step?.parentSpanId], [stepSpanId('run_1', 1), runSpanId('run_1')])
  assert.deepEqual(step?.events, [{ name: 'bug', atMs: 2000, attributes: {} }])
  assert.deepEqual([run?.failed, run?.attributes['error.type']], [true, 'engine_error'])
})

test('a step is told once, and what comes between it and the end belongs to the run', () => {
  const { begin, tell, made, names } = tracing()
  begin()
  tell(1800, 'failed', { code: 'provider_auth', detail: 'the provider says something' })
  tell(1900, 'step_ended', { step: 1 })
  tell(1950, 'cancelled')
  tell(2000, 'ended', { ...end, status: 'cancelled' })
  // Too late for both.
  tell(2100, 'step_ended', { step: 2 })
  assert.deepEqual(names(), ['step 1', 'invoke_agent'])
  const [step, run] = made
  assert.deepEqual([step?.failed, step?.attributes['error.type']], [true, 'provider_auth'])
  assert.deepEqual(step?.events, [{ name: 'failed', atMs: 1800, attributes: { 'theloop.code': 'provider_auth' } }])
  assert.deepEqual(
    run?.events.map(({ name }) => name),
    ['cancelled'],
  )
  assert.equal(run?.failed, false)
})

test('an attempt that was cancelled is no error, one that ran out of time is', () => {
  const { begin, tell, made } = tracing()
  begin()
  const attempt = { step: 1, attempt: 1, provider: 'openai', model: 'm', duration_ms: 1, estimated: true }
  tell(2000, 'attempt_ended', { ...attempt, error_code: 'cancelled' })
  tell(2000, 'attempt_ended', { ...attempt, error_code: 'deadline' })
  assert.deepEqual(
    made.map(({ failed, attributes }) => [failed, attributes['error.type'], attributes['theloop.usage_estimated']]),
    [
      [false, 'cancelled', true],
      [true, 'deadline', true],
    ],
  )
})

test('cached tokens are input, and none is told that is not there', () => {
  const { begin, tell, made } = tracing()
  begin()
  const tokens = {
    input_tokens: 10,
    cache_read_tokens: 7,
    cache_write_tokens: 3,
    output_tokens: 5,
    reasoning_tokens: 0,
  }
  tell(2000, 'attempt_ended', { step: 1, attempt: 1, provider: 'openai', model: 'm', ...tokens, error_code: null })
  const usage = Object.entries(made[0]?.attributes ?? {}).filter(([name]) => name.startsWith('gen_ai.usage'))
  assert.deepEqual(Object.fromEntries(usage), {
    'gen_ai.usage.input_tokens': 20,
    'gen_ai.usage.output_tokens': 5,
    'gen_ai.usage.cache_read.input_tokens': 7,
    'gen_ai.usage.cache_write.input_tokens': 3,
  })
})

test('a secret in the name of a model or a session is no secret of the trace', () => {
  const { begin, tell, made } = tracing()
  begin({ llm: { provider: 'scripted', model: 'sk-secret' }, meta: { session_id: 'sk-secret' } })
  tell(2000, 'ended', end)
  assert.doesNotMatch(JSON.stringify(made), /sk-secret/)
})

test('events of a step are bounded, and a clock that was set back makes no span end before it begins', () => {
  const { begin, tell, made } = tracing()
  begin()
  for (let n = 0; n < 100; n += 1) tell(1000, 'retry', { step: 1, ms: n })
  tell(900, 'step_ended', { step: 1 })
  const [step] = made
  assert.deepEqual([step?.events.length, step?.droppedEvents], [64, 36])
  assert.deepEqual([step?.startMs, step?.endMs], [900, 900])
})

test('of a run that is not sampled, or that nobody has begun, nothing is told', () => {
  const { begin, tell, made } = tracing({ sampler: () => false })
  begin()
  tell(2000, 'step_ended', { step: 1 })
  tell(2000, 'ended', end)
  tell(2000, 'ended', end, 'run_2')
  assert.deepEqual(made, [])
})
