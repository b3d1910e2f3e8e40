/** POST /validate over HTTP: who may ask, which bodies are none, and that every other one is answered 200. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check, Faults } from '../../src/contract/check.ts'
import type { Json } from '../../src/contract/json.ts'
import type { Keywords } from '../../src/contract/schema.ts'
import { Validation } from '../../src/contract/validation.ts'
import { call, errorOf, JSON_HEADERS, post, startServer } from './start-server.ts'

test('a JSON object is carried in and the verdict carried out, faults or none', async (t) => {
  const { bodies, flags, port } = await startServer(t)
  flags.validation = { ...flags.validation, valid: false, faults: [{ path: 'llm', message: 'is required' }] }
  const answer = await post(port, '/validate', { contract_version: '1', show_request: true })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
  assert.deepEqual(JSON.parse(answer.text), flags.validation)
  assert.deepEqual(bodies, [{ contract_version: '1', show_request: true }])
  const faults = new Faults()
  check(Validation as unknown as Keywords, JSON.parse(answer.text) as Json, '', faults)
  assert.deepEqual(faults.list, [])
})

test('what is no JSON object is refused, and nobody is asked', async (t) => {
  const { bodies, port } = await startServer(t)
  for (const body of ['[]', '1', 'null', '"x"', '{', '']) {
    const answer = await post(port, '/validate', body)
    assert.equal(answer.status, 400, body)
    assert.equal(errorOf(answer).code, 'invalid_request')
  }
  const plain = await post(port, '/validate', '{}', { ...JSON_HEADERS, 'content-type': 'text/plain' })
  assert.equal(plain.status, 415)
  assert.deepEqual(bodies, [])
})

test('the limits of a body are those of a run', async (t) => {
  const { port } = await startServer(t, { maxBodyBytes: 100 })
  const answer = await post(port, '/validate', { system: 'x'.repeat(100) })
  assert.deepEqual([answer.status, errorOf(answer).code], [413, 'too_large'])
})

test('only a holder of an engine token may ask, also while the engine drains', async (t) => {
  const { flags, port } = await startServer(t)
  const stranger = await post(port, '/validate', {}, { 'content-type': 'application/json' })
  assert.deepEqual([stranger.status, errorOf(stranger).code], [401, 'unauthorized'])
  const other = await call(port, { path: '/validate', headers: JSON_HEADERS })
  assert.deepEqual([other.status, other.headers['allow']], [405, 'POST, OPTIONS'])
  flags.draining = true
  assert.equal((await post(port, '/validate', {})).status, 200)
})
