/** GET /providers: who may ask, and that the answer is the table and fits the schema that is published of it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check, Faults } from '../../src/contract/check.ts'
import type { Json } from '../../src/contract/json.ts'
import { ProviderList } from '../../src/contract/provider-list.ts'
import type { Keywords } from '../../src/contract/schema.ts'
import { builtIn } from '../../src/providers/built-in.ts'
import { providerList } from '../../src/providers/provider-list.ts'
import { call, ENGINE, errorOf, RUN_TOKEN, startServer } from './start-server.ts'

test('the engine token gets the table, and nobody else does', async (t) => {
  const { port } = await startServer(t, { providers: providerList(builtIn) })
  const answer = await call(port, { path: '/providers', headers: ENGINE })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
  assert.deepEqual(JSON.parse(answer.text), JSON.parse(JSON.stringify(providerList(builtIn))))
  for (const headers of [{}, { authorization: 'Bearer wrong-token' }]) {
    const refused = await call(port, { path: '/providers', headers })
    assert.deepEqual([refused.status, errorOf(refused).code], [401, 'unauthorized'])
  }
  assert.equal((await call(port, { path: `/providers?token=${RUN_TOKEN}` })).status, 401)
  const posted = await call(port, { method: 'POST', path: '/providers', headers: ENGINE })
  assert.deepEqual([posted.status, posted.headers.allow], [405, 'GET, HEAD, OPTIONS'])
})

test('what is told of every provider fits the schema that the OpenAPI document has of it', () => {
  const faults = new Faults()
  const list = JSON.parse(JSON.stringify(providerList(builtIn))) as Json
  check(ProviderList as unknown as Keywords, list, '', faults)
  assert.deepEqual(faults.list, [])
})
