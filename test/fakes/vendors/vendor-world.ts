/** The real engine in this process, sent to a fake server for every vendor that it knows, and tools beside. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { pino } from 'pino'
import { createEngine, type Engine } from '../../../src/compose.ts'
import type { ProviderName } from '../../../src/contract/run-request.ts'
import { readSettings } from '../../../src/settings.ts'
import type { Environment } from '../../../src/settings/setting-reader.ts'
import { EngineClient } from '../../conformance/engine-client.ts'
import { ENGINE_TOKEN } from '../engine-process.ts'
import { builtServers, builtVendors, GIGACHAT_AUTH_SETTING } from './built.ts'
import type { Owner } from './http-server.ts'
import { startVendor, type LiveVendor } from './vendor-server.ts'
import { startTools, type VendorTools } from './vendor-tools.ts'

export interface World {
  readonly engine: EngineClient
  readonly tools: VendorTools
  /** undefined for the provider that plays scripts. */
  readonly live: (provider: ProviderName, profile?: string) => LiveVendor | undefined
}

async function openWorld(owner: Owner, environment: Environment): Promise<World & { readonly close: Engine['close'] }> {
  const live = await Promise.all(builtVendors.map((vendor) => startVendor(owner, vendor)))
  const named = await Promise.all(builtServers.map((vendor) => startVendor(owner, vendor)))
  const outcome = readSettings({
    ENGINE_TOKEN,
    DEV_INSECURE: '1',
    HOST: '127.0.0.1',
    PORT: '0',
    ...Object.fromEntries(live.flatMap((one) => addresses(one))),
    ...environment,
  })
  assert.ok(outcome.ok, outcome.ok ? '' : outcome.faults.join('\n'))
  const engine = createEngine(outcome.settings, pino({ level: 'silent' }))
  const address = await engine.listen()
  return {
    engine: new EngineClient({ address }),
    tools: await startTools(owner),
    live: (provider, profile) =>
      profile === undefined
        ? live.find(({ vendor }) => vendor.provider === provider)
        : named.find(({ vendor }) => vendor.profile === profile),
    close: (options) => engine.close(options),
  }
}

function addresses({ baseUrl, tokens, vendor }: LiveVendor): [string, string][] {
  const name = vendor.provider.toUpperCase().replaceAll('-', '_')
  const own: [string, string] = [`${name}_BASE_URL`, baseUrl]
  return tokens === null || GIGACHAT_AUTH_SETTING === null ? [own] : [own, [GIGACHAT_AUTH_SETTING, tokens.url]]
}

export interface SharedWorld {
  open(): Promise<World>
  /** Ends the engine and the fakes; the last test of a file calls it. */
  close(): Promise<void>
}

/** One world for all tests of a file: opened by the first that needs it. */
export function sharedWorld(environment: Environment = {}): SharedWorld {
  let opened: ReturnType<typeof openWorld> | null = null
  const closers: (() => void | Promise<void>)[] = []
  const owner: Owner = { after: (close) => void closers.push(close) }

  async function close(): Promise<void> {
    const world = opened
    opened = null
    if (world === null) return
    await (await world).close({ graceMs: 1000 })
    for (const closer of closers.splice(0)) await closer()
  }

  // Where only some tests of a file are run, its last one may not be among them.
  after(close)
  return { open: () => (opened ??= openWorld(owner, environment)), close }
}
