/** The Responses API in a model chain, before servers of its own: the real gate, the real retries, real sockets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ServerResponse } from 'node:http'
import type { StoredMessage } from '../../../src/contract/message.ts'
import {
  askOf,
  at,
  data,
  failureOf,
  inTurn,
  openChain,
  openQuickChain,
  startProvider,
  stream,
  textOf,
  type Provider,
} from '../chain.ts'
import { user } from '../dialect-call.ts'

const WORDS = { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'Hi' }
const END = {
  type: 'response.completed',
  response: { id: 'resp_1', status: 'completed', output: [], usage: { input_tokens: 10, output_tokens: 2 } },
}
const WHOLE = data(WORDS) + data(END)

const openai = (provider: Provider) =>
  at(provider, { provider: 'openai', model: 'gpt-6.2-sol', api_key: 'sk-test-key' })

function says(text: string) {
  return (response: ServerResponse) => stream(response, text)
}

function refuses(status: number, error: object) {
  return (response: ServerResponse) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error }))
  }
}

const MESSAGES: StoredMessage[] = [
  user('a'),
  {
    role: 'assistant',
    content: [
      {
        type: 'reasoning',
        text: '',
        provider_data: { family: 'openai', item: { type: 'reasoning', summary: [], encrypted_content: 'gOld' } },
      },
      { type: 'text', text: 'b' },
    ],
    provider: 'openai',
    model: 'gpt-6.2-sol',
  },
  user('c'),
]

test('HI-18: reasoning that cannot be read there is left out in one repeat, which is told and remembered', async (t) => {
  const provider = await startProvider(
    t,
    inTurn(refuses(400, { code: 'invalid_encrypted_content', message: 'x' }), says(WHOLE)),
  )
  const { ask, tap } = openChain(t)
  const asked = askOf([openai(provider)], { messages: MESSAGES })
  assert.equal(textOf(await ask(asked)), 'Hi')
  assert.equal(textOf(await ask({ ...asked, step: 2 })), 'Hi')
  assert.deepEqual(
    provider.seen.map(({ body, request }) => [request.url, body.includes('gOld')]),
    [
      ['/v1/responses', true],
      ['/v1/responses', false],
      ['/v1/responses', false],
    ],
  )
  assert.equal(tap.told.filter(([name, said]) => name === 'warn' && /reasoning was left out/.test(said)).length, 1)
  assert.deepEqual(
    tap.attempts().map(({ status, error_code, total_tokens }) => [status, error_code, total_tokens]),
    [
      ['failed', 'bad_request', 0],
      ['ok', null, 12],
      ['ok', null, 12],
    ],
  )
})

test('RF-03, RF-05: no money, told inside a 200 stream before the first word, sends the step to the next model', async (t) => {
  const error = { type: 'insufficient_quota', code: 'insufficient_quota', message: 'no money' }
  const poor = await startProvider(
    t,
    says(data({ type: 'response.created', response: { id: 'resp_1' } }) + data({ type: 'error', error })),
  )
  const rich = await startProvider(t, says(WHOLE))
  const { ask, tap } = openChain(t)
  assert.equal(textOf(await ask(askOf([openai(poor), openai(rich)]))), 'Hi')
  assert.equal(poor.seen.length, 1)
  assert.deepEqual(
    tap.attempts().map(({ status, error_code }) => [status, error_code]),
    [
      ['failed', 'quota'],
      ['ok', null],
    ],
  )
})

test('a stream that ends without its end is asked for again, and what was shown is void', async (t) => {
  const provider = await startProvider(t, inTurn(says(data(WORDS)), says(WHOLE)))
  const { ask, tap } = openQuickChain(t)
  assert.equal(textOf(await ask(askOf([openai(provider)]))), 'Hi')
  assert.deepEqual(tap.story().slice(0, 4), ['starting', 'text', 'ended', 'wait'])
  assert.deepEqual([tap.inView(), tap.attempts()[0]?.error_code], ['Hi', 'interrupted'])
})

test('RF-08: a request that is too large for the limit is not sent again', async (t) => {
  const provider = await startProvider(
    t,
    refuses(429, { code: 'rate_limit_exceeded', message: 'Request too large for gpt-6.2-sol: Limit 1, Requested 2' }),
  )
  const { ask } = openChain(t)
  assert.equal(failureOf(await ask(askOf([openai(provider)]))).code, 'context_overflow')
  assert.equal(provider.seen.length, 1)
})
