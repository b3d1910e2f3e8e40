/**
 * `npm run demo`: an engine, a small shop and a conversation between them, over HTTP alone. This file puts the parts together
 * and takes them apart again; exit code 0 means that all of it went well and everything is closed.
 *
 * The other files are a model of what a back end has to build; a real one has its database where these have a Map.
 */
import { randomBytes } from 'node:crypto'
import type { RunResult } from '../../src/contract/result.ts'
import { startCallbackReceiver } from './callback-receiver.ts'
import { createConversation } from './conversation.ts'
import { createEngineClient } from './engine-client.ts'
import { type EngineProcess, startEngine } from './engine-process.ts'
import { CUSTOMER, exampleOrders } from './example-orders.ts'
import { DemoFailure } from './failure.ts'
import { type Choice, readFlags, USAGE } from './flags.ts'
import { createHarness } from './harness.ts'
import { createScreen } from './screen.ts'
import { createShop } from './shop.ts'
import { play } from './story.ts'
import { startToolServer } from './tool-server.ts'

const EXIT_FAILED = 1
const EXIT_WRONG_FLAGS = 2
const EXIT_INTERRUPTED = 130

const screen = createScreen(process.stdout, process.env)
const flags = readFlags(process.argv.slice(2), process.env)
switch (flags.kind) {
  case 'help':
    process.stdout.write(USAGE)
    break
  case 'wrong':
    process.stderr.write(`demo: ${flags.message}\ndemo: npm run demo -- --help shows what can be said\n`)
    process.exitCode = EXIT_WRONG_FLAGS
    break
  case 'play':
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      // The engine process goes with this one.
      process.once(signal, () => process.exit(EXIT_INTERRUPTED))
    }
    await demo(flags.choice)
    break
}

async function demo(choice: Choice): Promise<void> {
  const began = Date.now()
  let engine: EngineProcess | null = null
  /** In the order of opening; closed in the other one. */
  const open: (() => Promise<void>)[] = []
  try {
    const started = await startEngine(environmentOf(choice))
    engine = started
    open.push(() => started.stop())
    await connect(choice, started, open)
  } catch (error) {
    fail(error, engine)
  }
  for (const close of open.toReversed()) await close().catch((error: unknown) => fail(error, engine))
  if (process.exitCode === undefined) {
    screen.line(
      'end',
      `all of it went well and everything is closed; ${((Date.now() - began) / 1000).toFixed(1)} s`,
      'green',
    )
  }
}

async function connect(choice: Choice, started: EngineProcess, open: (() => Promise<void>)[]): Promise<void> {
  const { url, engineToken, callbackSecret } = started
  const conversation = createConversation()
  const store = (result: RunResult) => conversation.storeResult(result)
  const engine = createEngineClient({ url, engineToken, store })
  const shop = createShop(exampleOrders)
  const tools = await startToolServer(shop, randomBytes(24).toString('base64url'))
  open.push(() => tools.close())
  const receiver = await startCallbackReceiver({ secret: callbackSecret, store })
  open.push(() => receiver.close())

  const { version, contract_version } = await engine.health()
  screen.line('engine', `${url}, version ${version}, contract ${contract_version}`)
  screen.line('tools', `${tools.url}: ${tools.tools.map(({ name, effect }) => `${name} (${effect})`).join(', ')}`)
  screen.line('callback', receiver.callbackUrl)
  screen.line('model', `${choice.provider}, ${choice.model}`)

  const meta = { tenant_id: 'shop_1', session_id: 'chat_7', user_id: CUSTOMER, timezone: 'Europe/London' }
  const setting = { choice, tools: tools.tools, callbackUrl: receiver.callbackUrl, meta }
  await play({ harness: createHarness({ conversation, engine, receiver, setting, screen }), shop, screen })
  screen.title(`${conversation.history().length} messages in the conversation, one refund made`)
}

/** Of this process's environment the engine gets what the chosen provider needs. */
function environmentOf({ provider, baseUrl }: Choice): Record<string, string> {
  if (provider === 'scripted') return {}
  const prefix = provider.toUpperCase().replaceAll('-', '_')
  const names = [`${prefix}_API_KEY`, `${prefix}_BASE_URL`, `PROXY_${prefix}`, 'PROXY_URL']
  const given = Object.entries(process.env).filter(([name, value]) => names.includes(name) && value !== undefined)
  // As the operator's own address, so that the key of the environment may go there.
  const address = baseUrl === null ? {} : { [`${prefix}_BASE_URL`]: baseUrl }
  return { ...(Object.fromEntries(given) as Record<string, string>), ...address }
}

function fail(error: unknown, engine: EngineProcess | null): void {
  process.exitCode = EXIT_FAILED
  screen.end()
  const said = error instanceof DemoFailure ? error.message : error instanceof Error ? error.stack : String(error)
  process.stderr.write(`demo failed: ${said}\n`)
  for (const line of engine?.lastLines().slice(-5) ?? []) process.stderr.write(`  engine: ${line}\n`)
}
