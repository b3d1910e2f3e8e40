/** Fetching images and files over real sockets: what may go wrong on the way, and the bounds of SPEC §10. */
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { test, type TestContext } from 'node:test'
import type { Egress } from '../../src/egress/egress.ts'
import type { PartFetch } from '../../src/engine/ports.ts'
import { MAX_PART_BYTES } from '../../src/providers/fetch-part.ts'
import { createPartBudget, MAX_HELD_BYTES, type PartBudget } from '../../src/providers/part-budget.ts'
import {
  ALL_PARTS_MS,
  MAX_RUN_BYTES,
  MOST_PARTS,
  PART_MS,
  PARTS_AT_ONCE,
  RunParts,
} from '../../src/providers/run-parts.ts'
import type { WantedPart } from '../../src/providers/sent-part.ts'
import { type Handler, startHttp, startTcp } from '../egress/local-servers.ts'
import { openEgress } from '../egress/test-egress.ts'
import { plainEgress } from './plain-egress.ts'

const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.from('pixels')])

function wanted(url: string, mimeType = 'image/png'): WantedPart {
  return { key: `${mimeType} ${url}`, url, mimeType }
}

/** A budget that can be read. */
function openBudget(most = MAX_HELD_BYTES): PartBudget & { held(): number } {
  const budget = createPartBudget(most)
  let held = 0
  return {
    take(bytes) {
      const taken = budget.take(bytes)
      if (taken) held += bytes
      return taken
    },
    give(bytes) {
      held -= bytes
      budget.give(bytes)
    },
    held: () => held,
  }
}

function openRun(t: TestContext, egress: Egress = openEgress(t), most?: number) {
  const budget = openBudget(most)
  const parts = new RunParts(budget)
  const told: PartFetch[] = []
  const controller = new AbortController()
  const load = (all: readonly WantedPart[], withinMs = 60_000) =>
    parts.load(all, {
      send: (request) => egress.request(request),
      now: Date.now,
      withinMs,
      tell: (fetch) => told.push(fetch),
      signal: controller.signal,
    })
  const whyOf = (part: WantedPart) => {
    const found = parts.get(part.key)
    return found === undefined ? 'nothing' : found.ok ? 'ok' : found.why
  }
  return { parts, budget, told, load, whyOf, cancel: () => controller.abort('cancelled') }
}

/** However it came about. */
const closed = (socket: Socket) =>
  new Promise<void>((resolve) => (socket.destroyed ? resolve() : void socket.once('close', () => resolve())))

const sends =
  (body: Buffer | string, headers: Record<string, string> = { 'content-type': 'image/png' }, status = 200): Handler =>
  (_request, response) => {
    response.writeHead(status, headers)
    response.end(body)
  }

test('an image is fetched once for a run by a plain GET that says nothing of who asks, and held in base64 until its end', async (t) => {
  const requests: unknown[] = []
  const server = await startHttp(t, (request, response) => {
    const { connection: _connection, host: _host, ...headers } = request.headers
    requests.push([request.method, request.url, headers])
    response.writeHead(200, { 'content-type': 'image/png' }).end(PNG)
  })
  const run = openRun(t)
  const part = wanted(`http://127.0.0.1:${server.port}/a.png?sig=SECRET`)
  await run.load([part])
  await run.load([part])
  assert.deepEqual(run.parts.get(part.key), { ok: true, data: PNG.toString('base64') })
  assert.deepEqual(requests, [['GET', '/a.png?sig=SECRET', { accept: 'image/png', 'accept-encoding': 'identity' }]])
  assert.deepEqual(
    run.told.map(({ durationMs: _durationMs, ...facts }) => facts),
    [{ host: '127.0.0.1', outcome: 'ok', status: 200, bytes: PNG.length }],
  )
  assert.ok(run.budget.held() >= PNG.toString('base64').length - 4)
  run.parts.release()
  assert.equal(run.budget.held(), 0)
  assert.equal(run.parts.get(part.key), undefined)
})

const FAILURES: readonly (readonly [name: string, handler: Handler, outcome: PartFetch['outcome'], why: RegExp])[] = [
  ['a missing file', sends('gone', {}, 404), 'status', /^127\.0\.0\.1 answered HTTP 404$/],
  [
    'a redirect',
    sends('', { location: 'http://127.0.0.1:1/b.png' }, 302),
    'status',
    /HTTP 302, and redirects are not followed$/,
  ],
  ['half of it', sends(PNG, { 'content-type': 'image/png' }, 206), 'status', /HTTP 206$/],
  ['a page', sends('<html>Log in</html>', { 'content-type': 'text/html' }), 'wrong_kind', /is called text\/html/],
  [
    'a page that is called an image',
    sends('<html>Log in</html>'),
    'wrong_kind',
    /what 127\.0\.0\.1 sent is no image\/png$/,
  ],
  ['another image', sends(Buffer.from('GIF89a')), 'wrong_kind', /is no image\/png$/],
  ['nothing', sends(''), 'wrong_kind', /is empty$/],
  [
    'a bomb',
    sends(gzipSync(Buffer.alloc(50_000_000)), { 'content-type': 'image/png', 'content-encoding': 'gzip' }),
    'encoded',
    /compressed what it sent, unasked$/,
  ],
  [
    'a size that is too large',
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png', 'content-length': MAX_PART_BYTES + 1 })
      response.write(PNG)
    },
    'too_large',
    /is larger than 10485760 bytes$/,
  ],
  [
    'bytes without an end',
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png' })
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536))) if (response.destroyed) return
      }
      response.on('drain', more)
      more()
    },
    'too_large',
    /is larger than 10485760 bytes$/,
  ],
  [
    'a cut in the middle',
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png', 'content-length': 1000 })
      response.write(PNG, () => response.destroy())
    },
    'network',
    /^the connection to 127\.0\.0\.1 broke off/,
  ],
  [
    'bytes that never end to come',
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'image/png' })
      response.write(PNG)
    },
    'timeout',
    /^127\.0\.0\.1 did not send it in time$/,
  ],
  ['no answer', () => {}, 'timeout', /^127\.0\.0\.1 did not send it in time$/],
]

for (const [name, handler, outcome, why] of FAILURES) {
  test(`fetching meets ${name}: told, kept for the run, its socket closed, nothing held`, async (t) => {
    let requests = 0
    const server = await startHttp(t, (request, response) => {
      requests += 1
      void handler(request, response)
    })
    const run = openRun(t)
    const part = wanted(`http://127.0.0.1:${server.port}/path-SECRET.png?token=SECRET`)
    // What is not about time has all of it.
    const withinMs = outcome === 'timeout' ? 300 : 30_000
    await run.load([part], withinMs)
    await run.load([part], withinMs)
    assert.match(run.whyOf(part), why)
    assert.doesNotMatch(JSON.stringify([run.whyOf(part), run.told]), /SECRET/)
    assert.deepEqual(
      run.told.map((one) => [one.host, one.outcome]),
      [['127.0.0.1', outcome]],
    )
    assert.equal(requests, 1)
    assert.equal(run.budget.held(), 0)
    // Where the other side has more to say, nobody listens any more.
    const [socket] = server.sockets
    assert.ok(socket !== undefined)
    if (outcome === 'timeout' || outcome === 'too_large') {
      await closed(socket)
    }
  })
}

test('what the egress rules refuse is not fetched, and the message names no more than the host', async (t) => {
  let rings = 0
  const server = await startTcp(t, (socket) => {
    rings += 1
    socket.destroy()
  })
  const egress = openEgress(t, { devInsecure: false, allow: 'localhost:*, listed.example' })
  const run = openRun(t, egress)
  const all = {
    [`http://127.0.0.1:${server.port}/SECRET`]: /refuse host 127\.0\.0\.1 \(scheme\)/,
    [`https://127.0.0.1:${server.port}/SECRET`]: /\(address_blocked\)/,
    // It is listed, and leads inside.
    [`https://localhost:${server.port}/SECRET`]: /refuse host localhost \(address_blocked\)/,
    'https://other.example/SECRET': /host other\.example \(host_not_listed\), for it is not on EGRESS_ALLOWLIST$/,
    'https://user:SECRET@listed.example/': /\(userinfo\)/,
    'https://169.254.169.254/SECRET': /\(metadata_host\)/,
    'file:///etc/SECRET': /\(scheme\)/,
    'no URL, SECRET': /refuse it \(invalid_url\)/,
  }
  const parts = Object.keys(all).map((url) => wanted(url))
  await run.load(parts)
  for (const part of parts) assert.match(run.whyOf(part), all[part.url] ?? /never/, part.url)
  assert.doesNotMatch(JSON.stringify([parts.map((part) => run.whyOf(part)), run.told]), /SECRET/)
  assert.deepEqual(new Set(run.told.map(({ outcome }) => outcome)), new Set(['refused']))
  assert.equal(rings, 0)
})

test('a type whose bytes cannot be held against anything is not asked for', async (t) => {
  const server = await startHttp(t, sends('<svg/>', { 'content-type': 'image/svg+xml' }))
  const run = openRun(t)
  const part = wanted(`http://127.0.0.1:${server.port}/a`, 'image/svg+xml')
  await run.load([part])
  assert.match(run.whyOf(part), /never fetched/)
  assert.equal(server.sockets.length, 0)
})

test('a fetch goes at most so many at once, and those asked for first are kept first', async (t) => {
  let busy = 0
  let most = 0
  const waiting: (() => void)[] = []
  const server = await startHttp(t, (request, response) => {
    busy += 1
    most = Math.max(most, busy)
    waiting.push(() => {
      busy -= 1
      response.writeHead(200, { 'content-type': 'image/png' }).end(PNG)
    })
    // The first of a lot answers last.
    if (waiting.length === PARTS_AT_ONCE || request.url === '/9') for (const go of waiting.splice(0).toReversed()) go()
  })
  const run = openRun(t)
  const parts = Array.from({ length: 10 }, (_none, index) => wanted(`http://127.0.0.1:${server.port}/${index}`))
  const loading = run.load(parts)
  await loading
  assert.equal(most, PARTS_AT_ONCE)
  assert.ok(parts.every((part) => run.whyOf(part) === 'ok'))
})

test('more addresses than a run may fetch are left, the first ones asked for kept', async (t) => {
  let requests = 0
  const server = await startHttp(t, (_request, response) => {
    requests += 1
    response.writeHead(200, { 'content-type': 'image/png' }).end(PNG)
  })
  const run = openRun(t)
  const parts = Array.from({ length: MOST_PARTS + 3 }, (_none, at) => wanted(`http://127.0.0.1:${server.port}/${at}`))
  await run.load(parts.slice(0, 10))
  await run.load(parts)
  assert.equal(requests, MOST_PARTS)
  assert.deepEqual(
    parts.map((part) => run.whyOf(part)),
    [
      ...Array.from({ length: MOST_PARTS }, () => 'ok'),
      ...Array.from({ length: 3 }, () => 'no more than 50 are fetched for one run'),
    ],
  )
})

test('more bytes than a run may hold are left, whichever came first, and are not held', async (t) => {
  const large = Buffer.concat([PNG, Buffer.alloc(MAX_PART_BYTES - PNG.length)])
  const server = await startHttp(t, (request, response) => {
    const small = request.url === '/3'
    response.writeHead(200, { 'content-type': 'image/png' }).end(small ? PNG : large)
  })
  const run = openRun(t)
  const parts = [0, 1, 2, 3].map((at) => wanted(`http://127.0.0.1:${server.port}/${at}`))
  await run.load(parts)
  const full = `no more than ${MAX_RUN_BYTES} bytes are fetched for one run`
  assert.deepEqual(
    parts.map((part) => run.whyOf(part)),
    ['ok', 'ok', full, full],
  )
  assert.ok(Math.abs(run.budget.held() - (2 * MAX_PART_BYTES * 4) / 3) < 10_000)
  run.parts.release()
  assert.equal(run.budget.held(), 0)
})

test('what all runs hold is bounded: a run that finds no room goes without, and takes none', async (t) => {
  const server = await startHttp(t, sends(Buffer.concat([PNG, Buffer.alloc(30_000)])))
  const run = openRun(t, openEgress(t), 50_000)
  const [first, second] = [wanted(`http://127.0.0.1:${server.port}/1`), wanted(`http://127.0.0.1:${server.port}/2`)]
  await run.load([first])
  await run.load([second])
  assert.equal(run.whyOf(first), 'ok')
  assert.match(run.whyOf(second), /^the engine holds as much/)
  assert.ok(run.budget.held() < 41_000)
  run.parts.release()
  assert.equal(run.budget.held(), 0)
})

test('a cancel closes every socket at once, and nothing is told or kept of what it cut', async (t) => {
  const server = await startHttp(t, (request, response) => {
    if (request.url === '/head') response.writeHead(200, { 'content-type': 'image/png' }).write(PNG)
  })
  const run = openRun(t)
  const parts = ['head', 'silent', 'more'].map((path) => wanted(`http://127.0.0.1:${server.port}/${path}`))
  const loading = run.load(parts)
  await server.connected(3)
  run.cancel()
  await loading
  for (const socket of server.sockets) await closed(socket)
  assert.deepEqual(run.told, [])
  assert.equal(run.budget.held(), 0)
  assert.ok(parts.every((part) => run.parts.get(part.key) === undefined))
})

test('one that hangs is given up after its own time, and all together after theirs', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_800_000_000_000 })
  const arrived: (() => void)[] = []
  const server = await startHttp(t, () => arrived.shift()?.())
  const nth = (count: number) =>
    Array.from({ length: count }, () => new Promise<void>((resolve) => void arrived.push(resolve)))
  const run = openRun(t, plainEgress(t))
  const parts = Array.from({ length: PARTS_AT_ONCE * 3 }, (_none, at) =>
    wanted(`http://127.0.0.1:${server.port}/${at}`),
  )
  const lots = [nth(PARTS_AT_ONCE), nth(PARTS_AT_ONCE)]
  const loading = run.load(parts)
  for (const lot of lots) {
    await Promise.all(lot)
    t.mock.timers.tick(PART_MS)
  }
  await loading
  assert.deepEqual(
    run.told.map(({ outcome, durationMs }) => [outcome, durationMs]),
    [
      ...Array.from({ length: PARTS_AT_ONCE * 2 }, () => ['timeout', PART_MS]),
      ...Array.from({ length: PARTS_AT_ONCE }, () => ['timeout', 0]),
    ],
  )
  assert.equal(ALL_PARTS_MS, PART_MS * 2)
})
