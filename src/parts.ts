/**
 * Parts of the engine that follow from its settings alone, or nearly: the gate, the journal, who is told of errors, what is
 * a secret. `compose.ts` puts them together with the rest. Nothing is decided here.
 */
import { readFileSync } from 'node:fs'
import type { Logger } from 'pino'
import type { RunFacts } from './cassette/format.ts'
import type { Egress } from './egress/egress.ts'
import { createEgress } from './egress/open.ts'
import { ownHost } from './egress/own-host.ts'
import type { WriteJournal } from './engine/ports.ts'
import { createErrorWebhook, type ErrorWebhook } from './journal/error-webhook.ts'
import { createJournal, type Journal } from './journal/journal.ts'
import { msOfId } from './journal/journal-item.ts'
import { createLogJournal } from './journal/log-journal.ts'
import type { Redactor } from './journal/redact.ts'
import { createLoadMeter, type LoadMeter } from './load/load-meter.ts'
import type { EngineMetrics } from './observe/engine-metrics.ts'
import { createJournalMetrics } from './observe/journal-metrics.ts'
import { createTracing, tracesUrl, type Tracing, type TracingParts } from './observe/tracing.ts'
import { gigachatHosts } from './providers/gigachat/own-hosts.ts'
import type { KeySettings } from './providers/keys.ts'
import type { Settings } from './settings.ts'

export function openEgress(settings: Settings): Egress {
  const { gigachatAuthUrl, gigachatTls } = settings
  const hosts = gigachatHosts(gigachatAuthUrl, settings.baseUrls.gigachat ?? null)
  const isOwn = gigachatTls.ca !== null || gigachatTls.identity !== null
  return createEgress({
    allowlist: settings.egressAllowlist,
    providerAllowlist: settings.providerAllowlist,
    privateAllow: settings.privateAllow,
    devInsecure: settings.devInsecure,
    proxies: { all: settings.proxyAll, byProvider: settings.proxyByProvider },
    tls: isOwn ? { gigachat: { hosts, ...gigachatTls } } : {},
  })
}

export function keysOf({ apiKeys, baseUrls, gigachatTls }: Settings): KeySettings {
  return { keys: apiKeys, baseUrls, certified: gigachatTls.identity === null ? [] : ['gigachat'] }
}

/** What a replay must know of the settings. */
export function runFactsOf(settings: Settings, keys: KeySettings): RunFacts {
  return {
    engine: version(),
    locale: settings.locale,
    first_token_ms: settings.firstTokenMs,
    stall_ms: settings.stallMs,
    gigachat_scope: settings.gigachatScope,
    keys: Object.keys(keys.keys),
    certified: keys.certified ?? [],
    base_urls: keys.baseUrls,
  }
}

/** What must not stand in a recording or in the journal, beside what a request brings. */
export function secretsOf({ apiKeys, callbackSecrets, engineTokens, ...settings }: Settings): string[] {
  const proxies = [settings.proxyAll, ...Object.values(settings.proxyByProvider)].map((url) => URL.parse(url ?? ''))
  const passwords = proxies.map((url) => decodeURIComponent(url?.password ?? ''))
  const webhook = webhookSecrets(settings.errorWebhookUrl)
  const toCollector = Object.values(settings.tracing?.headers ?? {})
  const own = [...engineTokens, ...settings.stateKeys, ...(callbackSecrets ?? []), ...toCollector]
  const pem = settings.gigachatTls.identity?.key.split('\n').filter((line) => !line.startsWith('-----')) ?? []
  return [...own, ...Object.values(apiKeys), ...passwords, ...pem, ...webhook].filter(Boolean)
}

/** What stands in a query and is shorter is a version or a word. */
const SHORTEST_SIGNATURE = 16

/** Whoever has the address of a webhook can often post to it. */
function webhookSecrets(address: string | null): string[] {
  const url = URL.parse(address ?? '')
  if (url === null) return []
  const values = [...url.searchParams.values()].filter(({ length }) => length >= SHORTEST_SIGNATURE)
  return [url.pathname, url.search.slice(1), ...values]
}

export function openErrorWebhook(settings: Settings, egress: Egress, logger: Logger): ErrorWebhook | null {
  const { errorWebhookUrl: url, callbackSecrets: secrets } = settings
  if (url === null) return null
  const refusal = egress.judge('error_webhook', url, [ownHost(url)])
  if (refusal !== null)
    logger.error(refusal, 'ERROR_WEBHOOK_URL is refused by the egress rules: nobody is told of errors')
  const onFailure = (facts: object) => logger.warn(facts, 'a post to ERROR_WEBHOOK_URL failed')
  const clocks = { now: Date.now, elapsed: () => performance.now() }
  return createErrorWebhook({ url, secrets, egress, ...clocks, onFailure })
}

/** null: nothing is traced. */
export function openTracing(settings: Settings, logger: Logger, parts: Omit<TracingParts, 'version'>): Tracing | null {
  if (settings.tracing === null) return null
  const url = tracesUrl(settings.tracing.endpoint)
  const refusal = parts.egress.judge('telemetry', url, [ownHost(url)])
  if (refusal !== null)
    logger.error(refusal, 'OTEL_EXPORTER_OTLP_ENDPOINT is refused by the egress rules: no span is sent')
  return createTracing(settings.tracing, { ...parts, version: version() })
}

export function openJournal(
  settings: Settings,
  parts: {
    readonly redactor: Redactor
    readonly errorWebhook: ErrorWebhook | null
    readonly logger: Logger
    readonly metrics: EngineMetrics
    readonly tracing: Tracing | null
  },
): Journal {
  const { logDir: folder, logRetentionDays: retentionDays, logDirMaxBytes: maxBytes } = settings
  const { tracing } = parts
  const record = createJournalMetrics(parts.metrics)
  const log = createLogJournal(parts.logger)
  return createJournal({
    clear: (entry) => parts.redactor.entry(entry),
    ...(settings.logContent ? { clearContent: (text) => parts.redactor.text(text) } : {}),
    log: (entry) => log(tracing?.marked(entry) ?? entry),
    onEntry(entry, item) {
      // What lasted how long goes by a clock that is never set; when it was, by the entry.
      record(entry, performance.now())
      tracing?.note(entry, msOfId(item.id))
      parts.errorWebhook?.note(entry, item)
    },
    onLost: () => parts.metrics.journalLost.add([]),
    disk: folder === null ? null : { folder, retentionDays, maxBytes },
    now: Date.now,
  })
}

export function openLoadMeter(settings: Settings, journal: WriteJournal): LoadMeter {
  return createLoadMeter({
    maxMemoryBytes: settings.maxMemoryBytes,
    maxLagMs: settings.maxEventLoopLagMs,
    onChange: (reason, { rssBytes: rss_bytes, heapBytes: heap_bytes, lagMs: lag_ms }) => {
      const measured = { reason, rss_bytes, heap_bytes, lag_ms }
      journal({ event: reason === null ? 'overload_ended' : 'overload_began', run_id: null, ...measured })
    },
  })
}

/** package.json stands beside src/ and dist/ alike. */
export function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest
    ? String(manifest.version)
    : 'unknown'
}
