/**
 * The composition root: every part is made here, once, and handed to those that use it. Nothing is decided here.
 */
import { readFileSync } from 'node:fs'
import type { Logger } from 'pino'
import { createAdmission } from './admission.ts'
import { createOutbox } from './delivery/outbox.ts'
import { createEgress } from './egress/open.ts'
import { instantOf } from './contract/instant.ts'
import { sayIn } from './i18n/say.ts'
import { createLogJournal } from './journal/log-journal.ts'
import { builtIn as table } from './providers/built-in.ts'
import { createKeyGate } from './providers/key-gate.ts'
import { createModel } from './providers/model.ts'
import { targetFaults } from './providers/target-faults.ts'
import { createMemoryRuns } from './runs/memory-runs.ts'
import { resultUrl } from './runs/run-links.ts'
import { signTicket } from './runs/run-token.ts'
import { createRunner } from './runs/runner.ts'
import { createServer } from './server/create-server.ts'
import type { Settings } from './settings.ts'
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

export function createEngine(settings: Settings, logger: Logger): Engine {
  const { engineTokens: tokens } = settings
  // Where no PUBLIC_URL is set it is known once the port is open, and nobody asks for it before.
  let publicUrl = settings.publicUrl ?? ''
  const journal = createLogJournal(logger)
  const say = sayIn(settings.locale)
  const egress = createEgress({
    allowlist: settings.egressAllowlist,
    providerAllowlist: settings.providerAllowlist,
    devInsecure: settings.devInsecure,
    proxies: { all: settings.proxyAll, byProvider: settings.proxyByProvider },
  })
  const keys = { keys: settings.apiKeys, baseUrls: settings.baseUrls }
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

  async function close({ graceMs = settings.shutdownGraceMs }: { readonly graceMs?: number } = {}): Promise<void> {
    draining = true
    await runs.queue.drain(AbortSignal.timeout(graceMs))
    shutdown.abort()
    await runs.queue.drain(AbortSignal.timeout(FLUSH_MS))
    await outbox.flush(AbortSignal.timeout(FLUSH_MS))
    await server.closeStreams()
    await server.app.close()
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
