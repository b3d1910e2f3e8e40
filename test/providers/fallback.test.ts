/** The chain of models: when the next one is asked, with what of its own, and what of the first is left. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import { test } from 'node:test'
import {
  askOf,
  at,
  data,
  error,
  failureOf,
  inTurn,
  openChain,
  openQuickChain,
  RE,
  startProvider,
  stream,
  target,
  textOf,
  TX,
  whole,
} from './chain.ts'

test('RF-16: each model goes to its own address with its own key and parameters', async (t) => {
  const { ask, tap } = openChain(t)
  const first = await startProvider(t, (response) => error(response, 404))
  const second = await startProvider(t, (response) => stream(response, whole('B')))
  const one = at(first, { api_key: 'sk-A', model: 'a' })
  const two = { ...at(second, { api_key: 'sk-B', model: 'b' }), base_url: `http://127.0.0.1:${second.port}/coding/` }
  const answer = await ask(
    askOf([{ ...one, params: { ...one.params, extra: { mark_of_a: 1 } } }, two], { giveUpAt: Infinity }),
  )
  assert.equal(textOf(answer), 'B')
  assert.ok(answer.kind === 'answer' && answer.message.target === 1)
  const [request] = second.seen
  assert.equal(request?.request.url, '/coding/chat/completions')
  assert.equal(request?.request.headers.authorization, 'Bearer sk-B')
  assert.doesNotMatch(request?.body ?? '', /mark_of_a/)
  assert.deepEqual(
    tap.attempts().map(({ attempt, model, status }) => [attempt, model, status]),
    [
      [1, 'a', 'failed'],
      [2, 'b', 'ok'],
    ],
  )
})

test('attempts are counted over all models of the step', async (t) => {
  const { ask, tap } = openQuickChain(t)
  const first = await startProvider(t, (response) => error(response, 529))
  const second = await startProvider(t, (response) => error(response, 500))
  const third = await startProvider(t, (response) => stream(response, whole('C')))
  assert.equal(textOf(await ask(askOf([at(first), at(second), at(third)]))), 'C')
  assert.deepEqual(
    tap.told.flatMap((entry) => (entry[0] === 'starting' ? [[entry[1], entry[2]]] : [])),
    [
      [1, 0],
      [2, 0],
      [3, 0],
      [4, 1],
      [5, 1],
      [6, 1],
      [7, 2],
    ],
  )
})

test('the chain begins with the model that answered last, and never goes back', async (t) => {
  const { ask } = openQuickChain(t)
  const first = await startProvider(t, (response) => stream(response, whole('A')))
  const second = await startProvider(t, (response) => error(response, 500))
  const failure = failureOf(await ask(askOf([at(first), at(second)], { firstTarget: 1 })))
  assert.equal(failure.code, 'provider_unavailable')
  assert.equal(first.seen.length, 0)
})

test('after text was shown no fallback answers, and the text stands', async (t) => {
  const { ask, tap } = openQuickChain(t)
  const first = await startProvider(
    t,
    inTurn(
      (response) => stream(response, TX('Half')),
      (response) => error(response, 401),
    ),
  )
  const second = await startProvider(t, (response) => stream(response, whole('B')))
  const failure = failureOf(await ask(askOf([at(first), at(second)])))
  assert.deepEqual([failure.code, failure.shown], ['provider_auth', 'Half'])
  assert.equal(second.seen.length, 0)
  assert.equal(tap.inView(), 'Half')
})

test('RF-05: reasoning alone does not keep a fallback away, and is discarded', async (t) => {
  const { ask, tap } = openQuickChain(t)
  const first = await startProvider(t, (response) => stream(response, data({ choices: [{ delta: {} }] }) + RE('hm, A')))
  const second = await startProvider(t, (response) => stream(response, RE('hm, B') + whole('B')))
  const answer = await ask(askOf([at(first), at(second)]))
  assert.equal(textOf(answer), 'B')
  const told = tap.told.flatMap((entry) => (entry[0] === 'reasoning' || entry[0] === 'reset' ? [entry[1]] : []))
  assert.deepEqual(told, ['hm, A', 'retry', 'hm, A', 'retry', 'hm, A', 'retry', 'hm, B'])
  assert.ok(answer.kind === 'answer')
  assert.deepEqual(
    answer.message.parts.map((part) => part.type !== 'tool_call' && part.text),
    ['hm, B', 'B'],
  )
  assert.equal(tap.attempts().length, 4)
})

test('RF-13: the failure told is the last real one', async (t) => {
  const { ask } = openQuickChain(t)
  const first = await startProvider(t, (response) => error(response, 500))
  const second = await startProvider(t, (response) => error(response, 400))
  assert.equal(failureOf(await ask(askOf([at(first), at(second)]))).code, 'provider_rejected')
})

test('RF-02: a wait beyond the deadline sends the step to the next model at once', async (t) => {
  const { ask, tap } = openQuickChain(t)
  const first = await startProvider(t, (response) => error(response, 429, null, { 'retry-after': '7200' }))
  const second = await startProvider(t, (response) => stream(response, whole('B')))
  const deadlineAt = Date.now() + 60_000
  assert.equal(textOf(await ask(askOf([at(first), at(second)], { deadlineAt, giveUpAt: deadlineAt }))), 'B')
  assert.equal(tap.told.filter(([name]) => name === 'wait').length, 0)
})

test('PS-21: a page instead of an answer sends the step to the next model, the page is told to nobody', async (t) => {
  const { ask, tap } = openQuickChain(t)
  const first = await startProvider(t, (response) =>
    stream(response, '<!doctype html><title>Sign in</title>', { type: 'text/html' }),
  )
  const second = await startProvider(t, (response) => stream(response, whole('B')))
  assert.equal(textOf(await ask(askOf([at(first), at(second)]))), 'B')
  assert.doesNotMatch(JSON.stringify(tap.told), /Sign in/)
})

test('a model that cannot be asked at all is passed over without an attempt', async (t) => {
  const { ask, tap } = openQuickChain(t)
  const second = await startProvider(t, (response) => stream(response, whole('B')))
  assert.equal(textOf(await ask(askOf([target({ provider: 'anthropic' }), at(second)]))), 'B')
  assert.equal(tap.attempts().length, 1)
  assert.equal(failureOf(await ask(askOf([target({ provider: 'anthropic' })]))).code, 'provider_auth')
  assert.equal(failureOf(await ask(askOf([target()]))).code, 'provider_rejected')
})

test('a refused address and a refused connection are their own failures, and end with the next model', async (t) => {
  const { ask, tap } = openChain(t)
  const denied = target({ base_url: 'https://elsewhere.example/v1' })
  const failure = failureOf(await ask(askOf([denied])))
  assert.equal(failure.code, 'egress_denied')
  assert.match(failure.detail, /egress to elsewhere\.example is refused: host_not_listed/)
  assert.deepEqual(
    tap
      .attempts()
      .map(({ estimated, http_status, input_tokens, status }) => [status, estimated, input_tokens, http_status]),
    [['failed', false, 0, null]],
  )
  const second = await startProvider(t, (response) => stream(response, whole('B')))
  assert.equal(textOf(await ask(askOf([denied, at(second)]))), 'B')

  const closing = net.createServer().listen(0, '127.0.0.1')
  await once(closing, 'listening')
  const { port } = closing.address() as AddressInfo
  closing.close()
  await once(closing, 'close')
  const gone = target({ base_url: `http://127.0.0.1:${port}/v1` })
  const other = openChain(t)
  assert.equal(textOf(await other.ask(askOf([gone, at(second)]))), 'B')
  assert.deepEqual(
    other.tap.attempts().map(({ error_code, status }) => [status, error_code]),
    [
      ['failed', 'network'],
      ['failed', 'network'],
      ['failed', 'network'],
      ['ok', null],
    ],
  )
})
