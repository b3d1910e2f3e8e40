/** Errors of the Messages API as HTTP answers, and what repeat may help. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anthropicFault } from '../../../src/providers/anthropic/errors.ts'

function body(message: string): string {
  return JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } })
}

function repair(message: string, status = 400): unknown {
  return anthropicFault(status, {}, body(message), 0).repair
}

test('HI-18: a thinking block that is refused can be left out', () => {
  assert.equal(
    repair(
      'messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.',
    ),
    'no_reasoning',
  )
  assert.equal(repair('messages.1.content.0.thinking.signature: Field required'), 'no_reasoning')
  assert.equal(
    repair('`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.'),
    'no_reasoning',
  )
})

test('no other refusal is repaired so', () => {
  assert.equal(repair('The `content[].thinking` in the thinking mode must be passed back to the API.'), null)
  assert.equal(
    repair('thinking is enabled but reasoning_content is missing in assistant tool call message at index 2'),
    null,
  )
  assert.equal(repair('"thinking.type.enabled" is not supported for this model.'), null)
  assert.equal(repair('signature'), null)
  assert.equal(repair('Invalid `signature` in `thinking` block', 500), null)
})

test('a rate limit carries its status, its words and its wait', () => {
  const text = JSON.stringify({ type: 'error', error: { type: 'rate_limit_error', message: 'slow' } })
  assert.deepEqual(anthropicFault(429, { 'retry-after': '7' }, text, 0), {
    class: 'rate',
    detail: 'rate_limit_error: slow',
    status: 429,
    retryAfterMs: 7000,
    repair: null,
  })
})
