/** Headers on their way out and in. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { headerProblem, incomingHeaders, outgoingHeaders } from '../../src/egress/headers.ts'

const refusedHeaders: [headers: Record<string, string>, names: RegExp][] = [
  [{ Authorization: 'Bearer ключ' }, /Authorization/],
  [{ 'X-A': 'SECRET\r\nX-Evil: 1' }, /X-A/],
  [{ 'X-A': 'SECRET\nX-Evil: 1' }, /X-A/],
  [{ 'X-A': 'SECRET\rX-Evil: 1' }, /X-A/],
  [{ 'X-A': 'SECRET\0' }, /X-A/],
  [{ 'X-A': 'SECRET\x7f' }, /X-A/],
  [{ 'X-A': 'SECRET\u2028' }, /X-A/],
  [{ 'X-A': 'SECRET🙂' }, /X-A/],
  [{ 'X-SECRET: 1\r\nX-Evil': 'v' }, /a name that HTTP does not allow/],
  [{ '': 'v' }, /a name that HTTP does not allow/],
  [{ 'X A': 'v' }, /a name that HTTP does not allow/],
  [{ 'X-Ключ': 'v' }, /a name that HTTP does not allow/],
  [{ 'X-B': 'ok', Host: 'evil' }, /Host/],
  [{ connection: 'close' }, /connection/],
  [{ 'Transfer-Encoding': 'chunked' }, /Transfer-Encoding/],
  [{ upgrade: 'websocket' }, /upgrade/],
  [{ 'Proxy-Authorization': 'Basic SECRET' }, /Proxy-Authorization/],
]

for (const [headers, names] of refusedHeaders) {
  test(`TH-10: ${JSON.stringify(headers)} is refused by name, without its value`, () => {
    const problem = headerProblem(headers) ?? ''
    assert.match(problem, names)
    assert.doesNotMatch(problem, /SECRET|Evil|evil|ключ/)
  })
}

test('ordinary headers pass, latin-1 and tabs in values included', () => {
  assert.equal(headerProblem({ Authorization: 'Bearer a.b-c', 'x-a': 'caf\xe9\ttwo', 'X-Empty': '' }), null)
  assert.equal(headerProblem({}), null)
})

test('an answer is asked for unencoded unless the caller asks otherwise', () => {
  assert.deepEqual(outgoingHeaders({ 'X-A': '1' }), { 'X-A': '1', 'accept-encoding': 'identity' })
  assert.deepEqual(outgoingHeaders({ 'Accept-Encoding': 'gzip' }), { 'Accept-Encoding': 'gzip' })
})

test('headers that came several times are joined, and no name of Object is special', () => {
  const received = JSON.parse('{"set-cookie":["a=1","b=2"],"X-One":"1","__proto__":"p","constructor":"c"}') as Record<
    string,
    string | string[]
  >
  assert.deepEqual(Object.entries(incomingHeaders(received)), [
    ['set-cookie', 'a=1, b=2'],
    ['x-one', '1'],
    ['__proto__', 'p'],
    ['constructor', 'c'],
  ])
})
