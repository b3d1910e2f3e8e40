/** Where requests go. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endpoint } from '../../src/providers/endpoint.ts'

test('RF-16: a path is added to a base URL without doubling what both name', () => {
  assert.equal(endpoint('https://h/coding', '/v1/messages'), 'https://h/coding/v1/messages')
  assert.equal(endpoint('https://h/v1', '/v1/messages'), 'https://h/v1/messages')
  assert.equal(endpoint('https://h/v1/messages', '/v1/messages'), 'https://h/v1/messages')
  assert.equal(endpoint('https://h/v1', '/chat/completions'), 'https://h/v1/chat/completions')
  assert.equal(endpoint('https://h/chat', '/chat/completions'), 'https://h/chat/chat/completions')
})
