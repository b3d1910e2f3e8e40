/** SPEC §9, SS-01: behind nginx as Debian ships it, with `proxy_pass` and nothing else, no event is held back and none is lost. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StreamEvent } from '../../src/contract/stream-event.ts'
import { HEARTBEAT_MS } from '../../src/server/stream-writer.ts'
import { nginxSkip, startNginx } from '../fakes/nginx.ts'
import { startProvider } from '../fakes/provider-server.ts'
import { ID } from '../server/fake-runs.ts'
import {
  admitted,
  call,
  ENGINE,
  eventually,
  JSON_HEADERS,
  post,
  readStream,
  RUN_TOKEN,
  startServer,
} from '../server/start-server.ts'
import { EngineClient, runBody } from './engine-client.ts'
import { openStream, screenOf } from './event-stream.ts'
import { gate } from './facts.ts'
import { sharedEngine } from './shared-engine.ts'

const engine = sharedEngine()
const PATH = `/runs/${ID}/stream?token=${RUN_TOKEN}`
const delta = (offset: number, text: string): StreamEvent => ({ event: 'delta', data: { step: 1, offset, text } })

// A skipped test says why; this line says it where only the sum is looked at.
if (nginxSkip !== false) console.log(nginxSkip)

const behind = { skip: nginxSkip }

for (const format of [null, 'ai-sdk', 'ag-ui']) {
  const what = format === null ? 'each event' : `each event as ${format}`
  test(
    `SS-01: behind nginx ${what} arrives before the next is made, and the first bytes before any`,
    behind,
    async (t) => {
      const { port, runs } = await startServer(t)
      const nginx = await startNginx(t, port)
      runs.add()
      const reader = await readStream(nginx.port, {
        path: format === null ? PATH : `${PATH}&format=${format}`,
        headers: { 'accept-encoding': 'gzip, br' },
      })
      await reader.until(({ retries }) => retries.length === 1)
      assert.deepEqual([reader.comments.length, reader.messages], [1, []])
      const { headers, statusCode } = reader.response
      assert.equal(statusCode, 200)
      assert.equal(headers['content-type'], 'text/event-stream; charset=utf-8')
      assert.equal(headers['cache-control'], 'no-cache, no-transform')
      assert.equal(headers['content-encoding'], undefined)
      assert.equal(headers['x-vercel-ai-ui-message-stream'], format === 'ai-sdk' ? 'v1' : undefined)
      runs.append({ event: 'start', data: { run_id: ID } })
      await reader.until(({ messages }) => messages.length === 1)
      for (let index = 0; index < 20; index += 1) {
        const text = `<${index}>`
        runs.append(delta(index * 10, text.padEnd(10)))
        await reader.until(({ raw }) => raw.includes(text))
        assert.ok(!reader.raw.includes(`<${index + 1}>`))
      }
      runs.end('{}')
      await reader.ended
      assert.equal(reader.response.complete, true)
    },
  )
}

test(
  'SS-01: behind nginx heartbeats arrive one by one, and far more often than it cuts silent connections',
  behind,
  async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    const { port, runs } = await startServer(t)
    const nginx = await startNginx(t, port)
    runs.add()
    const reader = await readStream(nginx.port, { path: PATH })
    await reader.until(({ comments }) => comments.length === 1)
    for (let beats = 2; beats <= 41; beats += 1) {
      t.mock.timers.tick(HEARTBEAT_MS)
      await reader.until(({ comments }) => comments.length === beats)
    }
    // nginx's proxy_read_timeout and proxy_send_timeout.
    assert.ok(HEARTBEAT_MS * 2 < 60_000)
    runs.end('{}')
    await reader.ended
    assert.equal(reader.response.complete, true)
  },
)

test('SS-01: a reader that goes away from nginx is let go of behind it, and the run goes on', behind, async (t) => {
  const signals: AbortSignal[] = []
  const { port, runs } = await startServer(t, {
    events: {
      read: async (runId, after, signal) => {
        signals.push(signal)
        return runs.events.read(runId, after, signal)
      },
    },
  })
  const nginx = await startNginx(t, port)
  runs.add()
  runs.append(delta(0, 'x'))
  const reader = await readStream(nginx.port, { path: PATH })
  await reader.until(({ messages }) => messages.length === 1)
  assert.equal(signals[0]?.aborted, false)
  reader.close()
  await eventually(() => signals[0]?.aborted === true)
  assert.deepEqual(runs.calls, [])
})

test(
  'SS-01: behind nginx a reader resumes by header and by query, and is told when there is nothing more',
  behind,
  async (t) => {
    const { port, runs } = await startServer(t)
    const nginx = await startNginx(t, port)
    runs.add()
    runs.append({ event: 'start', data: { run_id: ID } }, delta(0, 'Half of '))
    const first = await readStream(nginx.port, { path: PATH })
    await first.until(({ messages }) => messages.length === 2)
    first.close()
    runs.append(delta(8, 'the answer.'))
    const id = first.messages[1]?.id ?? ''
    const ways = [{ path: PATH, headers: { 'last-event-id': id } }, { path: `${PATH}&last_event_id=${id}` }]
    const readers = await Promise.all(ways.map((way) => readStream(nginx.port, way)))
    runs.end('{}')
    for (const reader of readers) {
      await reader.ended
      assert.deepEqual(
        reader.messages.map(({ event }) => event),
        ['delta', 'done'],
      )
      assert.equal(JSON.parse(reader.messages[0]?.data ?? '').text, 'the answer.')
    }
    const last = readers[0]?.messages.at(-1)?.id ?? ''
    const stopped = await call(nginx.port, { path: PATH, headers: { 'last-event-id': last } })
    assert.deepEqual([stopped.status, stopped.text], [204, ''])
  },
)

test(
  'SS-01: behind nginx bodies arrive whole, waited answers and refusals come back as they are',
  behind,
  async (t) => {
    const { port, runs, bodies, flags } = await startServer(t)
    const nginx = await startNginx(t, port)
    // More than nginx keeps in memory.
    const body = { text: 'x🙂é'.repeat(40_000) }
    flags.answer = admitted({ wait: true })
    runs.add()
    runs.end('{"digits":12345678901234567890}')
    const waited = await post(nginx.port, '/runs', body)
    assert.deepEqual([waited.status, waited.text], [200, '{"digits":12345678901234567890}'])
    assert.deepEqual(bodies, [body])
    const chunked = { ...JSON_HEADERS, 'transfer-encoding': 'chunked' }
    assert.equal((await post(nginx.port, '/runs', body, chunked)).status, 200)
    assert.deepEqual(bodies, [body, body])
    const refused = await call(nginx.port, { path: '/runs/run_none', headers: ENGINE })
    assert.deepEqual([refused.status, JSON.parse(refused.text).error.code], [404, 'run_not_found'])
    assert.equal((await call(nginx.port, { path: `/runs/${ID}` })).status, 401)
  },
)

test(
  'SS-01: a whole run behind nginx: each word of the model arrives before it says the next, and a cancel ends it',
  behind,
  async (t) => {
    const { address } = await engine.process()
    const nginx = await startNginx(t, Number(new URL(address).port))
    const client = new EngineClient({ address: nginx.url })
    const said = ['One ', 'two ', 'three ', 'four.']
    const holds = said.map(() => gate())
    const provider = await startProvider(t, [
      async (answer) => {
        for (const [index, word] of said.entries()) {
          answer.text(word)
          await holds[index]?.opened
        }
      },
    ])
    const accepted = await client.start(runBody({ llm: provider.llm() }))
    const here = (url: string) => url.replace(address, nginx.url)
    const reader = await openStream(here(accepted.stream_url))
    let whole = ''
    for (const [index, word] of said.entries()) {
      const offset = whole.length
      await reader.event('delta', (data) => data.offset === offset && data.text === word)
      whole += word
      assert.equal(screenOf(reader.events).get(1), whole)
      if (index < said.length - 1) holds[index]?.open()
    }
    const answer = await client.cancel(accepted.run_id)
    assert.equal(answer.json<{ status: string }>().status, 'cancelled')
    const events = await reader.ended()
    assert.equal(events.at(-1)?.event, 'done')
    holds.at(-1)?.open()
  },
)

test('the engine of this file ended in peace', behind, () => engine.finish())
