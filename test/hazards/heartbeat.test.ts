/**
 * PS-23: a provider that only beats: comments, pings, empty events. A beat keeps a connection alive that has begun to answer, and
 * is no answer itself: the first token is waited for no longer, nor is the end of an answer, and the run's own time holds.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LATE_MS } from '../../src/providers/attempt-deadlines.ts'
import { builtVendors } from '../fakes/vendors/built.ts'
import { Conversation } from '../fakes/vendors/conversation.ts'
import { everyVendor } from '../fakes/vendors/every-vendor.ts'
import { goesOn } from '../fakes/vendors/next-run.ts'
import type { VendorAnswer } from '../fakes/vendors/vendor-answer.ts'
import { sharedWorld } from '../fakes/vendors/vendor-world.ts'

const STALL_MS = 500
const world = sharedWorld({ FIRST_TOKEN_MS: '700', STALL_MS: String(STALL_MS) })

/** Beats until the other side goes. */
function beat(answer: VendorAnswer, empty?: string): void {
  const timer = setInterval(() => {
    if (answer.gone) return clearInterval(timer)
    answer.heartbeat()
    answer.raw('\n')
    if (empty !== undefined) answer.event(empty)
  }, 40)
}

const CHAT = builtVendors.filter(({ path }) => path.endsWith('/chat/completions'))
const EMPTY_CHUNK = '{"choices":[{"index":0,"delta":{}}]}'

test('beats before the first token do not hold the attempt, and the next one answers', async () => {
  await everyVendor(async ({ path, provider }) => {
    const conversation = new Conversation(await world.open())
    conversation.user('Where is order 77?')
    const ran = await conversation.run(provider, [
      (answer) => beat(answer, path.endsWith('/chat/completions') ? EMPTY_CHUNK : undefined),
      { text: 'It is shipped.' },
    ])
    assert.deepEqual(ran.faults, [])
    assert.deepEqual([ran.result.status, ran.result.text], ['completed', 'It is shipped.'])
    assert.deepEqual(
      ran.result.usage.attempts.map(({ error_code: code }) => code),
      ['timeout', null],
    )
    assert.equal(await ran.received[0]?.closed, 'cut')
    await goesOn(conversation, provider)
  })
})

test('beats behind a text keep the connection, until the time of the run is over', async () => {
  await everyVendor(async ({ provider }) => {
    const conversation = new Conversation(await world.open())
    conversation.user('Where is order 77?')
    const ran = await conversation.run(
      provider,
      [
        (answer) => {
          answer.text('Half an ans')
          beat(answer)
        },
      ],
      { limits: { timeout_ms: 4 * STALL_MS } },
    )
    const { result } = ran
    assert.deepEqual([result.status, result.limit_reached], ['stopped_limit', 'timeout_ms'])
    assert.deepEqual([result.text, result.stop_reason], ['Half an ans', 'timeout'])
    assert.equal(result.usage.attempts.length, 1, 'the connection did not count as dead')
    assert.equal(await ran.received[0]?.closed, 'cut')
    await goesOn(conversation, provider)
  })
})

test('beats behind a finish word do not hold a whole answer', async () => {
  await everyVendor(async ({ provider }) => {
    const conversation = new Conversation(await world.open())
    conversation.user('Where is order 77?')
    const ran = await conversation.run(provider, [
      (answer) => {
        answer.text('It is shipped.')
        answer.finish({ end: false })
        beat(answer, EMPTY_CHUNK)
      },
    ])
    assert.deepEqual(ran.faults, [])
    assert.deepEqual([ran.result.status, ran.result.text], ['completed', 'It is shipped.'])
    assert.deepEqual(
      ran.result.usage.attempts.map(({ error_code: code, status }) => [status, code]),
      [['ok', null]],
    )
    assert.equal(await ran.received[0]?.closed, 'cut')
    await goesOn(conversation, provider)
  }, CHAT)
})

test('PS-13: an answer ends at its end mark, whatever its connection does', async () => {
  await everyVendor(async ({ provider }) => {
    const conversation = new Conversation(await world.open())
    conversation.user('Where is order 77?')
    const ran = await conversation.run(provider, [
      (answer) => {
        answer.text('It is shipped.')
        answer.finish({ end: 'held' })
        beat(answer, '{"error":{"message":"too late","code":500}}')
      },
    ])
    assert.deepEqual(ran.faults, [])
    assert.deepEqual([ran.result.status, ran.result.text], ['completed', 'It is shipped.'])
    const [attempt, ...others] = ran.result.usage.attempts
    assert.deepEqual([attempt?.status, others], ['ok', []])
    assert.ok((attempt?.duration_ms ?? 0) < LATE_MS, 'nothing is waited for')
    assert.equal(await ran.received[0]?.closed, 'cut')
    await goesOn(conversation, provider)
  })
})

test('the engine and the fake vendors end with nothing under way', async () => {
  const { live } = await world.open()
  for (const { provider } of builtVendors) await live(provider)?.quiet()
  await world.close()
})
