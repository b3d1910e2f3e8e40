/**
 * HI-11, HI-12: calls whose ids are missing, empty, one and the same, or come again on every turn. Each call is made once, has its
 * own result, and goes back under an id that is unique in its request.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../src/contract/json.ts'
import { builtVendors } from '../fakes/vendors/built.ts'
import { Conversation, type Ran } from '../fakes/vendors/conversation.ts'
import { everyVendor } from '../fakes/vendors/every-vendor.ts'
import { goesOn } from '../fakes/vendors/next-run.ts'
import type { Play } from '../fakes/vendors/turn.ts'
import { sharedWorld } from '../fakes/vendors/vendor-world.ts'

const world = sharedWorld()

const vendors = builtVendors.filter(({ hasCallIds }) => hasCallIds)

const ORDER = { id: '77' }
const CLIENT = { name: 'Ann' }

/** @param ids null: the call has none */
const asks =
  (...ids: readonly [string | null, string | null]): Play =>
  (answer) => {
    answer.call('find_order', ORDER, ids[0])
    answer.call('find_client', CLIENT, ids[1])
    answer.finish()
  }

function assertMade(
  { faults, result }: Ran,
  made: readonly [order: readonly JsonObject[], client: readonly JsonObject[]],
) {
  assert.deepEqual(faults, [])
  assert.deepEqual([result.status, result.text], ['completed', 'Shipped to Ann.'])
  const ids = result.tool_calls.map(({ call_id: id }) => id)
  assert.equal(new Set(ids).size, ids.length, 'our own ids are unique')
  assert.deepEqual(made, [[ORDER], [CLIENT]])
  const results = result.messages.flatMap((message) =>
    message.role === 'tool' ? [[message.tool, message.call_id]] : [],
  )
  assert.deepEqual(
    results,
    result.tool_calls.map(({ call_id: id, tool }) => [tool, id]),
    'each call has its own result',
  )
}

const kinds: Readonly<Record<string, readonly [string | null, string | null]>> = {
  'one id for both': ['x1', 'x1'],
  'no id for either': [null, null],
  'no id for the second': ['x2', null],
  'an empty id': ['', ''],
  'an id of 300 characters': ['x'.repeat(300), 'y'.repeat(300)],
  'an id of odd characters': ['call "1" ü\n', 'functions.find_client:0'],
}

for (const [name, ids] of Object.entries(kinds)) {
  test(`two calls with ${name} are two calls`, async () => {
    await everyVendor(async ({ provider }) => {
      const conversation = new Conversation(await world.open())
      conversation.user('Where is order 77, and who is Ann?')
      const ran = await conversation.run(provider, [asks(...ids), { text: 'Shipped to Ann.' }])
      const { tools } = await world.open()
      const { session } = conversation
      assertMade(ran, [tools.calls('find_order', session), tools.calls('find_client', session)])
      await goesOn(conversation, provider)
    }, vendors)
  })
}

test('one id on every turn is a new call on every turn', async () => {
  await everyVendor(async ({ provider }) => {
    const conversation = new Conversation(await world.open())
    for (const turn of [1, 2, 3]) {
      conversation.user(`Question ${turn}?`)
      const steps = [1, 2].map((step): Play => (answer) => {
        answer.call('find_order', { id: `${turn}.${step}` }, 'call_0')
        answer.finish()
      })
      const text = `Answer ${turn} of ${provider}.`
      const { faults, result } = await conversation.run(provider, [...steps, { text }])
      assert.deepEqual(faults, [])
      assert.deepEqual([result.status, result.text], ['completed', text])
    }
    assert.deepEqual(
      (await world.open()).tools.calls('find_order', conversation.session).map(({ id }) => id),
      ['1.1', '1.2', '2.1', '2.2', '3.1', '3.2'],
    )
    await goesOn(conversation, provider)
    for (const other of builtVendors) await goesOn(conversation, other.provider)
  }, vendors)
})

test('the engine and the fake vendors end with nothing under way', async () => {
  const { live } = await world.open()
  for (const { provider } of builtVendors) await live(provider)?.quiet()
  await world.close()
})
