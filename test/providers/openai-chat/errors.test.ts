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

test('a server that knows the bound of the output by its other name is asked again with that', () => {
  const message =
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
  assert.equal(
    repair(400, { error: { message, param: 'max_tokens', code: 'unsupported_parameter' } }),
    'other_max_tokens',
  )
  assert.equal(
    repair(400, { error: { message: 'max_completion_tokens is unknown, use max_tokens' } }),
    'other_max_tokens',
  )
  assert.equal(repair(400, { error: { message: 'max_tokens: must be at most 4096' } }), 'drop_max_output_tokens')
})

test('no other refusal is repaired so', () => {
  assert.equal(repair(400, { error: { message: 'reasoning_effort is not supported' } }), null)
  assert.equal(repair(400, { error: { message: 'the reasoning of a message is too long' } }), null)
})

test('a request is repeated without the one param that the refusal names', () => {
  for (const [message, expected] of [
    ["Unsupported parameter: 'max_tokens' is not supported with this model.", 'drop_max_output_tokens'],
    ["'max_tokens' or 'max_completion_tokens' is too large: 9000.", 'drop_max_output_tokens'],
    ['Unknown field: temperature', 'drop_temperature'],
    ['invalid params, top_p must be in (0, 1] (2013)', 'drop_top_p'],
    ["Unsupported parameter: 'stop' is not supported with this model.", 'drop_stop'],
    ["Unrecognized request argument supplied: 'seed'", 'drop_seed'],
    ['Extra inputs are not permitted: body.parallel_tool_calls', 'drop_parallel_tool_calls'],
    ['please stop, this is not allowed', null],
    ['temperature', null],
  ] as const) {
    assert.equal(repair(400, { error: { message } }), expected, message)
    assert.equal(repair(500, { error: { message } }), null, message)
  }
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
