import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { startCallbackReceiver } from '../../../examples/demo/callback-receiver.ts'
import { createConversation } from '../../../examples/demo/conversation.ts'
import { envelope, headersOf } from '../../../src/delivery/envelope.ts'
import { exampleResult, RUN_ID } from './example-result.ts'

const SECRET = 'example-callback-secret'

async function receiver(t: TestContext) {
  const conversation = createConversation()
  const started = await startCallbackReceiver({ secret: SECRET, store: (result) => conversation.storeResult(result) })
  t.after(() => started.close())
  return { ...started, conversation }
}

/** As the engine sends it. */
async function send(url: string, secret: string): Promise<number> {
  const letter = envelope(RUN_ID, { url, headers: {} }, JSON.stringify(exampleResult()))
  const headers = headersOf(letter, [secret], Date.now())
  const response = await fetch(url, { method: 'POST', headers, body: Buffer.from(letter.body) })
  await response.arrayBuffer()
  return response.status
}

test('a genuine result is stored before it is answered 200, and handed to who waits for it', async (t) => {
  const { callbackUrl, delivered, conversation } = await receiver(t)
  const waited = delivered(RUN_ID, 10_000)
  assert.equal(await send(callbackUrl, SECRET), 200)
  assert.equal(conversation.history().length, 2)
  const { result, webhookId, stored } = await waited
  assert.deepEqual({ text: result.text, webhookId, stored }, { text: 'Two', webhookId: RUN_ID, stored: 2 })
})

test('a result that comes again is answered 200 and changes nothing, also for who asks late', async (t) => {
  const { callbackUrl, delivered, conversation } = await receiver(t)
  assert.deepEqual([await send(callbackUrl, SECRET), await send(callbackUrl, SECRET)], [200, 200])
  assert.equal(conversation.history().length, 2)
  assert.equal((await delivered(RUN_ID, 1)).stored, 2)
})

test('a forged result is answered 401, not stored, and nobody hears of it', async (t) => {
  const { callbackUrl, delivered, conversation } = await receiver(t)
  assert.equal(await send(callbackUrl, 'another-secret'), 401)
  assert.equal(conversation.history().length, 0)
  await assert.rejects(delivered(RUN_ID, 1), /no callback came for run_/)
})

test('a result that could not be stored is answered 500, so that the engine sends it again', async (t) => {
  const failing = await startCallbackReceiver({
    secret: SECRET,
    store: () => {
      throw new Error('the database is away')
    },
  })
  t.after(() => failing.close())
  assert.equal(await send(failing.callbackUrl, SECRET), 500)
})
