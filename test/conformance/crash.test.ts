/** SPEC §12.2: a fault that nobody caught ends the process, and loses no run: what is running ends truthfully, what is kept is kept. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { test, type TestContext } from 'node:test'
import { ENGINE_TOKEN, type EngineProcess } from '../fakes/engine-process.ts'
import { payloadOf, startReceiver } from '../fakes/callback-receiver.ts'
import { startProvider } from '../fakes/provider-server.ts'
import { EngineClient, runBody } from './engine-client.ts'
import { within } from './facts.ts'
import { recordingServer } from './recording-server.ts'
import { ownEngine } from './shared-engine.ts'

function folderFor(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'crash-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Loaded into the engine beside its own code: a signal makes it throw where nobody catches. */
function faultyEnvironment(
  folder: string,
  thrown = `new Error('injected ${ENGINE_TOKEN}')`,
): Readonly<Record<string, string>> {
  const file = join(folder, 'fault.mjs')
  writeFileSync(
    file,
    `process.on('SIGUSR2', () => setImmediate(() => { throw ${thrown} }))
process.on('SIGHUP', () => void Promise.reject(new Error('rejected ${ENGINE_TOKEN}')))\n`,
  )
  return { NODE_OPTIONS: `--import ${pathToFileURL(file).href}` }
}

async function endsByFault(engine: EngineProcess, kind: string): Promise<void> {
  assert.deepEqual(await within(engine.exited, () => 'it outlives its fault'), { code: 1, signal: null })
  assert.equal(engine.stderr(), '')
  const crash = engine.lines.find(({ event }) => event === 'crashed')
  assert.deepEqual([crash?.level, crash?.['kind'], crash?.['run_id']], [50, kind, null])
  assert.match(String(crash?.['stack']), /Error: (injected|rejected) \[redacted\]\n\s+at /)
  assert.doesNotMatch(engine.stdout(), /SECRET/)
}

for (const [signal, kind] of [
  ['SIGUSR2', 'uncaughtException'],
  ['SIGHUP', 'unhandledRejection'],
] as const) {
  test(`§12.2 after an ${kind} runs end engine_shutdown and are delivered, it is journalled and told, exit code 1`, async (t) => {
    const folder = folderFor(t)
    const webhook = await recordingServer(t, 'the error webhook', (_request, response) => void response.end())
    const engine = await ownEngine(t, {
      ...faultyEnvironment(folder),
      LOG_DIR: folder,
      ERROR_WEBHOOK_URL: `${webhook.url}/hook`,
      SHUTDOWN_GRACE_MS: '60000',
    })
    const client = new EngineClient(engine)
    const provider = await startProvider(t, [(answer) => answer.text('Half of')])
    const receiver = await startReceiver(t)
    const body = runBody({ llm: provider.llm(), callback: receiver.callback() })
    const accepted = await client.start(body)
    const waiting = client.post({ ...body, wait: true })
    const reader = await client.stream(accepted)
    await reader.event('delta')
    engine.signal(signal)

    const payload = payloadOf(await receiver.nth(1))
    assert.deepEqual([payload.status, payload.error?.code, payload.text], ['failed', 'engine_shutdown', 'Half of'])
    assert.deepEqual((await waiting).json(), payload)
    assert.equal((await reader.ended()).at(-1)?.event, 'done')
    const notice = JSON.parse((await webhook.nth(1)).text) as { readonly event: string }
    assert.equal(notice.event, 'crashed')
    await endsByFault(engine, kind)
    const [file = ''] = readdirSync(folder).filter((name) => name.startsWith('journal-'))
    assert.match(readFileSync(join(folder, file), 'utf8'), /"event":"crashed"/)
  })
}

test('§12.2, §7.3 with STATE_DIR what a crashed engine could not deliver is delivered by the next start', async (t) => {
  const folder = folderFor(t)
  const state = folderFor(t)
  const first = await ownEngine(t, { ...faultyEnvironment(folder), STATE_DIR: state, CALLBACK_SCHEDULE: '60' })
  const provider = await startProvider(t, [(answer) => answer.text('Half of')])
  const receiver = await startReceiver(t, [500, 500, 204])
  const client = new EngineClient(first)
  const accepted = await client.start(runBody({ llm: provider.llm(), callback: receiver.callback() }))
  await (await client.stream(accepted)).event('delta')
  first.signal('SIGUSR2')
  await endsByFault(first, 'uncaughtException')
  const attempts = receiver.received.length

  const second = new EngineClient(await ownEngine(t, { STATE_DIR: state, CALLBACK_SCHEDULE: '0' }))
  const payload = payloadOf(await receiver.nth(attempts + 1))
  assert.deepEqual([payload.run_id, payload.status, payload.text], [accepted.run_id, 'failed', 'Half of'])
  assert.deepEqual((await second.view(accepted.run_id)).result, payload)
})

test('§12.2 a fault while it drains ends the grace, and a second fault changes nothing', async (t) => {
  const folder = folderFor(t)
  const engine = await ownEngine(t, { ...faultyEnvironment(folder), SHUTDOWN_GRACE_MS: '600000' })
  const provider = await startProvider(t, [(answer) => answer.text('Half of')])
  const client = new EngineClient(engine)
  await (await client.stream(await client.start(runBody({ llm: provider.llm() })))).event('delta')
  engine.signal('SIGTERM')
  await engine.line(({ msg }) => msg === 'draining')
  engine.signal('SIGUSR2')
  engine.signal('SIGHUP')
  assert.deepEqual(await within(engine.exited, () => 'the grace goes on'), { code: 1, signal: null })
  assert.ok(engine.lines.some(({ event, error_code }) => event === 'ended' && error_code === 'engine_shutdown'))
})

test('§12.2 whatever was thrown, also what has no text, runs end engine_shutdown and are delivered', async (t) => {
  const trap = `{ get() { throw new Error('get') }, getPrototypeOf() { throw new Error('prototype') } }`
  for (const thrown of [
    'Object.create(null)',
    `Object.defineProperty(new Error('thrown'), 'stack', { get() { throw new Error('stack') } })`,
    `new Proxy({}, ${trap})`,
  ]) {
    const engine = await ownEngine(t, { ...faultyEnvironment(folderFor(t), thrown), SHUTDOWN_GRACE_MS: '60000' })
    const provider = await startProvider(t, [(answer) => answer.text('Half of')])
    const receiver = await startReceiver(t)
    const client = new EngineClient(engine)
    await client.start(runBody({ llm: provider.llm(), callback: receiver.callback() }))
    await provider.nth(1)
    engine.signal('SIGUSR2')
    assert.equal(payloadOf(await receiver.nth(1)).error?.code, 'engine_shutdown', thrown)
    assert.deepEqual(await within(engine.exited, () => `${thrown} is outlived`), { code: 1, signal: null })
    assert.equal(typeof engine.lines.find(({ event }) => event === 'crashed')?.['stack'], 'string', thrown)
    assert.equal(engine.stderr(), '', thrown)
  }
})
