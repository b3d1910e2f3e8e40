/**
 * The composition root: every part is made here, once, and handed to those that use it. Nothing is decided here.
 */
import { readFileSync } from 'node:fs'
import type { Logger } from 'pino'
import { createAdmission } from './admission.ts'
import { createOutbox } from './delivery/outbox.ts'
import type { Egress } from './egress/egress.ts'
import { createEgress } from './egress/open.ts'
import { instantOf } from './contract/instant.ts'
import { sayIn } from './i18n/say.ts'
import { createLogJournal } from './journal/log-journal.ts'
import { providerTable } from './providers/built-in.ts'
import { gigachatHosts } from './providers/gigachat/own-hosts.ts'
import { createKeyGate } from './providers/key-gate.ts'
import type { KeySettings } from './providers/keys.ts'
import { createModel } from './providers/model.ts'
import { targetFaults } from './providers/target-faults.ts'
import { createMemoryRuns } from './runs/memory-runs.ts'
import { resultUrl } from './runs/run-links.ts'
import { signTicket } from './runs/run-token.ts'
import { createRunner } from './runs/runner.ts'
import { createServer, type EngineServer } from './server/create-server.ts'
import type { Settings } from './settings.ts'
import { checkValue } from './tools/arguments.ts'
import { createLateResults } from './tools/late-results.ts'
import { createTools } from './tools/tools.ts'

export interface Engine {
  /** Opens the port; resolves to the address it listens on, such as `http://127.0.0.1:8080`. */
  listen(): Promise<string>
  /** Drains: runs get `graceMs` (default SHUTDOWN_GRACE_MS), callbacks are flushed, sockets closed. */
  close(options?: { readonly graceMs?: number }): Promise<void>
}

/** Callbacks get this long to be flushed once the runs have ended. */
const FLUSH_MS = 10_000

/** Streams get this long to write their last events, and answers their last bytes. */
const LAST_WORDS_MS = 2000

// oxlint-disable-next-line max-lines-per-function -- one list of parts, in the order in which they need one another
export function createEngine(settings: Settings, logger: Logger): Engine {
  const { engineTokens: tokens } = settings
  // Where no PUBLIC_URL is set it is known once the port is open, and nobody asks for it before.
  let publicUrl = settings.publicUrl ?? ''
  const journal = createLogJournal(logger)
  const say = sayIn(settings.locale)
  const egress = openEgress(settings)
  const keys = keysOf(settings)
  const table = providerTable(settings.gigachatScope)
  const runs = createMemoryRuns({ ...settings, journal, onAcked: (runId) => outbox.stop(runId) })
  const outbox = createOutbox({
    egress,
    secret: settings.callbackSecret ?? '',
    store: runs.store,
    pausesMs: settings.callbackPausesMs,
    onBug: (run_id, error) => journal({ event: 'bug', run_id, stack: stackOf(error) }),
  })
  const lateResults = createLateResults({ now: Date.now })
  const gate = createKeyGate({ startLimit: settings.keyConcurrency })
  const model = createModel({
    egress,
    table,
    keys,
    gate,
    gigachat: { authUrl: settings.gigachatAuthUrl, scope: settings.gigachatScope },
    firstTokenMs: settings.firstTokenMs,
    stallMs: settings.stallMs,
  })
  const shutdown = new AbortController()
  runs.queue.start(
    createRunner({
      modelForRun: () => model.forRun(),
      tools: createTools({
        egress,
        lateResults,
        now: Date.now,
        random: Math.random,
        resultUrl: (runId, callId) => resultUrl({ publicUrl, tokens, runId }, callId),
      }),
      outbox,
      ticket: ({ run_id, call_id, tool, args_hash, expires_at }) =>
        signTicket(tokens, {
          runId: run_id,
          callId: call_id,
          tool,
          argsHash: args_hash,
          expiresAt: instantOf(expires_at),
        }),
      say,
      checkOutput: checkValue,
      journal,
      shutdown: shutdown.signal,
    }),
  )

  let draining = false
  const server = createServer({
    tokens,
    get publicUrl() {
      return publicUrl
    },
    allowedOrigins: settings.allowedOrigins,
    maxBodyBytes: settings.maxBodyBytes,
    maxRuns: settings.maxRuns,
    store: runs.store,
    events: runs.events,
    lateResults,
    admit: createAdmission({
      defaultTimezone: settings.defaultTimezone,
      tokens,
      hasCallbackSecret: settings.callbackSecret !== null,
      judge: (purpose, url, ownHosts) => egress.judge(purpose, url, ownHosts),
      targetFaults: (targets) => targetFaults(targets, { keys, table, judge: (...call) => egress.judge(...call) }),
    }),
    queued: () => gate.gauge().waiting,
    draining: () => draining,
    version: version(),
    log: logger,
  })

  const close: Engine['close'] = async ({ graceMs = settings.shutdownGraceMs } = {}) => {
    draining = true
    await runs.queue.drain(AbortSignal.timeout(graceMs))
    shutdown.abort()
    await runs.queue.drain(AbortSignal.timeout(FLUSH_MS))
    await outbox.flush(AbortSignal.timeout(FLUSH_MS))
    await closeServer(server)
    runs.close()
    await egress.close()
  }

  async function listen(): Promise<string> {
    const address = await server.app.listen({ host: settings.host, port: settings.port })
    publicUrl ||= `http://127.0.0.1:${new URL(address).port}`
    return address
  }

  return { listen, close }
}

function openEgress(settings: Settings): Egress {
  const { gigachatAuthUrl, gigachatTls } = settings
  const hosts = gigachatHosts(gigachatAuthUrl, settings.baseUrls.gigachat ?? null)
  const isOwn = gigachatTls.ca !== null || gigachatTls.identity !== null
  return createEgress({
    allowlist: settings.egressAllowlist,
    providerAllowlist: settings.providerAllowlist,
    devInsecure: settings.devInsecure,
    proxies: { all: settings.proxyAll, byProvider: settings.proxyByProvider },
    tls: isOwn ? { gigachat: { hosts, ...gigachatTls } } : {},
  })
}

function keysOf({ apiKeys, baseUrls, gigachatTls }: Settings): KeySettings {
  return { keys: apiKeys, baseUrls, certified: gigachatTls.identity === null ? [] : ['gigachat'] }
}

async function closeServer(server: EngineServer): Promise<void> {
  await server.closeStreams(AbortSignal.timeout(LAST_WORDS_MS))
  // A connection on which nobody has spoken yet is idle to nobody's eyes but ours.
  const mute = setTimeout(() => server.app.server.closeAllConnections(), LAST_WORDS_MS)
  await server.app.close()
  clearTimeout(mute)
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** package.json stands beside src/ and dist/ alike. */
function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest
    ? String(manifest.version)
    : 'unknown'
}
