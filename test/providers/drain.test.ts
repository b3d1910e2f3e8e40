/** A cancelled attempt that is drained (SPEC §8.3): nothing more is shown, the rest is read for its usage, within bounds. */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test, type TestContext } from 'node:test'
import type { StepAnswer } from '../../src/engine/ports.ts'
import { MAX_DRAINED_BYTES } from '../../src/providers/attempt.ts'
import { at, askOf, DONE, FIN, openChain, startProvider, stream, TX, USAGE, error, data } from './chain.ts'

/** A chain at a provider that begins so and goes on as the test says; cancelled and drained as it says too. */
async function draining(
  t: TestContext,
  begin: (response: ServerResponse) => void,
  more: { firstTokenMs?: number } = {},
) {
  const responses: ServerResponse[] = []
  const provider = await startProvider(t, (response) => {
    responses.push(response)
    begin(response)
  })
  const { port, tap, gate } = openChain(t, { stallMs: 60_000, ...more })
  const run = new AbortController()
  const drain = new AbortController()
  const asked = port(askOf([at(provider)]), tap, run.signal, drain.signal)
  return { provider, responses, tap, gate, run, drain, asked }
}

function interrupted(answer: StepAnswer): Extract<StepAnswer, { kind: 'interrupted' }> {
  assert.ok(answer.kind === 'interrupted', JSON.stringify(answer))
  return answer
}

const half = (response: ServerResponse) => stream(response, TX('Half'), { end: false })

test('after a cancel the answer is had at once, and its exact usage once it has been read, unshown', async (t) => {
  const { asked, gate, provider, responses, run, tap } = await draining(t, half)
  await tap.until(({ inView }) => inView() === 'Half')
  run.abort('cancelled')
  const answer = interrupted(await asked)
  assert.equal(answer.shown, 'Half')
  assert.deepEqual([tap.attempts().length, gate.gauge().active, provider.busy()], [0, 1, 1])
  responses[0]?.end(TX(' and more that nobody sees') + FIN() + USAGE(10, 42) + DONE)
  await answer.drained
  assert.equal(tap.inView(), 'Half')
  const [attempt] = tap.attempts()
  assert.deepEqual(
    [attempt?.status, attempt?.error_code, attempt?.estimated, attempt?.input_tokens, attempt?.output_tokens],
    ['failed', 'cancelled', false, 10, 42],
  )
  assert.equal(gate.gauge().active, 0)
})

test('an answer that ends without usage is an estimate of all that came', async (t) => {
  const { asked, responses, run, tap } = await draining(t, half)
  await tap.until(({ inView }) => inView() === 'Half')
  run.abort('cancelled')
  const answer = interrupted(await asked)
  responses[0]?.end(TX('x'.repeat(396)) + FIN() + DONE)
  await answer.drained
  const [attempt] = tap.attempts()
  assert.deepEqual([attempt?.status, attempt?.error_code, attempt?.estimated], ['unknown', 'cancelled', true])
  assert.equal(attempt?.output_tokens, 100)
})

test('where the end never comes, the end of the draining cuts the connection', async (t) => {
  const { asked, drain, gate, provider, run, tap } = await draining(t, half)
  await tap.until(({ inView }) => inView() === 'Half')
  run.abort('cancelled')
  const answer = interrupted(await asked)
  drain.abort('deadline')
  await answer.drained
  await provider.until(({ busy }) => busy() === 0)
  const [attempt] = tap.attempts()
  assert.deepEqual([attempt?.status, attempt?.error_code, attempt?.estimated], ['unknown', 'cancelled', true])
  assert.equal(gate.gauge().active, 0)
})

test('no more than the bound is read', async (t) => {
  const { asked, provider, responses, run, tap } = await draining(t, half)
  await tap.until(({ inView }) => inView() === 'Half')
  run.abort('cancelled')
  const answer = interrupted(await asked)
  const line = `: ${'x'.repeat(65_536)}\n\n`
  for (let sent = 0; sent <= MAX_DRAINED_BYTES + line.length; sent += line.length) responses[0]?.write(line)
  await answer.drained
  await provider.until(({ busy }) => busy() === 0)
  assert.deepEqual([tap.attempts()[0]?.status, tap.attempts()[0]?.error_code], ['unknown', 'cancelled'])
})

test('a request that has left is drained before its headers, too', async (t) => {
  const { asked, provider, responses, run, tap } = await draining(t, () => {})
  await provider.until(({ seen }) => seen.length === 1)
  run.abort('cancelled')
  const answer = interrupted(await asked)
  assert.ok(answer.drained !== undefined)
  if (responses[0] !== undefined) stream(responses[0], TX('Unseen') + FIN() + USAGE(3, 4) + DONE)
  await answer.drained
  assert.deepEqual([tap.inView(), tap.attempts()[0]?.total_tokens], ['', 7])
})

test('a refusal, a break and a silence after the cancel are told as the cancel that they came behind', async (t) => {
  const broken = await draining(t, half)
  await broken.tap.until(({ inView }) => inView() === 'Half')
  broken.run.abort('cancelled')
  const first = interrupted(await broken.asked)
  broken.responses[0]?.destroy()
  await first.drained
  assert.deepEqual([broken.tap.attempts()[0]?.status, broken.tap.attempts()[0]?.error_code], ['unknown', 'cancelled'])

  const refused = await draining(t, () => {})
  await refused.provider.until(({ seen }) => seen.length === 1)
  refused.run.abort('cancelled')
  const second = interrupted(await refused.asked)
  if (refused.responses[0] !== undefined) error(refused.responses[0], 503)
  await second.drained
  const [attempt] = refused.tap.attempts()
  assert.deepEqual([attempt?.status, attempt?.error_code, attempt?.total_tokens], ['failed', 'cancelled', 0])
  assert.equal(refused.provider.seen.length, 1)

  const mute = await draining(t, () => {}, { firstTokenMs: 200 })
  await mute.provider.until(({ seen }) => seen.length === 1)
  mute.run.abort('cancelled')
  await interrupted(await mute.asked).drained
  assert.equal(mute.tap.attempts()[0]?.error_code, 'cancelled')
})

test('what stops a run for another reason cuts, and so does a cancel once the time for draining is over', async (t) => {
  for (const [why, over] of [
    ['deadline', false],
    ['shutdown', false],
    ['cancelled', true],
  ] as const) {
    const { asked, drain, run, tap } = await draining(t, half)
    await tap.until(({ inView }) => inView() === 'Half')
    if (over) drain.abort('deadline')
    run.abort(why)
    const answer = interrupted(await asked)
    assert.equal(answer.drained, undefined)
    assert.deepEqual([tap.attempts()[0]?.error_code, tap.attempts()[0]?.estimated], [why, true])
  }
})

test('in a pause between two attempts there is nothing to drain', async (t) => {
  const { asked, provider, run, tap } = await draining(t, (response) =>
    error(response, 429, null, { 'retry-after': '9' }),
  )
  await tap.until(({ story }) => story().includes('wait'))
  run.abort('cancelled')
  assert.equal(interrupted(await asked).drained, undefined)
  assert.equal(provider.seen.length, 1)
})

test('a call that comes while an answer is drained is no one’s', async (t) => {
  const { asked, responses, run, tap } = await draining(t, half)
  await tap.until(({ inView }) => inView() === 'Half')
  run.abort('cancelled')
  const answer = interrupted(await asked)
  const delta = { tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'read', arguments: '{}' } }] }
  responses[0]?.end(data({ choices: [{ index: 0, delta }] }) + FIN('tool_calls') + USAGE(1, 2) + DONE)
  await answer.drained
  assert.deepEqual(tap.story(), ['starting', 'text', 'ended'])
})
