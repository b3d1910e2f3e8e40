/**
 * A dialect: how one wire format asks and answers. A pair of pure parts around a byte stream: `request` writes the HTTP
 * request of one attempt, `reader` turns what comes back into neutral parts, `fault` reads an HTTP error.
 *
 * No dialect opens a socket, reads a clock or retries. What differs between vendors of one dialect is data in `profile.ts`.
 */
import type { Json, JsonObject } from '../contract/json.ts'
import type { StopReason } from '../contract/message.ts'
import type { Warning } from '../contract/result.ts'
import type { Params, Target } from '../contract/run-request.ts'
import type { Tokens } from '../contract/usage.ts'
import type { Ask, ModelPart } from '../engine/ports.ts'
import type { Profile } from './profile.ts'
import type { FetchedParts } from './sent-part.ts'

/** One attempt to be written down. */
export interface DialectCall {
  readonly ask: Ask
  readonly target: Target
  readonly profile: Profile
  readonly apiKey: string | null
  /** Without a slash at its end. */
  readonly baseUrl: string
  /** Repairs learnt earlier in this run for this model; each is done at most once. */
  readonly repairs: ReadonlySet<Repair>
  /** What the engine read from addresses for this run. Absent: nothing. */
  readonly fetched?: FetchedParts
}

/**
 * What one repeat of a refused request may leave out. `no_thinking`: it switches thinking off and says that there was none, for
 * the model wants its own reasoning back and there is none; `no_urls`: what is given by address is fetched by the engine; `no_fetched`:
 * what the engine fetched is replaced; `no_format`: the model is told the form of its answer in words alone;
 * `other_max_tokens`: the bound goes by the other of its two names; `new_token`: it shows a new access token instead;
 * `drop_…`: a param that the model does not take after all.
 */
export type Repair =
  | 'no_reasoning'
  | 'no_thinking'
  | 'no_stream_options'
  | 'no_state_id'
  | 'no_urls'
  | 'no_fetched'
  | 'no_format'
  | 'other_max_tokens'
  | 'new_token'
  | `drop_${DroppableParam}`

/** Params that a request can do without; of `max_output_tokens` what the model itself demands stays. */
export type DroppableParam = Exclude<keyof Params, 'thinking' | 'extra'>

export interface ProviderRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** JSON, UTF-8. The same call always gives the same bytes, and a longer conversation only adds at its end. */
  readonly body: string
  /** What the request leaves out or replaces, told once a run. */
  readonly warnings: readonly Warning[]
}

/** Where a reader puts what a user may see, piece by piece. Pieces are never empty; a surrogate pair is never torn. */
export interface Sink {
  text(text: string): void
  reasoning(text: string): void
}

/** The kinds of failure; what follows from each is decided in `retry.ts`. */
export type FaultClass =
  | 'rate'
  | 'overloaded'
  | 'quota'
  | 'auth'
  | 'not_found'
  | 'bad_request'
  | 'context_overflow'
  | 'content'
  | 'server'
  | 'network'
  | 'timeout'
  | 'malformed'

export interface ProviderFault {
  readonly class: FaultClass
  /** The provider's own words, at most 500 characters, secrets out. For the journal, never for the user. */
  readonly detail: string
  /** HTTP status; null for an error inside a 200 stream and for what never got an answer. */
  readonly status: number | null
  /** Milliseconds the provider asked to wait; null where it said nothing sensible. */
  readonly retryAfterMs: number | null
  /** A repeat that may succeed where this request could not. */
  readonly repair: Repair | null
}

/** Token counts as the provider told them. */
export interface UsageReading {
  readonly tokens: Tokens
  /** Of the cache writes, those kept for an hour or longer: they have their own price. Absent: none were told of. */
  readonly cacheWriteLong?: number
  /** `input`: the answer was cut before the output count came; output is then 0 here and must be estimated. */
  readonly known: 'all' | 'input'
}

/** Everything an attempt's answer held when it ended, whole or not. */
export interface Reading {
  /** The protocol's end mark was seen: only then is this an answer. */
  readonly complete: boolean
  /** In the order in which the model wrote them. Calls cut by the end have fault `cut`. */
  readonly parts: readonly ModelPart[]
  readonly stop: StopReason
  /** The provider's own word; null where it said none. */
  readonly rawStop: string | null
  readonly usage: UsageReading | null
  /** The provider's usage object as it came, the last or merged one. */
  readonly rawUsage: JsonObject | null
  /** Text of a refusal told apart from the answer; null without one. */
  readonly refusal: string | null
  /** An error event inside the stream. It wins over everything else. */
  readonly fault: ProviderFault | null
  /** The provider's id of this answer; null where it told none. */
  readonly responseId: string | null
  /** Of the whole message; must go back to the same provider family. */
  readonly provider_data: JsonObject | null
}

/**
 * A stateful reducer over one answer. It never throws: what cannot be read is a fault in the reading.
 */
export interface Reader {
  /** One SSE event: its `event:` name, if any, and its joined data. Empty data is skipped. */
  event(name: string | undefined, data: string): void
  /** A whole JSON body, which some servers answer to a request for a stream. */
  document(body: Json): void
  /**
   * `open`: more must come. `finished`: this is a whole answer, only late usage and the end mark may follow (a short wait).
   * `closed`: nothing that comes now is read; the socket can go. A fault closes too.
   */
  readonly progress: 'open' | 'finished' | 'closed'
  /** Something of the model came: non-empty text, reasoning or a tool call. */
  readonly started: boolean
  /** Output so far in UTF-16 units, reasoning and arguments included: what an estimate is made from. */
  readonly outputLength: number
  /** Ends the reading; called once, when the stream is over for whatever reason. */
  end(): Reading
}

export interface Dialect {
  readonly name: 'anthropic' | 'openai-chat' | 'openai-responses' | 'gigachat'
  request(call: DialectCall): ProviderRequest
  reader(sink: Sink, call: DialectCall): Reader
  /** An HTTP status of 300 or more: what it means. `body` is at most 64 KB of text. */
  fault(status: number, headers: Readonly<Record<string, string>>, body: string, now: number): ProviderFault
}
