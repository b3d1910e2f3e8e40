/** Deliveries over real sockets: attempts, pauses, acks, receivers that misbehave, shutdown. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import v8 from 'node:v8'
import vm from 'node:vm'
import { Webhook } from 'standardwebhooks'
import { runId, type RunId } from '../../src/contract/ids.ts'
import { createOutbox, type OutboxOptions } from '../../src/delivery/outbox.ts'
import { LANE_WIDTH } from '../../src/delivery/receiver-lanes.ts'
import type { Egress } from '../../src/egress/egress.ts'
import type { CallbackOutbox } from '../../src/runs/ports.ts'
import { openEgress } from '../egress/test-egress.ts'
import { FakeRuns, ID, OTHER_ID } from '../server/fake-runs.ts'
import { eventually } from '../server/start-server.ts'
import { type Reply, startReceiver, status } from './receiver.ts'

const SECRET = 'callback-secret'
const RESULT = '{"run_id":"r","text":"Привет 🙂","half":"\\ud83d","history_revision":7}'
const never = () => new AbortController().signal

interface Opened {
  readonly runs: FakeRuns
  readonly outbox: CallbackOutbox
  readonly bugs: unknown[]
}

function open(t: TestContext, more: Partial<OutboxOptions> = {}): Opened {
  const runs = new FakeRuns()
  const bugs: unknown[] = []
  const outbox = createOutbox({
    store: runs.store,
    egress: openEgress(t),
    secrets: [SECRET],
    random: () => 0,
    onBug: (_id, error) => void bugs.push(error),
    ...more,
  })
  return { runs, outbox, bugs }
}

/** A run that has ended and waits for its delivery. */
function ended(runs: FakeRuns, url: string, id: RunId = ID, headers: Record<string, string> = {}): void {
  runs.add(id).callback = { url, headers }
  runs.end(RESULT, 'completed', id)
}

const notes = (runs: FakeRuns) => runs.calls.filter((call) => call.startsWith('note'))
const attemptsOf = (runs: FakeRuns, id: RunId = ID) => runs.runs.get(id)?.attempts ?? []
const deliveryOf = (runs: FakeRuns, id: RunId = ID) => runs.runs.get(id)?.view.delivery.state
const PAUSES = [5_000, 10_000, 20_000, 45_000]

test("a result is posted with its secret, its signature and the callback's headers, and is then delivered", async (t) => {
  const { runs, outbox } = open(t)
  const receiver = await startReceiver(t, status(200))
  ended(runs, `${receiver.url}?tenant=1`, ID, { Authorization: 'Bearer harness', 'X-Trace': 'abc' })
  outbox.add(ID)
  await outbox.flush(never())
  const [got] = receiver.got
  assert.ok(got !== undefined && receiver.got.length === 1)
  assert.deepEqual([got.method, got.path], ['POST', '/hook?tenant=1'])
  assert.equal(got.body.toString(), `{"payload":${RESULT}}`)
  assert.equal(got.headers['content-length'], String(Buffer.byteLength(`{"payload":${RESULT}}`)))
  assert.equal(got.headers['content-type'], 'application/json; charset=utf-8')
  assert.equal(got.headers['x-engine-secret'], SECRET)
  assert.equal(got.headers['authorization'], 'Bearer harness')
  assert.equal(got.headers['x-trace'], 'abc')
  assert.equal(got.headers['webhook-id'], ID)
  new Webhook(SECRET, { format: 'raw' }).verify(got.body.toString(), got.headers as Record<string, string>)
  assert.deepEqual(runs.calls, [`note ${ID} 200 delivered`, `delivered ${ID}`])
})

test('CB-01, CB-06: 500, 500, 200: the same bytes and id each time, with pauses from the end of each attempt', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_700_000_000_000 })
  const { runs, outbox } = open(t)
  const receiver = await startReceiver(t, status(500), status(503), status(200))
  ended(runs, receiver.url)
  outbox.add(ID)
  for (const [index, pause] of [5_000, 10_000].entries()) {
    await receiver.count(index + 1)
    await eventually(() => notes(runs).length === index + 1)
    assert.equal(deliveryOf(runs), 'pending')
    t.mock.timers.tick(pause - 1)
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(receiver.got.length, index + 1)
    t.mock.timers.tick(1)
  }
  await receiver.count(3)
  await outbox.flush(never())
  assert.equal(deliveryOf(runs), 'delivered')
  assert.equal(new Set(receiver.got.map(({ body }) => body.toString('hex'))).size, 1)
  assert.equal(new Set(receiver.got.map(({ headers }) => headers['webhook-id'])).size, 1)
  assert.deepEqual(
    receiver.got.map(({ headers }) => headers['webhook-timestamp']),
    ['1700000000', '1700000005', '1700000015'],
  )
  assert.deepEqual(
    attemptsOf(runs).map(({ at, status }) => [at, status]),
    [
      ['2023-11-14T22:13:20.000Z', 500],
      ['2023-11-14T22:13:25.000Z', 503],
      ['2023-11-14T22:13:35.000Z', 200],
    ],
  )
})

test("CB-05: five failed attempts are undelivered; the run keeps its result and is nobody's", async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  const { runs, outbox } = open(t)
  const receiver = await startReceiver(t, status(500))
  ended(runs, receiver.url)
  outbox.add(ID)
  for (const [index, pause] of [...PAUSES, 0].entries()) {
    await eventually(() => notes(runs).length === index + 1)
    t.mock.timers.tick(pause)
  }
  await outbox.flush(never())
  assert.equal(receiver.got.length, 5)
  assert.deepEqual(notes(runs).slice(-2), [`note ${ID} 500 pending`, `note ${ID} 500 undelivered`])
  assert.equal(runs.runs.get(ID)?.view.state, 'ended')
  assert.equal(runs.runs.get(ID)?.view.result?.json, RESULT)
  // Taken again, as by hand, it starts over.
  outbox.add(ID)
  await receiver.count(6)
})

test('CB-03: a redirect is a failed attempt: not followed, the secret stays with the first host', async (t) => {
  const other = await startReceiver(t, status(200))
  const { runs, outbox } = open(t, { pausesMs: [0, 0, 0, 0] })
  const locations = [other.url, 'http://169.254.169.254/latest', '/elsewhere', other.url]
  const replies = [301, 302, 307, 308].map((code, index) => status(code, { location: locations[index] }))
  const receiver = await startReceiver(t, ...replies, status(304))
  ended(runs, receiver.url)
  outbox.add(ID)
  await receiver.count(5)
  await outbox.flush(never())
  assert.deepEqual(
    receiver.got.map(({ path }) => path),
    Array.from({ length: 5 }, () => '/hook'),
  )
  assert.equal(other.got.length, 0)
  assert.deepEqual(
    attemptsOf(runs).map(({ status, error }) => [status, error]),
    [301, 302, 307, 308, 304].map((code) => [code, 'redirects are not followed']),
  )
  assert.equal(deliveryOf(runs), 'undelivered')
})

const notEmpty: [number, string, string | null][] = [
  [200, '<html>please sign in</html>', 'text/html'],
  [202, '', null],
  [204, '', null],
  [206, 'part', 'application/octet-stream'],
  [299, '{"error":"not stored"}', 'application/json'],
]
for (const [code, body, type] of notEmpty) {
  test(`CB-04: ${code} is stored, whatever stands in the body; status and content type are noted`, async (t) => {
    const { runs, outbox } = open(t)
    const receiver = await startReceiver(t, status(code, type === null ? {} : { 'content-type': type }, body))
    ended(runs, receiver.url)
    outbox.add(ID)
    await outbox.flush(never())
    assert.deepEqual(
      attemptsOf(runs).map(({ status, content_type, error }) => [status, content_type, error]),
      [[code, type, null]],
    )
    assert.equal(deliveryOf(runs), 'delivered')
  })
}

test('SE-01: a content type that is none, or says the secret back, is not noted', async (t) => {
  const { runs, outbox } = open(t, { pausesMs: [0, 0, 0, 0] })
  const echo = (type: (secret: string) => string): Reply => {
    return (response, { headers }) =>
      void response.writeHead(500, { 'content-type': type(String(headers['x-engine-secret'])) }).end()
  }
  const receiver = await startReceiver(
    t,
    echo((secret) => secret),
    echo((secret) => `text/${secret}`),
    echo((secret) => `text/html; x=${secret}`),
    echo(() => 'text/html <b>'),
    status(200, { 'content-type': 'application/vnd.a+json ; x=1' }),
  )
  ended(runs, receiver.url)
  outbox.add(ID)
  await receiver.count(5)
  await outbox.flush(never())
  assert.deepEqual(
    attemptsOf(runs).map(({ content_type }) => content_type),
    [null, null, 'text/html', null, 'application/vnd.a+json'],
  )
})

test('a 2xx is delivered by its head: a body that never ends holds nothing up and is cut', async (t) => {
  const { runs, outbox } = open(t, { attemptTimeoutMs: 600_000 })
  const endless: Reply = (response) => {
    response.writeHead(200)
    const more = () => {
      while (response.write('x'.repeat(65_536)));
    }
    response.on('drain', more)
    more()
  }
  const receiver = await startReceiver(t, endless)
  ended(runs, receiver.url)
  outbox.add(ID)
  await outbox.flush(never())
  assert.equal(deliveryOf(runs), 'delivered')
  await eventually(() => receiver.got[0]?.response.destroyed === true)
})

test("a body that stops is let go of when its attempt's time is over", async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  const { runs, outbox } = open(t)
  const receiver = await startReceiver(t, (response) => void response.writeHead(200).write('a'))
  ended(runs, receiver.url)
  outbox.add(ID)
  await outbox.flush(never())
  assert.equal(deliveryOf(runs), 'delivered')
  t.mock.timers.tick(10_000)
  await eventually(() => receiver.got[0]?.response.destroyed === true)
})

test('each attempt has ten seconds; then the connection is cut and the next pause begins', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  const { runs, outbox } = open(t)
  const receiver = await startReceiver(t, () => {}, status(200))
  ended(runs, receiver.url)
  outbox.add(ID)
  await receiver.count(1)
  t.mock.timers.tick(9_999)
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(notes(runs).length, 0)
  t.mock.timers.tick(1)
  await eventually(() => notes(runs).length === 1)
  const [attempt] = attemptsOf(runs)
  assert.deepEqual([attempt?.status, attempt?.error, attempt?.duration_ms], [null, 'no answer within 10000 ms', 10_000])
  await eventually(() => receiver.got[0]?.response.destroyed === true)
  t.mock.timers.tick(5_000)
  await receiver.count(2)
  await outbox.flush(never())
  assert.equal(deliveryOf(runs), 'delivered')
})

const faults: [string, Reply | null, RegExp][] = [
  ['a receiver that resets', (response) => void response.socket?.resetAndDestroy(), /127\.0\.0\.1/],
  ['a receiver that is not there', null, /127\.0\.0\.1/],
]
for (const [name, reply, message] of faults) {
  test(`${name} is a failed attempt, told by host only`, async (t) => {
    const { runs, outbox } = open(t, { pausesMs: [] })
    const receiver = await startReceiver(t, reply ?? status(200))
    // Port 1 is nobody's.
    const url = reply === null ? 'http://127.0.0.1:1/hook?key=query-secret' : `${receiver.url}?key=query-secret`
    ended(runs, url, ID, { Authorization: 'Bearer header-secret' })
    outbox.add(ID)
    await outbox.flush(never())
    const [attempt] = attemptsOf(runs)
    assert.equal(attempt?.status, null)
    assert.match(attempt.error ?? '', message)
    assert.doesNotMatch(JSON.stringify(attemptsOf(runs)), /secret|hook/)
    assert.equal(deliveryOf(runs), 'undelivered')
  })
}

test('a callback the gate does not let out is a failed attempt that names the reason and the host', async (t) => {
  const { runs, outbox } = open(t, { pausesMs: [] })
  ended(runs, 'https://not-listed.example/secret-path?x=secret')
  outbox.add(ID)
  await outbox.flush(never())
  assert.equal(attemptsOf(runs)[0]?.error, 'not let out to not-listed.example: host_not_listed')
})

test('CB-07: an ack in a pause ends it at once: no further attempt', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  const { runs, outbox } = open(t)
  const receiver = await startReceiver(t, status(500))
  ended(runs, receiver.url)
  outbox.add(ID)
  await eventually(() => notes(runs).length === 1)
  await runs.store.ack(ID)
  outbox.stop(ID)
  outbox.stop(ID)
  // Nothing is ticked: the pause ended by itself.
  await outbox.flush(never())
  t.mock.timers.tick(1_000_000)
  assert.equal(receiver.got.length, 1)
  assert.equal(deliveryOf(runs), 'acked')
})

test('a delivery that was stopped in a pause is over: the run can be taken again', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  const { runs, outbox } = open(t)
  const receiver = await startReceiver(t, status(500), status(200))
  ended(runs, receiver.url)
  outbox.add(ID)
  await eventually(() => notes(runs).length === 1)
  outbox.stop(ID)
  await new Promise((resolve) => setImmediate(resolve))
  outbox.add(ID)
  await receiver.count(2)
  await outbox.flush(never())
})

test('CB-07: an ack that only the store knows of is found before the next attempt', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  const { runs, outbox } = open(t)
  const receiver = await startReceiver(t, status(500))
  ended(runs, receiver.url)
  outbox.add(ID)
  await eventually(() => notes(runs).length === 1)
  await runs.store.ack(ID)
  t.mock.timers.tick(5_000)
  await outbox.flush(never())
  assert.equal(receiver.got.length, 1)
})

test('CB-07: an ack while an attempt is on the wire lets it land, and begins no other', async (t) => {
  for (const code of [200, 500]) {
    const { runs, outbox } = open(t)
    const receiver = await startReceiver(t, () => {}, status(200))
    ended(runs, receiver.url)
    outbox.add(ID)
    await receiver.count(1)
    await runs.store.ack(ID)
    outbox.stop(ID)
    receiver.got[0]?.response.writeHead(code).end()
    await outbox.flush(never())
    assert.equal(receiver.got.length, 1)
    assert.deepEqual(notes(runs), [`note ${ID} ${code} acked`])
    assert.equal(deliveryOf(runs), 'acked')
  }
})

test('an ack before the first attempt sends nothing', async (t) => {
  const { runs, outbox } = open(t)
  const receiver = await startReceiver(t, status(200))
  ended(runs, receiver.url)
  await runs.store.ack(ID)
  outbox.add(ID)
  await outbox.flush(never())
  assert.deepEqual([receiver.got.length, notes(runs)], [0, []])
})

test('a run without callback, without result, or that nobody knows is not sent', async (t) => {
  const { runs, outbox, bugs } = open(t)
  const receiver = await startReceiver(t, status(200))
  runs.add(ID)
  runs.end(RESULT)
  runs.add(OTHER_ID).callback = { url: receiver.url, headers: {} }
  for (const id of [ID, OTHER_ID, runId('01J0000000000000000000000Z')]) outbox.add(id)
  await outbox.flush(never())
  assert.deepEqual([receiver.got.length, runs.calls, bugs], [0, [], []])
})

test('a run that is taken again while it is under way is sent once', async (t) => {
  const { runs, outbox } = open(t)
  const receiver = await startReceiver(t, () => {})
  ended(runs, receiver.url)
  outbox.add(ID)
  outbox.add(ID)
  await receiver.count(1)
  outbox.add(ID)
  // The way of a second one to the receiver, with room to spare.
  for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(receiver.got.length, 1)
  receiver.got[0]?.response.writeHead(200).end()
  await outbox.flush(never())
  assert.equal(receiver.got.length, 1)
})

test('a receiver that hangs delays its own deliveries only, and is never met by more than its lane holds', async (t) => {
  const { runs, outbox, bugs } = open(t)
  const held: (() => void)[] = []
  const hanging = await startReceiver(t, (response) => void held.push(() => void response.writeHead(200).end()))
  const quick = await startReceiver(t, status(200))
  const ids = Array.from({ length: LANE_WIDTH * 2 }, (_, index) =>
    runId(`01J000000000000000000001${String(index).padStart(2, '0')}`),
  )
  for (const id of ids) {
    // A query does not make another receiver of it.
    ended(runs, `${hanging.url}?run=${id}`, id)
    outbox.add(id)
  }
  await hanging.count(LANE_WIDTH)
  ended(runs, quick.url)
  outbox.add(ID)
  await eventually(() => deliveryOf(runs) === 'delivered')
  assert.equal(hanging.got.length, LANE_WIDTH)
  held.shift()?.()
  await hanging.count(LANE_WIDTH + 1)
  const all = outbox.flush(never())
  while (held.length > 0 || ids.some((id) => deliveryOf(runs, id) !== 'delivered')) {
    held.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  await all
  assert.deepEqual([hanging.got.length, bugs], [ids.length, []])
})

test('a flush ends a pause for one more attempt at once', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  const { runs, outbox } = open(t)
  const receiver = await startReceiver(t, status(500), status(200))
  ended(runs, receiver.url)
  outbox.add(ID)
  await eventually(() => notes(runs).length === 1)
  await outbox.flush(never())
  assert.equal(receiver.got.length, 2)
  assert.equal(deliveryOf(runs), 'delivered')
})

test('a flush that is given up lets go of attempts, pauses and lanes at once and leaves the results undelivered', async (t) => {
  const { runs, outbox, bugs } = open(t, { attemptTimeoutMs: 600_000 })
  const hanging = await startReceiver(t, () => {})
  const failing = await startReceiver(t, status(500))
  const ids = Array.from({ length: LANE_WIDTH + 2 }, (_, index) =>
    runId(`01J000000000000000000001${String(index).padStart(2, '0')}`),
  )
  for (const id of ids) {
    ended(runs, hanging.url, id)
    outbox.add(id)
  }
  await hanging.count(LANE_WIDTH)
  const stop = new AbortController()
  const flushed = outbox.flush(stop.signal)
  ended(runs, failing.url)
  outbox.add(ID)
  await eventually(() => attemptsOf(runs).length === 1)
  stop.abort()
  await flushed
  await eventually(() => hanging.got.every(({ response }) => response.destroyed))
  for (const id of [...ids, ID]) assert.notEqual(deliveryOf(runs, id), 'delivered')
  outbox.add(OTHER_ID)
  await outbox.flush(AbortSignal.abort())
  assert.deepEqual(bugs, [])
})

test('a flush with nothing under way ends at once', async (t) => {
  const { outbox } = open(t)
  await outbox.flush(never())
  await outbox.flush(AbortSignal.abort())
})

test('a store that rejects is a bug that is told, and other deliveries go on', async (t) => {
  const { runs, outbox, bugs } = open(t)
  const receiver = await startReceiver(t, status(200))
  ended(runs, receiver.url)
  runs.store.callback = async (id) => {
    if (id === OTHER_ID) throw new Error('the store is gone')
    return { url: receiver.url, headers: {} }
  }
  outbox.add(OTHER_ID)
  outbox.add(ID)
  await outbox.flush(never())
  assert.equal(bugs.length, 1)
  assert.equal(deliveryOf(runs), 'delivered')
})

test('SD-03: two hundred deliveries at once to receivers of their own cause no warning and leave no timer', async (t) => {
  const timers = new Set<unknown>()
  const egress: Egress = {
    request: async () => ({ kind: 'fault', fault: { kind: 'connect', message: 'no' } }),
    judge: () => null,
    close: async () => {},
  }
  const { runs, outbox } = open(t, { egress, pausesMs: [] })
  const set = globalThis.setTimeout
  const clear = globalThis.clearTimeout
  t.mock.method(globalThis, 'setTimeout', (...parts: Parameters<typeof set>) => {
    const timer = set(...parts)
    timers.add(timer)
    return timer
  })
  t.mock.method(globalThis, 'clearTimeout', (timer: NodeJS.Timeout) => {
    timers.delete(timer)
    clear(timer)
  })
  for (let index = 0; index < 200; index += 1) {
    const id = runId(`01J00000000000000000001${String(index).padStart(3, '0')}`)
    ended(runs, `https://harness-${index}.example/`, id)
    outbox.add(id)
  }
  await outbox.flush(never())
  assert.equal(notes(runs).length, 200)
  assert.equal(timers.size, 0)
})

test("a receiver's Retry-After, in seconds or as a date, makes a pause longer, never shorter, up to the end of the schedule", async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_700_000_000_000 })
  const { runs, outbox } = open(t)
  const asks = (seconds: string) => status(503, { 'retry-after': seconds })
  const receiver = await startReceiver(
    t,
    asks('30'),
    // 40 s after the second attempt, which was due at 22:13:50.
    asks('Tue, 14 Nov 2023 22:14:30 GMT'),
    asks('86400'),
    status(500, { 'retry-after': 'soon' }),
    status(200),
  )
  ended(runs, receiver.url)
  outbox.add(ID)
  const due: (string | null | undefined)[] = []
  for (const [index, pause] of [30_000, 40_000, 20_000, 45_000].entries()) {
    await eventually(() => notes(runs).length === index + 1)
    due.push(attemptsOf(runs).at(-1)?.next_at)
    t.mock.timers.tick(pause - 1)
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(receiver.got.length, index + 1)
    t.mock.timers.tick(1)
  }
  await outbox.flush(never())
  assert.equal(deliveryOf(runs), 'delivered')
  assert.deepEqual(due, [
    '2023-11-14T22:13:50.000Z',
    '2023-11-14T22:14:30.000Z',
    // What is left of 80 s is less than the pause itself.
    '2023-11-14T22:14:50.000Z',
    '2023-11-14T22:15:35.000Z',
  ])
  assert.equal(attemptsOf(runs).at(-1)?.next_at, null)
})

test('410 ends a delivery for good, whatever was left of its schedule', async (t) => {
  const { runs, outbox } = open(t, { pausesMs: [0, 0, 0] })
  const receiver = await startReceiver(t, status(500), status(410, { 'retry-after': '1' }), status(200))
  ended(runs, receiver.url)
  outbox.add(ID)
  await eventually(() => notes(runs).length === 2)
  await outbox.flush(never())
  assert.equal(receiver.got.length, 2)
  assert.deepEqual(
    attemptsOf(runs).map(({ status, fault, next_at }) => [status, fault, next_at === null]),
    [
      [500, 'status', false],
      [410, 'gone', true],
    ],
  )
  assert.deepEqual([deliveryOf(runs), runs.runs.get(ID)?.view.state], ['gone', 'ended'])
})

test('sent again in a pause: the pause ends now and the schedule begins anew', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  const { runs, outbox } = open(t, { pausesMs: [1000, 2000] })
  const asksAll = status(503, { 'retry-after': '3' })
  const receiver = await startReceiver(t, status(500), status(500), asksAll, status(500), status(200))
  ended(runs, receiver.url)
  outbox.add(ID)
  await eventually(() => notes(runs).length === 1)
  t.mock.timers.tick(1000)
  await eventually(() => notes(runs).length === 2)
  outbox.again(ID, false)
  await eventually(() => notes(runs).length === 3)
  // What a receiver may ask for is counted from the new beginning: all of the schedule.
  for (const pause of [3000, 2000]) {
    t.mock.timers.tick(pause - 1)
    for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve))
    assert.equal(receiver.got.length, pause === 3000 ? 3 : 4)
    t.mock.timers.tick(1)
    await receiver.count(pause === 3000 ? 4 : 5)
    await eventually(() => notes(runs).length === receiver.got.length)
  }
  await outbox.flush(never())
  assert.equal(deliveryOf(runs), 'delivered')
})

test('sent again while an attempt is on the wire: that attempt is the first of the new ones, and no second one is beside it', async (t) => {
  const { runs, outbox } = open(t, { pausesMs: [0] })
  const receiver = await startReceiver(t, status(500), () => {}, status(500), status(200))
  ended(runs, receiver.url)
  outbox.add(ID)
  await receiver.count(2)
  outbox.again(ID, false)
  for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(receiver.got.length, 2)
  receiver.got[1]?.response.writeHead(500).end()
  await receiver.count(3)
  await outbox.flush(never())
  // One pause: the attempt on the wire, and one more.
  assert.equal(receiver.got.length, 3)
  assert.equal(deliveryOf(runs), 'undelivered')
})

test('what the harness has is sent again when that is asked for, the same bytes, and an ack stops it', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  const { runs, outbox } = open(t)
  const receiver = await startReceiver(t, status(200), status(500), status(500), status(200))
  ended(runs, receiver.url)
  outbox.add(ID)
  await outbox.flush(never())
  const again = open(t)
  again.runs.runs.set(ID, runs.runs.get(ID) ?? assert.fail())
  again.outbox.again(ID, true)
  await eventually(() => notes(again.runs).length === 1)
  t.mock.timers.tick(5_000)
  await receiver.count(3)
  await eventually(() => notes(again.runs).length === 2)
  assert.equal(new Set(receiver.got.map(({ body }) => body.toString())).size, 1)
  again.outbox.stop(ID)
  await again.outbox.flush(never())
  t.mock.timers.tick(1_000_000)
  assert.deepEqual([receiver.got.length, deliveryOf(again.runs)], [3, 'delivered'])
})

test('without a secret nothing is sent: a run that outlasted a change of the settings fails its attempts and says why', async (t) => {
  const { runs, outbox } = open(t, { pausesMs: [], secrets: null })
  const receiver = await startReceiver(t, status(200))
  ended(runs, receiver.url)
  outbox.add(ID)
  await outbox.flush(never())
  assert.equal(receiver.got.length, 0)
  assert.deepEqual(
    attemptsOf(runs).map(({ fault, error }) => [fault, error]),
    [['not_sent', 'CALLBACK_SECRET is not set: nothing is sent unsigned']],
  )
})

test('a run that is dropped while it waits for its next attempt ends there', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  const { runs, outbox } = open(t)
  const receiver = await startReceiver(t, status(500))
  ended(runs, receiver.url)
  outbox.add(ID)
  await eventually(() => notes(runs).length === 1)
  runs.runs.delete(ID)
  outbox.stop(ID)
  await outbox.flush(never())
  assert.equal(receiver.got.length, 1)
})

test('between two attempts nothing of a result is held: three hundred deliveries of 1 MB that wait are a few ids', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  const egress: Egress = {
    request: async () => ({ kind: 'fault', fault: { kind: 'connect', message: 'no' } }),
    judge: () => null,
    close: async () => {},
  }
  const { runs, outbox } = open(t, { egress })
  const big = JSON.stringify({ text: 'x'.repeat(1_000_000) })
  const before = await arrayBuffersNow()
  for (let index = 0; index < 300; index += 1) {
    const id = runId(`01J00000000000000000001${String(index).padStart(3, '0')}`)
    runs.add(id).callback = { url: `https://harness-${index}.example/`, headers: {} }
    runs.end(big, 'completed', id)
    outbox.add(id)
  }
  await eventually(() => notes(runs).length === 300)
  const held = (await arrayBuffersNow()) - before
  assert.ok(held < 30_000_000, `${held} bytes`)
  await outbox.flush(AbortSignal.abort())
})

/** After a collection, which this process was not started to offer. */
async function arrayBuffersNow(): Promise<number> {
  v8.setFlagsFromString('--expose-gc')
  const collect = vm.runInNewContext('gc') as () => void
  collect()
  await new Promise((resolve) => setImmediate(resolve))
  collect()
  return process.memoryUsage().arrayBuffers
}
