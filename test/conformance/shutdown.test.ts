/** SPEC §12.2, §3.5: on a signal nothing new begins, what runs may end, what cannot is ended truthfully, and every result is delivered. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { once } from 'node:events'
import { test } from 'node:test'
import type { RunResult } from '../../src/contract/result.ts'
import { AS_PID_1, ENGINE_TOKEN, pid1Problem, type Exit } from '../fakes/engine-process.ts'
import { asksFor, inHalves, refuses, silent, startProvider } from '../fakes/provider-server.ts'
import { payloadOf, startReceiver } from '../fakes/callback-receiver.ts'
import { hangs, startTools } from '../fakes/tool-server.ts'
import { EngineClient, errorOf, runBody } from './engine-client.ts'
import { gate, within } from './facts.ts'
import { assertQuiet, endInPeace, ownEngine } from './shared-engine.ts'

const PEACE: Exit = { code: 0, signal: null }

test('§12.2 SIGTERM while a run goes on: 503 to the new, the run ends, its callback comes, exit code 0', async (t) => {
  const engine = await ownEngine(t, { SHUTDOWN_GRACE_MS: '20000' })
  const client = new EngineClient(engine)
  const hold = gate()
  const provider = await startProvider(t, [inHalves('To the ', hold.opened, 'end.')])
  const receiver = await startReceiver(t)
  const body = runBody({ llm: provider.llm(), callback: receiver.callback() })
  const accepted = await client.start(body)
  const waiting = client.post({ ...body, wait: true })
  const reader = await client.stream(accepted)
  await reader.event('delta')

  engine.signal('SIGTERM')
  await engine.line(({ msg }) => msg === 'draining')
  errorOf(await client.send('/ready'), 503, 'draining')
  const refused = await client.post(runBody())
  errorOf(refused, 503, 'draining')
  assert.match(String(refused.headers['retry-after']), /^\d+$/)
  const health = await client.send('/health')
  assert.equal(health.status, 200)
  assert.equal(health.json<{ status: string }>().status, 'draining')
  assert.equal((await client.view(accepted.run_id)).status, 'running')

  hold.open()
  const payload = payloadOf(await receiver.nth(1))
  assert.deepEqual([payload.status, payload.text], ['completed', 'To the end.'])
  assert.deepEqual((await waiting).json(), payload)
  assert.equal((await reader.ended()).at(-1)?.event, 'done')
  assert.deepEqual(await within(engine.exited, () => 'the engine does not end'), PEACE)
  assertQuiet(engine)
})

test('§12.2 when the grace is over, a cancelled answer is drained no further', async (t) => {
  const engine = await ownEngine(t, { SHUTDOWN_GRACE_MS: '100' })
  const client = new EngineClient(engine)
  const provider = await startProvider(t, [(answer) => answer.text('Half of')])
  const receiver = await startReceiver(t)
  const given = { callback: receiver.callback(), limits: { on_cancel: 'drain' } }
  const accepted = await client.start(runBody({ ...given, llm: provider.llm() }))
  await (await client.stream(accepted)).event('delta')
  const whole = client.cancel(accepted.run_id)
  await (await client.stream(accepted)).event('done')
  engine.signal('SIGTERM')
  const payload = payloadOf(await receiver.nth(1))
  assert.deepEqual([payload.status, payload.text, payload.usage.complete], ['cancelled', 'Half of', false])
  assert.deepEqual((await whole).json(), payload)
  assert.deepEqual(await within(engine.exited, () => 'the engine does not end'), PEACE)
  assertQuiet(engine)
})

test('§12.2 when the grace is over, what is left ends failed with engine_shutdown, and that is delivered', async (t) => {
  const engine = await ownEngine(t, { SHUTDOWN_GRACE_MS: '100', ENGINE_LOCALE: 'ru' })
  const client = new EngineClient(engine)
  const tools = await startTools(t, { slow: hangs })
  const speaking = await startProvider(t, [(answer) => answer.text('Half of')])
  const calling = await startProvider(t, [asksFor(['slow', {}])])
  const pausing = await startProvider(t, [refuses(503, { 'retry-after': '60' })])
  const receiver = await startReceiver(t)
  const given = { callback: receiver.callback(), tools: [tools.tool('slow')] }
  const runs = await Promise.all(
    [speaking, calling, pausing].map((provider) => client.start(runBody({ ...given, llm: provider.llm() }))),
  )
  const waiting = client.post(runBody({ llm: (await startProvider(t, [silent])).llm(), wait: true }))
  const [first, , third] = runs
  assert.ok(first !== undefined && third !== undefined)
  const reader = await client.stream(first)
  await reader.event('delta')
  await tools.nth(1)
  await (await client.stream(third)).event('wait')

  engine.signal('SIGINT')
  const deliveries = await Promise.all([1, 2, 3].map((number) => receiver.nth(number)))
  const results = new Map(deliveries.map((one) => payloadOf(one)).map((result) => [result.run_id, result]))
  for (const { run_id } of runs) {
    const result = results.get(run_id)
    assert.deepEqual([result?.status, result?.error?.code], ['failed', 'engine_shutdown'])
    assert.match(String(result?.error?.message), /[а-я]/)
  }
  const spoken = results.get(first.run_id)
  assert.equal(spoken?.text, 'Half of')
  assert.equal(spoken?.messages.length, 1)
  assert.deepEqual(
    spoken?.usage.attempts.map(({ status, error_code }) => [status, error_code]),
    [['unknown', 'shutdown']],
  )
  const called = results.get(runs[1]?.run_id ?? '')
  assert.deepEqual(
    called?.tool_calls.map(({ status }) => status),
    ['unknown'],
  )
  assert.deepEqual(
    called?.messages.map(({ role }) => role),
    ['assistant', 'tool'],
  )

  const waited = await waiting
  assert.equal(waited.status, 200)
  assert.equal(waited.json<RunResult>().error?.code, 'engine_shutdown')
  assert.equal((await reader.ended()).at(-1)?.event, 'done')
  assert.deepEqual(await within(engine.exited, () => 'the engine does not end'), PEACE)
  assertQuiet(engine)
})

test('§12.2 a waited answer that its caller takes slowly is taken whole, and counts as stored, before the process goes', async (t) => {
  const engine = await ownEngine(t, { SHUTDOWN_GRACE_MS: '10000' })
  const hold = gate()
  // More than the system takes off the engine's hands.
  const words = 'x'.repeat(8_000_000)
  const provider = await startProvider(t, [inHalves('', hold.opened, words)])
  const body = JSON.stringify(runBody({ llm: provider.llm(), wait: true }))
  const caller = net.connect(Number(new URL(engine.address).port), '127.0.0.1')
  t.after(() => caller.destroy())
  const head = `POST /runs HTTP/1.1\r\nhost: engine\r\nauthorization: Bearer ${ENGINE_TOKEN}\r\n`
  caller.write(`${head}content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
  await provider.nth(1)
  engine.signal('SIGTERM')
  await engine.line(({ msg }) => msg === 'draining')
  hold.open()
  await engine.line(({ event }) => event === 'ended')
  // Nothing was read so far: the engine has most of the answer still in its hands.
  let answer = ''
  for await (const chunk of caller.setEncoding('latin1')) answer += chunk
  assert.deepEqual(await within(engine.exited, () => 'the engine does not end'), PEACE)
  const [, length] = /^HTTP\/1\.1 200 [^]*?content-length: (\d+)/.exec(answer) ?? []
  assert.equal(answer.slice(answer.indexOf('\r\n\r\n') + 4).length, Number(length))
  assert.ok(Number(length) > 2 * words.length)
  assert.ok(engine.lines.some(({ event }) => event === 'delivered'))
  assertQuiet(engine)
})

test('§12.2 a second signal exits at once', async (t) => {
  const engine = await ownEngine(t, { SHUTDOWN_GRACE_MS: '60000' })
  const client = new EngineClient(engine)
  const provider = await startProvider(t, [silent])
  await client.start(runBody({ llm: provider.llm() }))
  await provider.nth(1)
  engine.signal('SIGTERM')
  await engine.line(({ msg }) => msg === 'draining')
  const before = performance.now()
  engine.signal('SIGTERM')
  const { code, signal } = await within(engine.exited, () => 'the engine does not end')
  assert.ok(performance.now() - before < 2000)
  assert.equal(signal, null)
  assert.notEqual(code, 0)
  assert.equal(engine.stderr(), '')
})

test('§12.2 SS-10: without runs it ends at once, also while a client keeps an idle connection', async (t) => {
  const engine = await ownEngine(t, { SHUTDOWN_GRACE_MS: '60000' })
  const idle = net.connect(Number(new URL(engine.address).port), '127.0.0.1')
  idle.write('GET /health HTTP/1.1\r\nhost: engine\r\n\r\n')
  const [head] = (await once(idle, 'data')) as [Buffer]
  assert.match(head.toString('utf8'), /^HTTP\/1\.1 200/)
  // Longer than any load balancer keeps one: whoever closes first is not the engine.
  assert.match(head.toString('utf8'), /keep-alive: timeout=75/i)
  const before = performance.now()
  await endInPeace(engine)
  assert.ok(performance.now() - before < 3000)
  idle.destroy()
})

test('§12.2 a connection on which nobody ever spoke does not hold up the end', async (t) => {
  const engine = await ownEngine(t, { SHUTDOWN_GRACE_MS: '0' })
  const mute = net.connect(Number(new URL(engine.address).port), '127.0.0.1')
  await once(mute, 'connect')
  t.after(() => mute.destroy())
  // The engine has accepted it: connections are taken in order, and a later one has been answered.
  assert.equal((await new EngineClient(engine).send('/health')).status, 200)
  engine.signal('SIGTERM')
  assert.deepEqual(await within(engine.exited, () => 'a mute connection keeps the process alive', 6000), PEACE)
})

test('§12.2 a callback that waits for its next attempt is given one more, and then the process goes', async (t) => {
  const engine = await ownEngine(t, { CALLBACK_SCHEDULE: '60,60,60' })
  const client = new EngineClient(engine)
  const good = await startReceiver(t, [500, 200])
  const bad = await startReceiver(t, [500])
  const bodies = [good, bad].map((receiver) => runBody({ callback: receiver.callback() }))
  for (const body of bodies) await client.start(body)
  await engine.line((line) => line['event'] === 'callback_attempt' && line['status'] === 500)
  await Promise.all([good.nth(1), bad.nth(1)])
  const before = performance.now()
  engine.signal('SIGTERM')
  assert.deepEqual(await within(engine.exited, () => 'the engine does not end'), PEACE)
  const took = performance.now() - before
  assert.equal(good.received.length, 2)
  assert.equal(bad.received.length, 2)
  assertQuiet(engine)
  // Nothing more can happen once both have had their one more attempt.
  assert.ok(took < 4000, `it took ${Math.round(took)} ms`)
})

test('§12.2 as process 1 of a container it obeys SIGTERM and SIGINT, and a second signal at once', async (t) => {
  const problem = pid1Problem()
  if (problem !== null) return t.skip(problem)
  // The kernel drops signals that process 1 has no handler for, so a handler that was forgotten would hang here.
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    const engine = await ownEngine(t, { [AS_PID_1]: '1', SHUTDOWN_GRACE_MS: '0' })
    engine.signal(name)
    assert.deepEqual(await within(engine.exited, () => `process 1 does not end on ${name}`), PEACE)
    assertQuiet(engine)
  }
  const engine = await ownEngine(t, { [AS_PID_1]: '1', SHUTDOWN_GRACE_MS: '60000' })
  const provider = await startProvider(t, [silent])
  await new EngineClient(engine).start(runBody({ llm: provider.llm() }))
  await provider.nth(1)
  engine.signal('SIGTERM')
  await engine.line(({ msg }) => msg === 'draining')
  engine.signal('SIGTERM')
  assert.equal((await within(engine.exited, () => 'process 1 does not end at the second signal')).code, 1)
})

test('§12.2 a signal is heard before the modules are read: process 1 would lose it, and run on until it is killed', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'hears-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'hears.mjs')
  writeFileSync(
    file,
    `import fs from 'node:fs'
import { createRequire } from 'node:module'
const { cache } = createRequire(import.meta.url)
const isRead = () => Object.keys(cache).some((name) => name.includes('fastify'))
process.on('newListener', (name) => name === 'SIGTERM' && fs.writeSync(1, \`hears \${isRead()}\\n\`))\n`,
  )
  const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
  const hearing = { NODE_OPTIONS: `--import ${pathToFileURL(file).href}` }
  const engine = spawn(process.execPath, [main], {
    env: { ...hearing, ENGINE_TOKEN, HOST: '127.0.0.1', PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => engine.kill('SIGKILL'))
  const ended = once(engine, 'close')
  const [first] = (await once(engine.stdout, 'data')) as [Buffer]
  engine.kill('SIGTERM')
  assert.match(first.toString(), /^hears false\n/)
  engine.stdout.resume()
  assert.deepEqual(await within(ended, () => 'it goes on'), [0, null])
})
