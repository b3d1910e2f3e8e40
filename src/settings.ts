/**
 * The only reader of the environment. Everything is checked at start: one clear line per fault, and no value of a secret in
 * any of them. SPEC §12.1 is the table of these; a test compares the two.
 */
import { parseSchedule, parseSecrets } from './delivery/callback-settings.ts'
import type { Secrets } from './delivery/envelope.ts'
import type { AllowRule } from './egress/policy.ts'
import type { PrivateAllow } from './egress/private-allow.ts'
import { isTimeZone } from './contract/time-zone.ts'
import type { TracingSettings } from './observe/tracing.ts'
import { TRACING_NAMES, tracingSettings } from './observe/tracing-settings.ts'
import { locales, type Locale } from './i18n/say.ts'
import { PROVIDER_SETTING_NAMES, type ProviderSettings, providerSettings } from './providers/provider-settings.ts'
import { type Environment, SettingReader } from './settings/setting-reader.ts'

export interface Settings extends ProviderSettings {
  /** ENGINE_TOKEN: several for rotation; the first signs, any is accepted. */
  readonly engineTokens: readonly [string, ...string[]]
  /** CALLBACK_SECRET: each signs. null: requests with a callback are refused. */
  readonly callbackSecrets: Secrets | null
  /** PUBLIC_URL: how browsers and tools reach this engine; without a slash at its end. null: the loopback address it listens on. */
  readonly publicUrl: string | null
  readonly host: string
  readonly port: number
  readonly allowedOrigins: readonly string[]
  readonly locale: Locale
  readonly defaultTimezone: string
  readonly maxRuns: number
  readonly maxBodyBytes: number
  /** MAX_MEMORY_BYTES, resident: beyond it no run is taken. null: a share of what there is. */
  readonly maxMemoryBytes: number | null
  /** MAX_EVENT_LOOP_LAG_MS: beyond it no run is taken. */
  readonly maxEventLoopLagMs: number
  readonly egressAllowlist: readonly AllowRule[]
  readonly providerAllowlist: readonly AllowRule[]
  /** EGRESS_PRIVATE_ALLOW: private networks and hosts that listed hosts may be in. */
  readonly privateAllow: PrivateAllow
  readonly devInsecure: boolean
  readonly proxyAll: string | null
  readonly firstTokenMs: number
  readonly stallMs: number
  readonly keyConcurrency: number
  readonly resultTtlMs: number
  readonly undeliveredTtlMs: number
  readonly maxResults: number
  readonly maxResultBytes: number
  /** CALLBACK_SCHEDULE, in ms here: the pauses between the attempts of a delivery. */
  readonly callbackPausesMs: readonly number[]
  readonly shutdownGraceMs: number
  /** LOG_DIR: where the journal is kept beside memory; null: nowhere. The folder is there. */
  readonly logDir: string | null
  readonly logRetentionDays: number
  readonly logDirMaxBytes: number
  /** LOG_CONTENT: the journal holds words of users, models and tools too. */
  readonly logContent: boolean
  /** ERROR_WEBHOOK_URL: who is told of errors; null: nobody. */
  readonly errorWebhookUrl: string | null
  /** STATE_DIR: where runs are kept that must outlast the process; null: in memory only. The folder is there. */
  readonly stateDir: string | null
  /** STATE_KEY: secrets for what is kept there; the first seals, each opens. Empty: the engine tokens alone. */
  readonly stateKeys: readonly string[]
  /** STATE_MAX_BYTES: with so much kept there no run is taken. */
  readonly stateMaxBytes: number
  /** RECORD_DIR: where each run's cassette is written; null: none is. */
  readonly recordDir: string | null
  readonly logLevel: LogLevel
  /** METRICS_PUBLIC: anybody may read GET /metrics. */
  readonly metricsPublic: boolean
  /** What the variables of OpenTelemetry say; null: OTEL_EXPORTER_OTLP_ENDPOINT is not set, and nothing is traced. */
  readonly tracing: TracingSettings | null
}

export type SettingsOutcome =
  | { readonly ok: true; readonly settings: Settings }
  /** One sentence each, naming the variable. */
  | { readonly ok: false; readonly faults: readonly string[] }

const LOG_LEVELS = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Every variable that is read here. */
export const settingNames: readonly string[] = [
  'ENGINE_TOKEN',
  'CALLBACK_SECRET',
  'PUBLIC_URL',
  'HOST',
  'PORT',
  'ALLOWED_ORIGINS',
  'ENGINE_LOCALE',
  'DEFAULT_TIMEZONE',
  'MAX_RUNS',
  'MAX_BODY_BYTES',
  'MAX_MEMORY_BYTES',
  'MAX_EVENT_LOOP_LAG_MS',
  'EGRESS_ALLOWLIST',
  'PROVIDER_ALLOWLIST',
  'EGRESS_PRIVATE_ALLOW',
  'DEV_INSECURE',
  'NODE_ENV',
  'PROXY_URL',
  ...PROVIDER_SETTING_NAMES,
  'FIRST_TOKEN_MS',
  'STALL_MS',
  'KEY_CONCURRENCY',
  'RESULT_TTL_MS',
  'UNDELIVERED_TTL_MS',
  'MAX_RESULTS',
  'MAX_RESULT_BYTES',
  'CALLBACK_SCHEDULE',
  'SHUTDOWN_GRACE_MS',
  'LOG_DIR',
  'LOG_RETENTION_DAYS',
  'LOG_DIR_MAX_BYTES',
  'LOG_CONTENT',
  'ERROR_WEBHOOK_URL',
  'STATE_DIR',
  'STATE_KEY',
  'STATE_MAX_BYTES',
  'RECORD_DIR',
  'LOG_LEVEL',
  'METRICS_PUBLIC',
  ...TRACING_NAMES,
]

export function readSettings(environment: Environment): SettingsOutcome {
  const reader = new SettingReader(environment)
  const port = reader.whole('PORT', 8080, 0, 65_535)
  const devInsecure = reader.flag('DEV_INSECURE')
  if (devInsecure && reader.text('NODE_ENV') === 'production') {
    reader.fault(
      'DEV_INSECURE',
      'must not be set with NODE_ENV=production: it allows plain http and loopback addresses',
    )
  }
  const settings: Settings = {
    engineTokens: tokens(reader),
    callbackSecrets: callbackSecrets(reader),
    publicUrl: reader.url('PUBLIC_URL'),
    host: reader.text('HOST') ?? '0.0.0.0',
    port,
    allowedOrigins: origins(reader),
    locale: reader.word('ENGINE_LOCALE', Object.keys(locales) as Locale[], 'en'),
    defaultTimezone: timezone(reader),
    maxRuns: reader.whole('MAX_RUNS', 500, 1, 1_000_000),
    maxBodyBytes: reader.whole('MAX_BODY_BYTES', 33_554_432, 1024, 536_870_912),
    maxMemoryBytes: reader.optionalWhole('MAX_MEMORY_BYTES', 67_108_864, 17_592_186_044_416),
    maxEventLoopLagMs: reader.whole('MAX_EVENT_LOOP_LAG_MS', 1000, 20, 60_000),
    egressAllowlist: reader.allowlist('EGRESS_ALLOWLIST'),
    providerAllowlist: reader.allowlist('PROVIDER_ALLOWLIST'),
    privateAllow: reader.privateAllow('EGRESS_PRIVATE_ALLOW'),
    devInsecure,
    proxyAll: reader.proxy('PROXY_URL'),
    ...providerSettings(reader),
    firstTokenMs: reader.whole('FIRST_TOKEN_MS', 120_000, 10, 86_400_000),
    stallMs: reader.whole('STALL_MS', 120_000, 10, 86_400_000),
    keyConcurrency: reader.whole('KEY_CONCURRENCY', 8, 1, 64),
    resultTtlMs: reader.whole('RESULT_TTL_MS', 3_600_000, 0, 604_800_000),
    undeliveredTtlMs: reader.whole('UNDELIVERED_TTL_MS', 86_400_000, 1000, 604_800_000),
    maxResults: reader.whole('MAX_RESULTS', 10_000, 1, 10_000_000),
    maxResultBytes: reader.whole('MAX_RESULT_BYTES', 268_435_456, 1_048_576, 17_179_869_184),
    callbackPausesMs: pauses(reader),
    shutdownGraceMs: reader.whole('SHUTDOWN_GRACE_MS', 30_000, 0, 3_600_000),
    logDir: reader.folder('LOG_DIR'),
    logRetentionDays: reader.whole('LOG_RETENTION_DAYS', 14, 1, 3650),
    logDirMaxBytes: reader.whole('LOG_DIR_MAX_BYTES', 1_073_741_824, 1_048_576, 1_099_511_627_776),
    logContent: reader.flag('LOG_CONTENT'),
    errorWebhookUrl: reader.wholeUrl('ERROR_WEBHOOK_URL'),
    stateDir: reader.folder('STATE_DIR'),
    stateKeys: secrets(reader, 'STATE_KEY'),
    stateMaxBytes: reader.whole('STATE_MAX_BYTES', 4_294_967_296, 1_048_576, 1_099_511_627_776),
    recordDir: reader.folder('RECORD_DIR'),
    logLevel: reader.word('LOG_LEVEL', LOG_LEVELS, 'info'),
    metricsPublic: reader.flag('METRICS_PUBLIC'),
    tracing: tracingSettings(reader),
  }
  return reader.faults.length === 0 ? { ok: true, settings } : { ok: false, faults: reader.faults }
}

/** Short tokens can be guessed, and everything hangs on them: run tokens are signed with the first. */
const TOKEN_MIN_LENGTH = 16

function tokens(reader: SettingReader): [string, ...string[]] {
  const [first, ...others] = reader.list('ENGINE_TOKEN')
  if (first === undefined) {
    reader.fault(
      'ENGINE_TOKEN',
      'is required: a secret of at least 16 characters that the harness sends as a bearer token',
    )
    return ['']
  }
  const odd = [first, ...others].some((token) => token.length < TOKEN_MIN_LENGTH || !/^[\x21-\x7e]+$/.test(token))
  if (odd) reader.fault('ENGINE_TOKEN', 'each token must be at least 16 visible ASCII characters')
  return [first, ...others]
}

/** Secrets separated by commas, long enough not to be guessed from what they sealed. */
function secrets(reader: SettingReader, name: string): readonly string[] {
  const list = reader.list(name)
  if (list.length === 0 && reader.text(name) !== null) reader.fault(name, 'holds commas and no secret')
  if (list.some((secret) => secret.length < TOKEN_MIN_LENGTH)) {
    reader.fault(name, `each secret must be at least ${TOKEN_MIN_LENGTH} characters`)
  }
  return list
}

function callbackSecrets(reader: SettingReader): Settings['callbackSecrets'] {
  const text = reader.text('CALLBACK_SECRET')
  if (text === null) return null
  const parsed = parseSecrets(text)
  if (parsed.ok) return parsed.value
  reader.fault('CALLBACK_SECRET', parsed.fault)
  return null
}

function origins(reader: SettingReader): string[] {
  return reader.list('ALLOWED_ORIGINS').map((origin) => {
    const parsed = URL.parse(origin)
    if (parsed === null || parsed.origin === 'null' || parsed.origin !== origin.replace(/\/$/, '').toLowerCase()) {
      reader.fault(
        'ALLOWED_ORIGINS',
        `holds no origin such as https://app.example.com: ${JSON.stringify(origin.slice(0, 100))}`,
      )
      return origin
    }
    return parsed.origin
  })
}

function timezone(reader: SettingReader): string {
  const name = reader.text('DEFAULT_TIMEZONE') ?? 'UTC'
  if (!isTimeZone(name)) {
    reader.fault(
      'DEFAULT_TIMEZONE',
      `must be an IANA time zone such as Europe/London; got ${JSON.stringify(name.slice(0, 100))}`,
    )
  }
  return name
}

function pauses(reader: SettingReader): readonly number[] {
  const parsed = parseSchedule(reader.list('CALLBACK_SCHEDULE'))
  if (parsed.ok) return parsed.value
  reader.fault('CALLBACK_SCHEDULE', parsed.fault)
  return []
}
