/** GET /logs: who may ask, what may be asked, and that entries are handed on as they are kept. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check, Faults } from '../../src/contract/check.ts'
import type { Keywords } from '../../src/contract/schema.ts'
import type { LogQuery } from '../../src/journal/log-query.ts'
import { Logs } from '../../src/server/answer-schemas.ts'
import { RUN_TOKEN, ENGINE, call, errorOf, startServer } from './start-server.ts'

const LINE =
  '{"id":"0mfqvd3a0-0000","at":"2026-11-30T12:00:00.000Z","event":"ended","run_id":"run_1","session_id":null,"cost":0.10000000000000000001}'

test('a query reaches the journal, and a page comes back byte for byte', async (t) => {
  const asked: LogQuery[] = []
  const { port } = await startServer(t, {
    async readLogs(query) {
      asked.push(query)
      return { lines: [LINE, LINE], cursor: '0mfqvd3a0-0000', more: true, source: 'mixed' }
    },
  })
  const query =
    'run_id=run_1&session_id=s%201&event=ended&since=2026-11-30T12:00:00Z&until=1796040000500&limit=2&cursor=0mfqvd3a0-0000~2026-11-30-0001~77'
  const answer = await call(port, { path: `/logs?${query}`, headers: ENGINE })
  assert.equal(answer.status, 200)
  assert.equal(answer.text, `{"entries":[${LINE},${LINE}],"cursor":"0mfqvd3a0-0000","more":true,"source":"mixed"}`)
  const faults = new Faults()
  check(Logs as unknown as Keywords, JSON.parse(answer.text), '', faults)
  assert.deepEqual(faults.list, [])
  await call(port, { path: '/logs', headers: ENGINE })
  assert.deepEqual(asked, [
    {
      runId: 'run_1',
      sessionId: 's 1',
      event: 'ended',
      sinceMs: Date.parse('2026-11-30T12:00:00Z'),
      untilMs: 1_796_040_000_500,
      limit: 2,
      after: { id: '0mfqvd3a0-0000', place: { file: '2026-11-30-0001', offset: 77 } },
    },
    { runId: null, sessionId: null, event: null, sinceMs: null, untilMs: null, limit: 100, after: null },
  ])
})

test('a session is found by an id as long as one may be', async (t) => {
  const { port } = await startServer(t)
  const get = (length: number) => call(port, { path: `/logs?session_id=${'s'.repeat(length)}`, headers: ENGINE })
  assert.deepEqual([(await get(500)).status, (await get(501)).status], [200, 400])
})

for (const [name, values] of Object.entries({
  limit: ['0', '-1', '1e2', '01', '1.0', '0x10', '99999', '', '%20'],
  since: ['2026-02-30T00:00:00Z', '2026-11-30', '2026-11-30T12:00:00', '-1', '1e3', 'NaN', '', '2026-11-30T24:00:00Z'],
  cursor: [
    '',
    '~',
    '0mfqvd3a0',
    '0mfqvd3a0-0000~',
    '0mfqvd3a0-0000~../../etc/passwd~0',
    '0mfqvd3a0-0000~2026-11-30-0001~-1',
  ],
  event: ['', 'Ended', 'a%00b', '__proto__%20', 'x'.repeat(51)],
  run_id: ['', 'x'.repeat(101)],
})) {
  test(`an odd ${name} is a 400 that names it`, async (t) => {
    const { port } = await startServer(t)
    for (const value of values) {
      const answer = await call(port, { path: `/logs?${name}=${value}`, headers: ENGINE })
      assert.equal(answer.status, 400, `${name}=${value}`)
      const { details = [] } = errorOf(answer)
      assert.deepEqual(
        (details as { path: string }[]).map(({ path }) => path),
        [name],
      )
    }
  })
}

test('every fault of a query is told with its parameter', async (t) => {
  const { port } = await startServer(t)
  const query =
    'run_id=&event=Ended&since=yesterday&until=2026-13-01T00:00:00Z&limit=1001&cursor=../x&colour=red&session_id=a&session_id=b'
  const answer = await call(port, { path: `/logs?${query}`, headers: ENGINE })
  assert.equal(answer.status, 400)
  const { code, details = [] } = errorOf(answer)
  assert.equal(code, 'invalid_request')
  const told = new Map((details as { path: string; message: string }[]).map(({ path, message }) => [path, message]))
  assert.deepEqual([...told.keys()].toSorted(), [
    'colour',
    'cursor',
    'event',
    'limit',
    'run_id',
    'session_id',
    'since',
    'until',
  ])
  assert.equal(told.get('limit'), 'must be a whole number from 1 to 1000; got "1001"')
  assert.deepEqual([told.get('session_id'), told.get('colour')], ['must stand once', 'unknown parameter'])
})

test('a + in a time is told how to be written', async (t) => {
  const { port } = await startServer(t)
  const get = (since: string) => call(port, { path: `/logs?since=${since}`, headers: ENGINE })
  assert.equal((await get('2026-11-30T12:00:00%2B03:00')).status, 200)
  assert.match((await get('2026-11-30T12:00:00+03:00')).text, /written %2B/)
})

test('only an engine token opens it', async (t) => {
  const { port } = await startServer(t)
  assert.equal(errorOf(await call(port, { path: '/logs' })).code, 'unauthorized')
  assert.equal(errorOf(await call(port, { path: `/logs?token=${RUN_TOKEN}` })).code, 'unauthorized')
  assert.equal((await call(port, { path: '/logs', method: 'POST', headers: ENGINE })).status, 405)
})
