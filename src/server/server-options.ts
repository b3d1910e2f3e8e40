/** What the HTTP side needs from the rest of the engine. Types only. */
import type { ReadLogs } from '../journal/log-query.ts'
import type { ProviderList } from '../contract/provider-list.ts'
import type { EventLog, RunStore } from '../runs/ports.ts'
import type { EngineTokens } from '../runs/run-token.ts'
import type { Admit } from './admission-port.ts'
import type { LateResults } from './late-results-port.ts'
import type { Validate } from './validation-port.ts'

export interface ServerOptions {
  /** ENGINE_TOKEN: all are accepted, the first signs. */
  readonly tokens: EngineTokens
  /** PUBLIC_URL: how others reach this engine; it may have a path. */
  readonly publicUrl: string
  /** ALLOWED_ORIGINS: as a browser writes them, `https://app.example`. */
  readonly allowedOrigins: readonly string[]
  /** MAX_BODY_BYTES, of a JSON body. */
  readonly maxBodyBytes: number
  /** MAX_RUNS: with so many going, `/ready` says no. The store refuses by itself. */
  readonly maxRuns: number
  /** Why the process can take no more runs than it has; null: it can. */
  readonly overload: () => 'memory' | 'event_loop' | null
  readonly store: RunStore
  readonly events: EventLog
  readonly lateResults: LateResults
  readonly admit: Admit
  readonly validate: Validate
  /** Pages of the journal. */
  readonly readLogs: ReadLogs
  /** What GET /providers answers. */
  readonly providers: ProviderList
  /** The text of GET /metrics. */
  readonly readMetrics: () => Promise<string>
  /** METRICS_PUBLIC: anybody may read it. */
  readonly metricsPublic: boolean
  /** Counts what was answered. Default: nobody does. */
  readonly watch?: ServerWatch
  /** Requests that wait for a place at their provider key. */
  readonly queued: () => number
  /** True from the first SIGTERM on. */
  readonly draining: () => boolean
  /** Of the engine, for `/health` and the OpenAPI document. */
  readonly version: string
  readonly log: ServerLog
  /** A stream's reader that takes nothing for so long is dropped. Default: `STALLED_MS` of `stream-writer.ts`. */
  readonly stalledMs?: number
  /** Default: those of `create-server.ts`. */
  readonly timeouts?: ServerTimeouts
}

/** How long a connection may keep the server waiting. */
export interface ServerTimeouts {
  /** Between two requests. */
  readonly keepAliveMs: number
  /** Until the headers of a request are whole; also for a connection on which nobody speaks. Longer than `keepAliveMs`. */
  readonly headersMs: number
  /** Until its body is whole, from its first byte on. */
  readonly requestMs: number
  /** How often it is looked at. */
  readonly checkMs: number
}

/** Told of every answer, once it is written; cheap, and never throws. */
export interface ServerWatch {
  /** `route` as in SPEC §2.1, such as `GET /runs/{id}`; `none` where no route is. `code` of the error; null: none. */
  answered(route: string, status: number, code: string | null): void
  /** A stream was cut because its reader took nothing. */
  streamDropped(): void
}

/** A pino logger fits. Only bugs are told here, with their stack; never a header, a URL or a body. */
export interface ServerLog {
  error(facts: Readonly<Record<string, unknown>>, message: string): void
}
