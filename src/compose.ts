/**
 * The composition root: every part is made here, once, and handed to those that use it. Nothing is decided here.
 */
import type { Logger } from 'pino'
import { createAdmission, createJudge } from './admission.ts'
import { credentialsOf, secretsOf as secretsOfRun } from './cassette/plain-record.ts'
import { createRecorder, type RecorderOptions } from './cassette/recorder.ts'
import { createOutbox } from './delivery/outbox.ts'
import type { RunId } from './contract/ids.ts'
import type { Callback } from './contract/run-request.ts'
import { instantOf } from './contract/instant.ts'
import { thrownText } from './contract/thrown-text.ts'
import type { EnginePorts } from './engine/ports.ts'
import type { RunRecord } from './engine/record.ts'
import { sayIn } from './i18n/say.ts'
import { createRedactor } from './journal/redact.ts'
import { countedEgress } from './observe/counted-egress.ts'
import { createEngineMetrics } from './observe/engine-metrics.ts'
import { createMetricsText } from './observe/readings.ts'
import { countAnswers, countStateWrites } from './observe/told-metrics.ts'
import {
  keysOf,
  openEgress,
  openErrorWebhook,
  openJournal,
  openLoadMeter,
  openTracing,
  runFactsOf,
  secretsOf,
  version,
} from './parts.ts'
import { providerTable } from './providers/built-in.ts'
import { createKeyGate } from './providers/key-gate.ts'
import { createModel } from './providers/model.ts'
import { providerList } from './providers/provider-list.ts'
import { targetFaults } from './providers/target-faults.ts'
import { createDurableRuns, type DurableRuns, type DurableRunsOptions } from './runs/durable-runs.ts'
import { createMemoryRuns, type MemoryRunsOptions } from './runs/memory-runs.ts'
import { resultUrl } from './runs/run-links.ts'
import { callToken, runToken, signTicket } from './runs/run-token.ts'
import { createRunner } from './runs/runner.ts'
import { createSealer } from './runs/sealer.ts'
import { liveSources } from './runs/run-sources.ts'
import { steadyClock } from './runs/steady-clock.ts'
import { createServer, type EngineServer } from './server/create-server.ts'
import type { Settings } from './settings.ts'
import { checkValue } from './tools/arguments.ts'
import { createLateResults } from './tools/late-results.ts'
import { createTools } from './tools/tools.ts'
import { createValidation } from './validation.ts'

export interface Engine {
  /**
   * Takes up what STATE_DIR holds and opens the port; resolves to the address it listens on, such as
   * `http://127.0.0.1:8080`. Rejects with a `StartFault` where STATE_DIR cannot be used.
   */
  listen(): Promise<string>
  /**
   * Drains: runs get `graceMs` (default SHUTDOWN_GRACE_MS), callbacks are flushed, sockets closed. Called again while it
   * drains, it only cuts the grace short.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>
  /** Journals what nobody caught, cleared of secrets like everything there. */
  noteCrash(error: unknown, kind: string): void
}

/** Why an engine cannot start, in a sentence for its operator. */
export class StartFault extends Error {}

/** Once the runs have ended, callbacks get this long to be flushed, and who is being answered to take the answer. */
const FLUSH_MS = 10_000

/** Errors that were counted and not told, and spans that wait, get this long to be sent. */
const LAST_NOTICES_MS = 3000

/** Streams get this long to write their last events, and answers their last bytes. */
const LAST_WORDS_MS = 2000

// oxlint-disable-next-line max-lines-per-function -- one list of parts, in the order in which they need one another
export function createEngine(settings: Settings, logger: Logger): Engine {
  const { engineTokens: tokens } = settings
  // Where no PUBLIC_URL is set it is known once the port is open, and nobody asks for it before.
  let publicUrl = settings.publicUrl ?? ''
  const say = sayIn(settings.locale)
  const metrics = createEngineMetrics()
  const egress = countedEgress(openEgress(settings), metrics)
  const redactor = createRedactor(secretsOf(settings))
  const errorWebhook = openErrorWebhook(settings, egress, logger)
  const tracing = openTracing(settings, logger, {
    egress,
    metrics,
    journal: (entry) => journal(entry),
    redact: (text) => redactor.text(text),
  })
  const journalBook = openJournal(settings, { redactor, errorWebhook, logger, metrics, tracing })
  const journal = journalBook.write
  const keys = keysOf(settings)
  const table = providerTable(settings.gigachatScope)
  const ticket: EnginePorts['ticket'] = ({ run_id, call_id, tool, args_hash, expires_at }) =>
    signTicket(tokens, { runId: run_id, callId: call_id, tool, argsHash: args_hash, expiresAt: instantOf(expires_at) })
  const deliveries: MemoryRunsOptions['outbox'] = {
    stop: (runId) => outbox.stop(runId),
    again: (runId, stored) => outbox.again(runId, stored),
  }
  const hold = (request: Parameters<typeof secretsOfRun>[0]['request']) => {
    redactor.hold(secretsOfRun({ request }))
    redactor.holdCredentials(credentialsOf({ request }))
  }
  const onLeft = (runId: RunId, callback: Callback | null) => {
    hold({ targets: [], tools: [], callback })
    redactor.holdTokens([runToken(tokens, runId)])
    if (callback !== null) tracing?.follow(runId, callback.trace ?? null)
  }
  const trace = (record: RunRecord) => tracing?.begin({ ...record, startedAtMs: instantOf(record.startedAt) })
  const runs = openRuns(
    settings,
    { ...settings, journal, outbox: deliveries },
    { say, ticket, onLeft, onCut: trace, onWrite: countStateWrites(metrics) },
  )
  const outbox = createOutbox({
    egress,
    secrets: settings.callbackSecrets,
    sampler: tracing?.sampler,
    store: runs.store,
    pausesMs: settings.callbackPausesMs,
    onBug: (run_id, error) => journal({ event: 'bug', run_id, stack: thrownText(error) }),
  })
  const lateResults = createLateResults({
    now: Date.now,
    onRecord: (run_id, call_id, outcome) => journal({ event: 'late_result', run_id, call_id, outcome }),
  })
  const gate = createKeyGate({ startLimit: settings.keyConcurrency, now: steadyClock() })
  const model = createModel({
    egress,
    table,
    keys,
    gate,
    gigachat: { authUrl: settings.gigachatAuthUrl, scope: settings.gigachatScope },
    firstTokenMs: settings.firstTokenMs,
    stallMs: settings.stallMs,
    onGranted: (values) => redactor.holdTokens(values),
  })
  const toolParts: RecorderOptions['tools'] = {
    egress,
    lateResults,
    random: Math.random,
    sampler: tracing?.sampler,
    resultUrl(runId, callId) {
      redactor.holdTokens([callToken(tokens, runId, callId)])
      return resultUrl({ publicUrl, tokens, runId }, callId)
    },
  }
  const recorder =
    settings.recordDir === null
      ? null
      : createRecorder({
          folder: settings.recordDir,
          facts: runFactsOf(settings, keys),
          secrets: secretsOf(settings),
          model,
          tools: toolParts,
          journal,
        })
  const shutdown = new AbortController()
  runs.queue.start(
    createRunner({
      sourcesFor(record) {
        redactor.holdTokens([runToken(tokens, record.runId)])
        trace(record)
        const live = liveSources({
          modelForRun: (now) => model.forRun((shared) => ({ ...shared, now })),
          toolsForRun: (now) => createTools({ ...toolParts, now }),
          ticket,
        })
        return recorder?.record(record, live) ?? live
      },
      outbox,
      say,
      checkOutput: checkValue,
      journal,
      shutdown: shutdown.signal,
    }),
  )

  const judge = createJudge({
    defaultTimezone: settings.defaultTimezone,
    tokens,
    hasCallbackSecret: settings.callbackSecrets !== null,
    judge: (purpose, url, ownHosts) => egress.judge(purpose, url, ownHosts),
    targetFaults: (targets) => targetFaults(targets, { keys, table, judge: (...call) => egress.judge(...call) }),
  })
  const load = openLoadMeter(settings, journal)
  let draining = false
  const server = createServer({
    tokens,
    get publicUrl() {
      return publicUrl
    },
    allowedOrigins: settings.allowedOrigins,
    maxBodyBytes: settings.maxBodyBytes,
    maxRuns: settings.maxRuns,
    overload: () => load.reason(),
    store: runs.store,
    events: runs.events,
    lateResults,
    admit: createAdmission(judge, { judgeUrl: (url) => egress.judge('image', url), hold }),
    validate: createValidation({ judge, egress, table, keys, now: Date.now }),
    readLogs: journalBook.read,
    providers: providerList(table),
    readMetrics: createMetricsText(metrics, {
      counts: () => runs.store.counts(),
      maxRuns: settings.maxRuns,
      keys: () => gate.readings(),
      openStreams: () => server.openStreams(),
      draining: () => draining,
      load,
      version: version(),
    }),
    metricsPublic: settings.metricsPublic,
    watch: countAnswers(metrics),
    queued: () => gate.gauge().waiting,
    draining: () => draining,
    version: version(),
    log: {
      error: ({ route, stack }) =>
        journal({ event: 'bug', run_id: null, route: String(route), stack: thrownText(stack) }),
    },
  })

  const hurry = new AbortController()
  let closing: Promise<void> | null = null
  const close: Engine['close'] = ({ graceMs = settings.shutdownGraceMs } = {}) => {
    if (graceMs === 0) hurry.abort()
    closing ??= closeAll(AbortSignal.any([AbortSignal.timeout(graceMs), hurry.signal]))
    return closing
  }

  async function closeAll(grace: AbortSignal): Promise<void> {
    draining = true
    await runs.queue.drain(grace)
    shutdown.abort()
    await runs.queue.drain(AbortSignal.timeout(FLUSH_MS))
    const flushing = AbortSignal.timeout(FLUSH_MS)
    await Promise.all([outbox.flush(flushing), server.lastBytes(flushing)])
    await recorder?.flush()
    await closeServer(server)
    await runs.close()
    const lastNotices = AbortSignal.timeout(LAST_NOTICES_MS)
    await Promise.all([tracing?.close(lastNotices), errorWebhook?.close(lastNotices)])
    await journalBook.close()
    await egress.close()
    load.close()
  }

  async function listen(): Promise<string> {
    const recovery = await runs.recover()
    if (!recovery.ok) throw new StartFault(`STATE_DIR cannot be used: ${recovery.reason}`)
    const address = await server.app.listen({ host: settings.host, port: settings.port })
    publicUrl ||= `http://127.0.0.1:${new URL(address).port}`
    for (const runId of recovery.undelivered) outbox.add(runId)
    for (const runId of recovery.again) outbox.again(runId, true)
    return address
  }

  return {
    listen,
    close,
    noteCrash: (error, kind) => journal({ event: 'crashed', run_id: null, kind, stack: thrownText(error) }),
  }
}

/** In memory; where STATE_DIR is set, on disk beside it. */
function openRuns(
  { stateDir, stateKeys, stateMaxBytes, engineTokens }: Settings,
  options: MemoryRunsOptions,
  ports: Pick<DurableRunsOptions, 'say' | 'ticket' | 'onLeft' | 'onCut' | 'onWrite'>,
): DurableRuns {
  if (stateDir === null) {
    const memory = createMemoryRuns(options)
    return {
      ...memory,
      recover: async () => ({ ok: true, undelivered: [], again: [] }),
      close: async () => memory.close(),
    }
  }
  const [first = engineTokens[0], ...others] = [...stateKeys, ...engineTokens]
  const sealer = createSealer([first, ...others])
  return createDurableRuns({ ...options, ...ports, directory: stateDir, sealer, maxBytes: stateMaxBytes })
}

async function closeServer(server: EngineServer): Promise<void> {
  const lastWords = AbortSignal.timeout(LAST_WORDS_MS)
  await Promise.all([server.closeStreams(lastWords), server.lastBytes(lastWords)])
  // A connection on which nobody has spoken yet is idle to nobody's eyes but ours.
  const mute = setTimeout(() => server.app.server.closeAllConnections(), LAST_WORDS_MS)
  await server.app.close()
  clearTimeout(mute)
}
