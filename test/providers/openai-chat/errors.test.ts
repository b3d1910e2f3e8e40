/** Errors of chat completions servers as HTTP answers, and what repeat may help. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chatFault } from '../../../src/providers/openai-chat/errors.ts'

function repair(status: number, body: unknown): unknown {
  return chatFault(status, {}, JSON.stringify(body), 0).repair
}

test('RF-15: a server that does not know stream_options is asked again without', () => {
  assert.equal(
    repair(400, { error: { message: 'Unrecognized request argument supplied: stream_options' } }),
    'no_stream_options',
  )
  assert.equal(
    repair(422, { detail: [{ loc: ['body', 'stream_options'], msg: 'Extra inputs are not permitted' }] }),
    'no_stream_options',
  )
  assert.equal(repair(500, { error: { message: 'stream_options' } }), null)
})

test('a server that does not take its reasoning back is asked again without', () => {
  assert.equal(
    repair(400, { error: { message: "'messages.2' : property 'reasoning_content' is unsupported" } }),
    'no_reasoning',
  )
  assert.equal(
    repair(422, {
      detail: [{ loc: ['body', 'messages', 1, 'assistant', 'reasoning'], msg: 'Extra inputs are not permitted' }],
    }),
    'no_reasoning',
  )
})

test('a model that wants back reasoning which there is none of is asked again without thinking', () => {
  for (const message of [
    'The `reasoning_content` in the thinking mode must be passed back to the API.',
    'Missing `reasoning_content` field in the assistant message at message index 2',
  ]) {
    assert.equal(repair(400, { error: { message } }), 'no_thinking', message)
  }
})

test('no other refusal is repaired so', () => {
  assert.equal(repair(400, { error: { message: 'reasoning_effort is not supported' } }), null)
  assert.equal(repair(400, { error: { message: 'the reasoning of a message is too long' } }), null)
  assert.equal(repair(400, { error: { message: 'Unknown field: temperature' } }), null)
})

test('a fault carries status, words and wait', () => {
  assert.deepEqual(
    chatFault(
      429,
      { 'retry-after-ms': '1500' },
      '{"error":{"type":"requests","code":"rate_limit_exceeded","message":"slow"}}',
      0,
    ),
    {
      class: 'rate',
      detail: 'requests rate_limit_exceeded: slow',
      status: 429,
      retryAfterMs: 1500,
      repair: null,
    },
  )
})
