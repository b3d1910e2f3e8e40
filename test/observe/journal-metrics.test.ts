/** From entries of the journal to metrics: each one counts where it should, and nothing that a request says opens a label without end. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { exactNumber } from '../../src/contract/json.ts'
import type { JournalEntry } from '../../src/engine/ports.ts'
import { createEngineMetrics, MOST_CURRENCIES, MOST_MODELS, MOST_TOOLS } from '../../src/observe/engine-metrics.ts'
import { createJournalMetrics } from '../../src/observe/journal-metrics.ts'
import { createRedactor } from '../../src/journal/redact.ts'
import { openJournal } from '../../src/parts.ts'
import type { Settings } from '../../src/settings.ts'
import { MetricsText } from '../fakes/prometheus-text.ts'

function counting() {
  const metrics = createEngineMetrics()
  const record = createJournalMetrics(metrics)
  const tell = (at: number, event: string, facts: Omit<JournalEntry, 'event' | 'run_id'> = {}, runId = 'run_1') =>
    record({ event, run_id: runId, ...facts }, at)
  return { tell, read: () => new MetricsText(metrics.registry.text()) }
}

const attempt = {
  provider: 'openai',
  model: 'gpt',
  error_code: null,
  input_tokens: 100,
  cache_read_tokens: 20,
  cache_write_tokens: 0,
  output_tokens: 30,
  reasoning_tokens: 10,
  cost: 0.25,
  currency: 'USD',
  queued_ms: 50,
  first_token_ms: 400,
  duration_ms: 1000,
}

test('the first token of a run counts from its acceptance, over queues and attempts that failed', () => {
  const { tell, read } = counting()
  tell(10_000, 'accepted')
  // Sent at 10,500, failed without a token.
  tell(11_000, 'attempt_ended', { ...attempt, error_code: 'overloaded', first_token_ms: null, duration_ms: 500 })
  // Sent at 12,000: the first token of the run came at 12,400.
  tell(13_000, 'attempt_ended', attempt)
  // A later step does not count.
  tell(20_000, 'attempt_ended', attempt)
  const text = read()
  assert.equal(text.value('theloop_run_first_token_seconds_count'), 1)
  assert.equal(text.value('theloop_run_first_token_seconds_sum'), 2.4)
  assert.equal(text.value('theloop_attempt_first_token_seconds_sum', { provider: 'openai', model: 'gpt' }), 0.8)
  assert.equal(text.value('theloop_attempts_total', { outcome: 'overloaded' }), 1)
  assert.equal(text.value('theloop_attempts_total', { outcome: 'ok' }), 2)
})

test('steps last from one border to the next', () => {
  const { tell, read } = counting()
  tell(1000, 'accepted')
  tell(3000, 'step_ended', { step: 1 })
  tell(3500, 'step_ended', { step: 2 })
  tell(3500, 'ended', { status: 'completed', limit_reached: null, error_code: null, steps: 2, duration_ms: 2500 })
  // Of a run that is over, or that another process began.
  tell(9000, 'step_ended', { step: 3 })
  const text = read()
  assert.equal(text.value('theloop_step_duration_seconds_count'), 2)
  assert.equal(text.value('theloop_step_duration_seconds_sum'), 2.5)
  assert.equal(text.value('theloop_run_duration_seconds_sum', { status: 'completed' }), 2.5)
  assert.equal(text.value('theloop_run_steps_sum'), 2)
})

test('a clock that is set while a run goes on lengthens and shortens nothing', (t) => {
  for (const setTo of ['2027-06-01T00:00:00Z', '2020-01-01T00:00:00Z']) {
    t.mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-11-30T12:00:00Z') })
    const metrics = createEngineMetrics()
    // Of the settings, those that a journal looks at.
    const settings = { logDir: null, logContent: false } as Settings
    const logger = pino({ level: 'silent' })
    const parts = { redactor: createRedactor([]), errorWebhook: null, logger, metrics, tracing: null }
    const { write } = openJournal(settings, parts)
    write({ event: 'accepted', run_id: 'run_1' })
    t.mock.timers.reset()
    t.mock.timers.enable({ apis: ['Date'], now: Date.parse(setTo) })
    write({ event: 'attempt_ended', run_id: 'run_1', ...attempt })
    write({ event: 'step_ended', run_id: 'run_1', step: 1 })
    t.mock.timers.reset()
    const text = new MetricsText(metrics.registry.text())
    const stepSeconds = text.value('theloop_step_duration_seconds_sum')
    assert.ok(stepSeconds > 0 && stepSeconds < 60, `${stepSeconds}`)
    assert.ok(text.value('theloop_run_first_token_seconds_sum') < 60)
  }
})

test('ends are told by status and by the code or the limit behind it', () => {
  const { tell, read } = counting()
  const end = { limit_reached: null, error_code: null, steps: 1, duration_ms: 1 }
  tell(1, 'ended', { ...end, status: 'failed', error_code: 'provider_auth' })
  tell(1, 'ended', { ...end, status: 'stopped_limit', limit_reached: 'max_cost' })
  tell(1, 'ended', { ...end, status: 'completed' })
  const ends = read()
    .samples('theloop_runs_ended_total')
    .map(({ labels: { status, reason }, value }) => [status, reason, value])
  assert.deepEqual(ends, [
    ['failed', 'provider_auth', 1],
    ['stopped_limit', 'max_cost', 1],
    ['completed', 'none', 1],
  ])
})

test('tokens count in one kind each, and money also where its digits are too many for a double', () => {
  const { tell, read } = counting()
  tell(1, 'attempt_ended', attempt)
  tell(2, 'attempt_ended', { ...attempt, cost: exactNumber('0.12345678901234567890') })
  tell(3, 'attempt_ended', { ...attempt, cost: null, currency: null })
  const text = read()
  assert.equal(text.value('theloop_tokens_total', { kind: 'input' }), 300)
  assert.equal(text.value('theloop_tokens_total', { kind: 'cache_read' }), 60)
  assert.equal(text.value('theloop_tokens_total', { kind: 'output' }), 90)
  assert.equal(text.value('theloop_tokens_total'), 450)
  assert.equal(text.value('theloop_reasoning_tokens_total'), 30)
  assert.ok(Math.abs(text.value('theloop_cost_total', { currency: 'USD' }) - 0.373456789) < 1e-6)
  assert.equal(text.samples('theloop_cost_total').length, 1)
})

test('models, tools and currencies beyond the bound are other', () => {
  const { tell, read } = counting()
  for (let n = 0; n < 3000; n += 1) {
    tell(n, 'attempt_ended', { ...attempt, model: `model-${n}`, currency: `C${n}` })
    tell(n, 'tool_ended', { tool: `tool_${n}`, outcome: 'ok', attempts: 1, duration_ms: 1 })
  }
  const text = read()
  const different = (name: string, label: string) => new Set(text.samples(name).map(({ labels }) => labels[label])).size
  assert.equal(different('theloop_attempts_total', 'model'), MOST_MODELS + 1)
  assert.equal(different('theloop_tool_calls_total', 'tool'), MOST_TOOLS + 1)
  assert.equal(different('theloop_cost_total', 'currency'), MOST_CURRENCIES + 1)
  assert.equal(text.value('theloop_attempts_total'), 3000)
  assert.equal(text.value('theloop_attempts_total', { model: 'other' }), 3000 - MOST_MODELS)
  assert.ok(text.families.every(({ samples }) => samples.length <= 4000))
})

test('a run that never ends costs no memory for ever, and odd entries count as none', () => {
  const { tell, read } = counting()
  for (let n = 0; n < 100_010; n += 1) tell(n, 'accepted', {}, `run_${n}`)
  tell(200_000, 'step_ended', { step: 1 }, 'run_100005')
  tell(200_000, 'step_ended', { step: 1 }, 'run_5')
  tell(1, 'attempt_ended')
  tell(1, 'tool_ended')
  tell(1, 'ended')
  const text = read()
  assert.equal(text.value('theloop_runs_started_total'), 100_010)
  assert.equal(text.value('theloop_step_duration_seconds_count'), 1)
  assert.equal(text.value('theloop_attempts_total', { provider: 'none', model: 'none', outcome: 'none' }), 1)
})
