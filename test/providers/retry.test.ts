/** What follows from a failed attempt: the rule itself, and the chain acting on it before servers of its own. */
import assert from 'node:assert/strict'
import events from 'node:events'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { KeyGate } from '../../src/engine/ports.ts'
import { type AttemptFault, type AttemptFaultClass, failureCodes, faultOf } from '../../src/providers/attempt-fault.ts'
import { ATTEMPTS_PER_MODEL, backoffMs, decide, type Situation } from '../../src/providers/retry.ts'
import {
  askOf,
  at,
  CALL,
  data,
  DONE,
  error,
  failureOf,
  FIN,
  interruption,
  inTurn,
  openChain,
  openQuickChain,
  openTap,
  RE,
  startProvider,
  stream,
  textOf,
  TX,
  USAGE,
  whole,
} from './chain.ts'
import { plainEgress } from './plain-egress.ts'

// ------------------------------------------------------------------------------------------------ the rule

const situation: Situation = {
  tries: 1,
  hasNext: false,
  textShown: false,
  repairs: new Set(),
  leftMs: 60_000,
  untilGiveUpMs: 50_000,
  random: 0,
}

const PASSING: readonly AttemptFaultClass[] = [
  'network',
  'rate',
  'overloaded',
  'server',
  'timeout',
  'malformed',
  'interrupted',
]
const LASTING: readonly AttemptFaultClass[] = [
  'quota',
  'auth',
  'not_found',
  'bad_request',
  'content',
  'context_overflow',
  'egress_denied',
]

function fault(faultClass: AttemptFaultClass, more: Partial<AttemptFault> = {}): AttemptFault {
  return { ...faultOf(faultClass, 'no'), ...more }
}

test('RF-07, RF-14: what may pass is tried three times in all, then the next model or the end', () => {
  for (const kind of PASSING) {
    for (const tries of [1, 2]) {
      assert.equal(decide(fault(kind), { ...situation, tries, hasNext: true }).kind, 'retry', kind)
    }
    assert.equal(decide(fault(kind), { ...situation, tries: 3, hasNext: true }).kind, 'next_model')
    assert.equal(decide(fault(kind), { ...situation, tries: 3 }).kind, 'end')
  }
})

test('RF-03, RF-08: what cannot pass is never tried again', () => {
  for (const kind of LASTING) {
    assert.equal(decide(fault(kind), { ...situation, hasNext: true }).kind, 'next_model', kind)
    assert.equal(decide(fault(kind), situation).kind, 'end')
  }
  assert.equal(PASSING.length + LASTING.length, Object.keys(failureCodes).length)
})

test('once text was shown no other model is asked', () => {
  const shown = { ...situation, hasNext: true, textShown: true }
  for (const kind of LASTING) assert.equal(decide(fault(kind), shown).kind, 'end', kind)
  for (const kind of PASSING) {
    assert.equal(decide(fault(kind), shown).kind, 'retry', kind)
    assert.equal(decide(fault(kind), { ...shown, tries: 3 }).kind, 'end', kind)
  }
})

test('backoffs double from 0.5 s to 8 s, spread between half and whole', () => {
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6, 40].map((tries) => backoffMs(tries, 0)),
    [250, 500, 1000, 2000, 4000, 4000, 4000],
  )
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 60 }), fc.double({ min: 0, max: 0.999, noNaN: true }), (tries, random) => {
      const ms = backoffMs(tries, random)
      const full = Math.min(500 * 2 ** (tries - 1), 8000)
      assert.ok(Number.isInteger(ms) && ms >= full / 2 && ms <= full)
    }),
  )
})

test('RF-02: a wait the provider asks for is obeyed, and one beyond the deadline is not begun', () => {
  const asked = (retryAfterMs: number) => fault('rate', { retryAfterMs })
  assert.deepEqual(decide(asked(3_000), situation), { kind: 'retry', waitMs: 3_000 })
  assert.deepEqual(decide(asked(7_200_000), situation), { kind: 'end', tooLongMs: 7_200_000 })
  assert.deepEqual(decide(asked(7_200_000), { ...situation, hasNext: true }), { kind: 'next_model' })
  assert.deepEqual(decide(asked(0), situation), { kind: 'retry', waitMs: 250 })
  // Fits into the run but not into the step: worth waiting for only where nobody else can be asked.
  assert.deepEqual(decide(asked(55_000), { ...situation, hasNext: true }), { kind: 'next_model' })
  assert.deepEqual(decide(asked(55_000), situation), { kind: 'retry', waitMs: 55_000 })
})

test('a repair is one repeat at once, counted among the three', () => {
  const mendable = fault('bad_request', { repair: 'no_stream_options' })
  assert.deepEqual(decide(mendable, situation), { kind: 'repair', repair: 'no_stream_options' })
  assert.equal(decide(mendable, { ...situation, repairs: new Set(['no_stream_options'] as const) }).kind, 'end')
  assert.equal(decide(mendable, { ...situation, tries: ATTEMPTS_PER_MODEL }).kind, 'end')
})

// ------------------------------------------------------------------------------------------------ the chain

test('RF-07: a server that always fails gets exactly three requests', async (t) => {
  const { ask, tap } = openQuickChain(t)
  const provider = await startProvider(t, (response) => error(response, 500))
  const failure = failureOf(await ask(askOf([at(provider)])))
  assert.equal(failure.code, 'provider_unavailable')
  assert.match(failure.detail, /^openai-compatible fake-1: server \(HTTP 500\): the server says 500/)
  assert.equal(provider.seen.length, 3)
  assert.deepEqual(
    tap.attempts().map(({ attempt, error_code, http_status, status }) => [attempt, status, error_code, http_status]),
    [1, 2, 3].map((attempt) => [attempt, 'failed', 'server', 500]),
  )
  assert.deepEqual(
    tap.told.flatMap((entry) => (entry[0] === 'wait' ? [entry[2]] : [])),
    [250, 500],
  )
})

test('RF-08: an error that cannot get better gets one request, and its own code', async (t) => {
  const { ask } = openQuickChain(t)
  const codes = [
    [400, 'provider_rejected'],
    [401, 'provider_auth'],
    [402, 'provider_quota'],
    [404, 'model_not_found'],
    [413, 'context_overflow'],
    [422, 'provider_rejected'],
  ] as const
  for (const [status, code] of codes) {
    const provider = await startProvider(t, (response) => error(response, status))
    assert.equal(failureOf(await ask(askOf([at(provider)]))).code, code)
    assert.equal(provider.seen.length, 1)
  }
})

test('every class of fault has its code', () => {
  assert.deepEqual(failureCodes, {
    auth: 'provider_auth',
    quota: 'provider_quota',
    rate: 'provider_rate_limited',
    overloaded: 'provider_overloaded',
    server: 'provider_unavailable',
    network: 'provider_unavailable',
    interrupted: 'provider_unavailable',
    timeout: 'provider_timeout',
    bad_request: 'provider_rejected',
    malformed: 'provider_malformed',
    not_found: 'model_not_found',
    context_overflow: 'context_overflow',
    content: 'content_blocked',
    egress_denied: 'egress_denied',
  })
})

test('RF-02: a Retry-After of two hours fails at once and tells the wait', async (t) => {
  const { ask, tap } = openQuickChain(t)
  const provider = await startProvider(t, (response) => error(response, 429, null, { 'retry-after': '7200' }))
  const failure = failureOf(await ask(askOf([at(provider)], { deadlineAt: Date.now() + 60_000 })))
  assert.equal(failure.code, 'provider_rate_limited')
  assert.match(failure.detail, /a wait of 7200 s would end beyond the deadline/)
  assert.deepEqual(tap.story(), ['starting', 'ended'])
})

test('a Retry-After within the deadline is waited for, and announced', async (t) => {
  const { ask, tap } = openQuickChain(t)
  const provider = await startProvider(
    t,
    inTurn(
      (response) => error(response, 429, null, { 'retry-after': '3' }),
      (response) => stream(response, whole('Hi')),
    ),
  )
  const startedAt = Date.now()
  assert.equal(textOf(await ask(askOf([at(provider)]))), 'Hi')
  assert.ok(Date.now() - startedAt >= 3_000)
  assert.deepEqual(
    tap.told.find(([name]) => name === 'wait'),
    ['wait', 'retry', 3_000],
  )
})

test('RF-03: rate and overload lower the window of the key, for the time asked; a quota and the rest do not', async (t) => {
  const released: unknown[] = []
  const gate: KeyGate = {
    acquire: async () => ({ release: (outcome) => released.push(outcome) }),
  }
  const { ask } = openQuickChain(t, { gate })
  const provider = await startProvider(
    t,
    inTurn(
      (response) => error(response, 429, null, { 'retry-after': '3' }),
      (response) => error(response, 529),
      (response) => stream(response, whole('Hi')),
      (response) => error(response, 429, 'insufficient_quota'),
    ),
  )
  await ask(askOf([at(provider)]))
  assert.equal(failureOf(await ask(askOf([at(provider)]))).code, 'provider_quota')
  assert.equal(provider.seen.length, 4)
  // The second release of each slot is the one that always comes, and counts for nothing.
  assert.deepEqual(
    released.filter((_each, index) => index % 2 === 0),
    [{ kind: 'limited', pauseMs: 3_000 }, { kind: 'limited' }, { kind: 'ok' }, { kind: 'other' }],
  )
})

test('RF-09: the first socket is closed before the second request starts, and both are accounted for', async (t) => {
  const { ask, tap } = openQuickChain(t)
  const order: string[] = []
  const provider = await startProvider(t, (response, _seen, index) => {
    order.push(`request ${index}`)
    response.on('close', () => order.push(`closed ${index}`))
    if (index > 0) stream(response, whole('Hi'))
  })
  const answer = ask(askOf([at(provider)], { giveUpAt: Infinity }))
  await provider.until(({ seen }) => seen.length === 1)
  t.mock.timers.tick(120_000)
  assert.equal(textOf(await answer), 'Hi')
  assert.deepEqual(order.slice(0, 3), ['request 0', 'closed 0', 'request 1'])
  const [first, second] = tap.attempts()
  assert.deepEqual([first?.status, first?.estimated, first?.error_code], ['unknown', true, 'timeout'])
  assert.ok((first?.input_tokens ?? 0) > 0)
  assert.deepEqual([second?.status, second?.estimated], ['ok', false])
})

test('RF-04, PS-14: after text was shown the same model is tried again, and the reader is told to discard', async (t) => {
  const { ask, tap } = openQuickChain(t)
  const provider = await startProvider(
    t,
    inTurn(
      (response) => stream(response, TX('Half an ans')),
      (response) => stream(response, whole('A whole answer.')),
    ),
  )
  assert.equal(textOf(await ask(askOf([at(provider)]))), 'A whole answer.')
  assert.equal(tap.inView(), 'A whole answer.')
  assert.deepEqual(tap.story(), ['starting', 'text', 'ended', 'wait', 'starting', 'reset', 'text', 'ended'])
})

test('an answer without text discards what an earlier attempt had shown', async (t) => {
  const { ask, tap } = openQuickChain(t)
  const provider = await startProvider(
    t,
    inTurn(
      (response) => stream(response, TX('Half an ans')),
      (response) => stream(response, CALL('getOrders', '{}') + FIN('tool_calls') + DONE),
    ),
  )
  const answer = await ask(askOf([at(provider)]))
  assert.ok(answer.kind === 'answer' && answer.message.parts[0]?.type === 'tool_call')
  assert.equal(tap.inView(), '')
})

test('PS-17: text shown before the last failure stands', async (t) => {
  const { ask, tap } = openQuickChain(t)
  const provider = await startProvider(
    t,
    inTurn(
      (response) => stream(response, TX('Half an ans') + data({ error: { code: 502, message: 'gone' } })),
      (response) => error(response, 500),
    ),
  )
  const failure = failureOf(await ask(askOf([at(provider)])))
  assert.equal(failure.shown, 'Half an ans')
  assert.equal(tap.inView(), 'Half an ans')
  assert.equal(provider.seen.length, 3)
})

test('what is told as shown is what is in view, whichever attempt showed it last', async (t) => {
  const { ask, tap } = openQuickChain(t)
  const provider = await startProvider(
    t,
    inTurn(
      (response) => stream(response, TX('First half')),
      (response) => stream(response, TX('Second')),
      (response) => error(response, 500),
    ),
  )
  assert.equal(failureOf(await ask(askOf([at(provider)]))).shown, 'Second')
  assert.equal(tap.inView(), 'Second')
})

test('RF-15: a repair is one repeat at once, remembered for the rest of the run and for that model only', async (t) => {
  const { ask, port, tap } = openQuickChain(t)
  const picky = await startProvider(t, (response, { body }) =>
    body.includes('stream_options')
      ? response.writeHead(400).end('{"error":{"message":"Unrecognized request argument: stream_options"}}')
      : stream(response, TX('Hi') + FIN() + DONE),
  )
  assert.equal(textOf(await ask(askOf([at(picky)]))), 'Hi')
  assert.equal(picky.seen.length, 2)
  assert.equal(tap.told.filter(([name]) => name === 'wait').length, 0)
  assert.deepEqual(
    tap.attempts().map(({ error_code, estimated, status }) => [status, error_code, estimated]),
    [
      ['failed', 'bad_request', false],
      ['unknown', null, true],
    ],
  )
  await port(askOf([at(picky)], { step: 2 }), openTap(), new AbortController().signal)
  assert.equal(picky.seen.length, 3)
  assert.doesNotMatch(picky.seen[2]?.body ?? '', /stream_options/)

  const stubborn = await startProvider(t, (response) =>
    response.writeHead(400).end('{"error":{"message":"stream_options"}}'),
  )
  const other = openChain(t, { egress: plainEgress(t) })
  assert.equal(failureOf(await other.ask(askOf([at(stubborn)]))).code, 'provider_rejected')
  assert.equal(stubborn.seen.length, 2)
})

test('a cancel ends a backoff at once', async (t) => {
  const provider = await startProvider(
    t,
    inTurn(
      (response) => stream(response, TX('Half an ans')),
      (response) => stream(response, '', { end: false }),
    ),
  )
  const { signal, stop } = interruption()
  const { ask, tap } = openChain(t, { random: () => 0.999 })
  const answer = ask(askOf([at(provider)]), signal)
  await tap.until(({ told }) => told.some(([name]) => name === 'wait'))
  stop('cancelled')
  assert.deepEqual(await answer, { kind: 'interrupted', shown: 'Half an ans', target: 0 })
  assert.equal(provider.seen.length, 1)
})

test('CA-04: a cancelled step tells exactly the text that was shown, and its attempt is accounted for', async (t) => {
  const provider = await startProvider(t, (response) => stream(response, TX('one ') + TX('two '), { end: false }))
  const { signal, stop } = interruption()
  const { ask, tap } = openChain(t)
  const answer = ask(askOf([at(provider)]), signal)
  await tap.until(() => tap.inView() === 'one two ')
  stop('cancelled')
  assert.deepEqual(await answer, { kind: 'interrupted', shown: 'one two ', target: 0 })
  const [attempt] = tap.attempts()
  assert.deepEqual([attempt?.status, attempt?.error_code, attempt?.estimated], ['unknown', 'cancelled', true])
  assert.equal(attempt?.output_tokens, 2)
  await provider.until(({ closed }) => closed() === 1)
})

test('a step with nothing shown is given up in a wait and in an attempt, and the attempt is accounted for', async (t) => {
  const silent = await startProvider(t, () => {})
  const { ask, tap } = openChain(t)
  assert.deepEqual(await ask(askOf([at(silent)], { giveUpAt: Date.now() + 40 })), { kind: 'out_of_time' })
  assert.equal(tap.attempts()[0]?.error_code, 'out_of_time')
  const giveUpAt = Date.now() + 100
  const limited = await startProvider(t, (response) => error(response, 429, null, { 'retry-after': '5' }))
  const second = openChain(t)
  assert.deepEqual(await second.ask(askOf([at(limited)], { giveUpAt })), { kind: 'out_of_time' })
  assert.ok(Date.now() >= giveUpAt && Date.now() < giveUpAt + 4_000)
  assert.equal(second.tap.attempts()[0]?.error_code, 'rate')
})

test('at the deadline the socket is closed and the signal of the run is waited for', async (t) => {
  const provider = await startProvider(t, (response) => stream(response, TX('Half'), { end: false }))
  const { signal, stop } = interruption()
  const { ask, tap } = openChain(t)
  const deadlineAt = Date.now() + 60
  const answer = ask(askOf([at(provider)], { deadlineAt, giveUpAt: deadlineAt }), signal)
  await provider.until(({ closed }) => closed() === 1)
  assert.equal(tap.attempts()[0]?.error_code, 'deadline')
  stop('deadline')
  assert.deepEqual(await answer, { kind: 'interrupted', shown: 'Half', target: 0 })
})

test('a refusal told apart becomes the text of the answer, and is shown', async (t) => {
  const refusal = data({ choices: [{ delta: { refusal: 'I cannot help.' } }] })
  const provider = await startProvider(t, (response) => stream(response, refusal + FIN() + DONE))
  const { ask, tap } = openChain(t)
  const answer = await ask(askOf([at(provider)]))
  assert.equal(textOf(answer), 'I cannot help.')
  assert.ok(answer.kind === 'answer' && answer.message.stop === 'refusal')
  assert.equal(tap.inView(), 'I cannot help.')

  const both = await startProvider(t, (response) => stream(response, TX('No. ') + refusal + FIN() + DONE))
  const spoken = openChain(t)
  const second = await spoken.ask(askOf([at(both)]))
  assert.equal(textOf(second), spoken.tap.inView())
  assert.equal(textOf(second), 'No. ')
})

test('attempts that started end exactly once, before the next starts, and a start is waited for', async (t) => {
  const { ask, tap } = openQuickChain(t)
  const provider = await startProvider(
    t,
    inTurn(
      (response) => error(response, 503),
      (response) => stream(response, RE('hm')),
      (response) => stream(response, whole('Hi')),
    ),
  )
  await ask(askOf([at(provider)]))
  const order = tap.told.flatMap((entry) =>
    entry[0] === 'starting' ? [`+${entry[1]}`] : entry[0] === 'ended' ? [`-${entry[1].attempt}`] : [],
  )
  assert.deepEqual(order, ['+1', '-1', '+2', '-2', '+3', '-3'])
})

test('a request leaves only after its start has been committed', async (t) => {
  const provider = await startProvider(t, (response) => stream(response, whole('Hi')))
  const { promise: committed, resolve: commit } = Promise.withResolvers<void>()
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
  const tap = {
    ...openTap(),
    attemptStarting() {
      ask()
      return committed
    },
  }
  const answer = openChain(t, { tap }).ask(askOf([at(provider)]))
  await asked
  // Another run's request gets through meanwhile, so the server would have seen this one too.
  assert.equal(textOf(await openChain(t).ask(askOf([at(provider)]))), 'Hi')
  assert.equal(provider.seen.length, 1)
  commit()
  assert.equal(textOf(await answer), 'Hi')
  assert.equal(provider.seen.length, 2)
})

test('a commit that fails or a dialect that throws is an answer, and the place in the queue is given back', async (t) => {
  const provider = await startProvider(t, (response) => stream(response, whole('Hi')))
  const tap = { ...openTap(), attemptStarting: () => Promise.reject(new RangeError('secret-words')) }
  const first = openChain(t, { tap })
  const failure = failureOf(await first.ask(askOf([at(provider)])))
  assert.deepEqual([failure.code, failure.detail], ['engine_error', 'the model chain threw RangeError'])
  assert.equal(first.gate.gauge().active, 0)
  assert.equal(provider.seen.length, 0)
  const { signal, stop } = interruption()
  const lost = {
    ...openTap(),
    attemptStarting() {
      stop('lost')
      return Promise.reject(new Error('lost'))
    },
  }
  const second = openChain(t, { tap: lost })
  assert.equal((await second.ask(askOf([at(provider)]), signal)).kind, 'interrupted')
})

test('what a request leaves out is told once a run, and the key never stands in a failure', async (t) => {
  const { ask, port, tap } = openQuickChain(t)
  const provider = await startProvider(t, (response, { request }) =>
    response
      .writeHead(401)
      .end(
        JSON.stringify({ error: { message: `you sent: ${request.headers.authorization?.slice('Bearer '.length)}` } }),
      ),
  )
  const model = at(provider, { api_key: 'plain-words' })
  const wanted = { ...model, params: { ...model.params, thinking: 'high' as const } }
  const failure = failureOf(await ask(askOf([wanted])))
  assert.match(failure.detail, /you sent: \*\*\*/)
  await port(askOf([wanted], { step: 2 }), tap, new AbortController().signal)
  assert.equal(tap.told.filter(([name]) => name === 'warn').length, 1)
})

test('SD-03: three hundred steps with retries leave nothing on the signal and nothing in the gate', async (t) => {
  const { ask, gate } = openQuickChain(t)
  const provider = await startProvider(t, (response, _seen, index) =>
    index % 2 === 0 ? error(response, 503) : stream(response, whole('Hi')),
  )
  const { signal } = interruption()
  for (let step = 1; step <= 300; step += 1)
    assert.equal(textOf(await ask(askOf([at(provider)], { step }), signal)), 'Hi')
  assert.equal(events.getEventListeners(signal, 'abort').length, 0)
  assert.deepEqual({ ...gate.gauge(), idle: 0 }, { keys: 0, active: 0, waiting: 0, idle: 0 })
})

test('usage of every attempt is kept, those that failed with output among them', async (t) => {
  const { ask, tap } = openQuickChain(t)
  const provider = await startProvider(
    t,
    inTurn(
      (response) => stream(response, USAGE(1000) + TX('12345678')),
      (response) => stream(response, USAGE(1000, 50) + data({ error: { code: 500, message: 'no' } })),
      (response) => stream(response, whole('Hi')),
    ),
  )
  const pricing = { currency: 'USD', input: 3, cache_read: 0.3, cache_write: 3.75, output: 15 }
  await ask(askOf([at(provider, { pricing })]))
  assert.deepEqual(
    tap.attempts().map((each) => [each.status, each.estimated, each.input_tokens, each.output_tokens, each.cost]),
    [
      ['unknown', true, 1000, 2, 0.00303],
      ['failed', false, 1000, 50, 0.00375],
      ['ok', false, 10, 2, 0.00006],
    ],
  )
})
