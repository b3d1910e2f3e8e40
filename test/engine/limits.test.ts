/** Limits of steps, calls and time just below, at and just above its border (SPEC §8.3). */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { lastCallAt, planStep, reserveMs } from '../../src/engine/plan.ts'
import { openRecord } from '../../src/engine/record.ts'
import { runId } from '../../src/contract/ids.ts'
import { answer, call, calls, ok, play, say, text, type Play, type Played } from '../fakes/engine.ts'
import { at, runRequest, tool } from '../fakes/run-request.ts'

const START = Date.parse(at)
const orders = tool('getOrders')
const look = (id: number) => call('getOrders', { id })
const choices = (played: Played) => played.asks.map(({ toolChoice }) => toolChoice)
const statuses = (played: Played) => played.result.tool_calls.map(({ status }) => status)

// ------------------------------------------------------------------------------------------------- max_steps

const LOOKS = 3

for (const [maxSteps, asked, status] of [
  [0, ['none'], 'stopped_limit'],
  [1, ['auto', 'none'], 'stopped_limit'],
  [2, ['auto', 'auto', 'none'], 'stopped_limit'],
  [LOOKS, ['auto', 'auto', 'auto', 'none'], 'stopped_limit'],
  [LOOKS + 1, ['auto', 'auto', 'auto', 'auto'], 'completed'],
] as const) {
  test(`a model that looks ${LOOKS} times and then answers ends ${status} with max_steps ${maxSteps}`, async () => {
    const model = Array.from({ length: asked.length }, (_, step): Play => (ask) => {
      return ask.toolChoice === 'auto' && step < LOOKS ? calls(look(step)) : text('Here.')
    })
    const request = { tools: [orders], limits: { max_steps: maxSteps } }
    const played = await play({ request, model, tools: (order) => ok(order.args) })
    assert.deepEqual(choices(played), asked)
    assert.equal(played.result.status, status)
    assert.equal(played.result.limit_reached, status === 'completed' ? null : 'max_steps')
    assert.equal(played.orders.length, Math.min(maxSteps, LOOKS))
    assert.equal(played.journal.filter(({ event }) => event === 'limit').length, status === 'completed' ? 0 : 1)
  })
}

for (const maxSteps of [0, 1, 2]) {
  test(`with final_answer off, max_steps ${maxSteps} asks the model ${maxSteps} times and ends with the fixed sentence`, async () => {
    const model = Array.from({ length: maxSteps }, (_, step) => calls(look(step)))
    const request = { tools: [orders], limits: { max_steps: maxSteps, final_answer: false } }
    const played = await play({ request, model, tools: (order) => ok(order.args) })
    assert.equal(played.asks.length, maxSteps)
    assert.equal(played.result.limit_reached, 'max_steps')
    assert.equal(played.result.text, say('limit_no_answer'))
    assert.ok(played.journal.some(({ event, limit }) => event === 'limit' && limit === 'max_steps'))
  })
}

// -------------------------------------------------------------------------------------------- max_tool_calls

for (const [most, made, sent, asked] of [
  [0, [], [], ['none']],
  [1, [1], ['ok'], ['auto', 'none']],
  [1, [3], ['ok', 'not_sent', 'not_sent'], ['auto', 'none']],
  [2, [1, 3], ['ok', 'ok', 'not_sent', 'not_sent'], ['auto', 'auto', 'none']],
  [3, [2, 1], ['ok', 'ok', 'ok'], ['auto', 'auto', 'none']],
  [4, [2, 1], ['ok', 'ok', 'ok'], ['auto', 'auto', 'auto']],
] as const) {
  test(`max_tool_calls ${most}: steps of ${made.join(' and ') || 'no'} calls end ${sent.join(', ') || 'without one'}`, async () => {
    const steps = made.map((count, step) => calls(...Array.from({ length: count }, (_, n) => look(10 * step + n))))
    const request = { tools: [orders], limits: { max_tool_calls: most } }
    const played = await play({ request, model: [...steps, text('Here.')], tools: (order) => ok(order.args) })
    assert.deepEqual(choices(played), asked)
    assert.deepEqual(statuses(played), sent)
    assert.equal(played.orders.length, sent.filter((status) => status === 'ok').length)
    assert.equal(played.result.limit_reached, asked.at(-1) === 'none' ? 'max_tool_calls' : null)
  })
}

test('calls that are invalid, refused or share a result take nothing of max_tool_calls', async () => {
  const request = { tools: [orders], limits: { max_tool_calls: 2 } }
  const played = await play({
    request,
    model: [calls(call('nobody'), look(1), look(1), look(2), look(3)), text('Here.')],
    tools: (order) => ok(order.args),
  })
  assert.deepEqual(statuses(played), ['invalid', 'ok', 'ok', 'ok', 'not_sent'])
})

test('a call equal to one over max_tool_calls is told of the limit as well, not that the run was stopped', async () => {
  const request = { tools: [orders], limits: { max_tool_calls: 1 } }
  const played = await play({
    request,
    model: [calls(look(1), look(2), look(2)), text('Here.')],
    tools: (order) => ok(order.args),
  })
  assert.deepEqual(statuses(played), ['ok', 'not_sent', 'not_sent'])
  const errors = played.result.messages.flatMap((message) => (message.role === 'tool' ? [message.error ?? ''] : []))
  assert.deepEqual(
    errors.map((error) => /A limit of this run is reached/.test(error)),
    [false, true, true],
  )
})

// ------------------------------------------------------------------------------------------------ timeout_ms

for (const [timeoutMs, reserve] of [
  [100, 25],
  [101, 25],
  [79_999, 19_999],
  [80_000, 20_000],
  [80_004, 20_000],
  [180_000, 20_000],
] as const) {
  test(`of timeout_ms ${timeoutMs}, ${reserve} ms are kept for the final answer`, () => {
    const { limits } = runRequest({ limits: { timeout_ms: timeoutMs } })
    assert.equal(reserveMs(limits), reserve)
    assert.equal(reserveMs({ ...limits, final_answer: false }), 0)
  })
}

for (const [spent, final] of [
  [29_999, null],
  [30_000, 'timeout_ms'],
  [30_001, 'timeout_ms'],
  [40_000, 'timeout_ms'],
] as const) {
  test(`after ${spent} ms of timeout_ms 40000 the next step is ${final === null ? 'one with tools' : 'the last'}`, () => {
    const record = openRecord(ID, runRequest({ limits: { timeout_ms: 40_000 } }), [], START)
    assert.equal(lastCallAt(record), START + 30_000)
    const plan = planStep(record, START + spent)
    assert.ok(plan.kind === 'ask')
    assert.equal(plan.final, final)
    const ended = openRecord(ID, runRequest({ limits: { timeout_ms: 40_000, final_answer: false } }), [], START)
    assert.equal(planStep(ended, START + spent).kind, spent < 40_000 ? 'ask' : 'end')
  })
}

const ID = runId('01JDZZZZZZZZZZZZZZZZZZZZZZ')

for (const [spent, status] of [
  [29_999, 'ok'],
  [30_000, 'not_sent'],
] as const) {
  test(`a call asked for after ${spent} ms of timeout_ms 40000 is ${status}`, async () => {
    let now = START
    const played = await play({
      request: { tools: [orders], limits: { timeout_ms: 40_000 } },
      model: [
        () => {
          now += spent
          return calls(look(1))
        },
        text('Here.'),
      ],
      tools: () => {
        now += 1
        return ok(1)
      },
      now: () => now,
    })
    assert.deepEqual(statuses(played), [status])
    assert.equal(played.result.limit_reached, 'timeout_ms')
    assert.equal(played.result.text, 'Here.')
  })
}

for (const phase of [
  'between steps',
  'in the model',
  'in the model, with text',
  'in a tool',
  'on the final step',
] as const) {
  test(`the deadline ${phase} ends stopped_limit with what text the step has shown, and is journalled`, async () => {
    const stop = new AbortController()
    const cut =
      (shown: string): Play =>
      () => {
        stop.abort('deadline')
        return { kind: 'interrupted', shown, target: 0 }
      }
    if (phase === 'between steps') stop.abort('deadline')
    const played = await play({
      request: { tools: [orders], limits: { max_steps: phase === 'on the final step' ? 0 : 5 } },
      model: [phase === 'in a tool' ? calls(look(1)) : cut(phase === 'in the model' ? '' : 'So far')],
      tools: () => {
        stop.abort('deadline')
        return { kind: 'unknown', reason: 'cancelled', attempts: 1, durationMs: 1, resultBytes: 0 }
      },
      stop,
    })
    const shown = phase === 'in the model, with text' || phase === 'on the final step'
    assert.equal(played.result.status, 'stopped_limit')
    assert.equal(played.result.limit_reached, 'timeout_ms')
    assert.equal(played.result.stop_reason, 'timeout')
    assert.equal(played.result.text, shown ? 'So far' : say('limit_no_answer'))
    assert.equal(played.result.answer_source, shown ? 'model' : 'fallback')
    assert.ok(played.journal.some(({ event, limit }) => event === 'limit' && limit === 'timeout_ms'))
  })
}

test('a step without tools that is given up for lack of time ends the run: there is no later one', async () => {
  const request = { tools: [orders], limits: { max_steps: 0 } }
  const played = await play({ request, model: [{ kind: 'out_of_time' }] })
  assert.equal(played.result.status, 'stopped_limit')
  assert.equal(played.result.limit_reached, 'timeout_ms')
  assert.equal(played.result.text, say('limit_no_answer'))
})

test('blank text is no answer, whatever ended the run', async () => {
  const failure = { code: 'provider_unavailable', detail: 'x' } as const
  const broken = { kind: 'failed', failure, shown: ' \n', target: 0 } as const
  const behind = await play({ request: { limits: { max_steps: 0 } }, model: [broken] })
  assert.equal(behind.result.text, say('limit_no_answer'))
  const failed = await play({ model: [broken] })
  assert.deepEqual([failed.result.text, failed.result.answer_source], ['', null])
})

for (const unseen of ['\u200b\u200b', '\ufeff', ' \u2060\n', '\u200e\u00ad', '\u3164', '\u0000']) {
  test(`PS-37: ${JSON.stringify(unseen)} shows nothing, so it is an empty answer, and no text of a cut step`, async () => {
    const played = await play({ model: [text(unseen), text('Here.')] })
    assert.deepEqual([played.result.text, played.asks.length, played.result.messages.length], ['Here.', 2, 1])
    const silent = await play({ model: [text(unseen), text(unseen)] })
    assert.deepEqual([silent.result.text, silent.result.answer_source], [say('no_answer'), 'fallback'])
    const stop = new AbortController()
    const cut: Play = () => {
      stop.abort('cancelled')
      return { kind: 'interrupted', shown: unseen, target: 0 }
    }
    const beside = answer([{ type: 'text', text: 'I look.' }, look(1)], 'tool_calls')
    const cancelled = await play({ request: { tools: [orders] }, model: [beside, cut], tools: () => ok(1), stop })
    assert.equal(cancelled.result.text, 'I look.')
  })
}

test('an answer of one visible character among others is an answer', async () => {
  const played = await play({ model: [text('\u200b🙂\u200d')] })
  assert.deepEqual([played.result.text, played.result.answer_source], ['\u200b🙂\u200d', 'model'])
})

test('an empty answer that a provider called tool_calls is not told as one', async () => {
  const played = await play({ request: { limits: { max_steps: 0 } }, model: [answer([look(1)], 'tool_calls')] })
  assert.equal(played.result.stop_reason, 'end_turn')
})
