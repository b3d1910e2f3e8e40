/**
 * The one door out, as its users see it. Every byte the engine sends to somebody passes `request` (SPEC §10).
 *
 * Types only; `open.ts` makes the real one.
 */

/** What a call is for; it decides which rules the URL must meet. */
export type Purpose = 'tool' | 'callback' | 'provider' | 'error_webhook' | 'telemetry' | 'image'

export interface EgressRequest {
  readonly purpose: Purpose
  /**
   * Hosts (`host` or `host:port`, default 443) that are allowed beside the list: with purpose `provider` the provider's own,
   * with `error_webhook` and `telemetry` the operator's. Without meaning for the other purposes.
   */
  readonly ownHosts?: readonly string[]
  /** With purpose `provider`: its name, which selects PROXY_<PROVIDER>. */
  readonly provider?: string
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** Aborting destroys the socket at once, in every phase. */
  readonly signal: AbortSignal
}

/** Nothing throws: a call that was not let out, or broke before its headers came, is a value. */
export type EgressAnswer =
  | { readonly kind: 'response'; readonly response: EgressResponse }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  | { readonly kind: 'fault'; readonly fault: Fault }

export interface EgressResponse {
  readonly status: number
  /** Lower-case names; a header that came several times is joined with ', '. */
  readonly headers: Readonly<Record<string, string>>
  /**
   * As it came, not inflated. Iterating throws a `BodyBroken` (`body.ts`) when the connection breaks; leaving the loop destroys
   * the socket. An answer holds its connection until it is read to the end or destroyed, whatever its status.
   */
  readonly body: AsyncIterable<Uint8Array>
  /** Destroys the socket. Safe at any time, any number of times. */
  destroy(): void
}

/** Why a URL or an address was not let out. Facts for the journal; callers and models learn only `egress_denied`. */
export interface Refusal {
  readonly reason:
    | 'invalid_url'
    | 'scheme'
    | 'userinfo'
    | 'port'
    | 'host_not_listed'
    | 'address_blocked'
    | 'metadata_host'
  /** Host name only, never path or query. */
  readonly host: string
}

export interface Fault {
  readonly kind: 'connect' | 'dns' | 'tls' | 'reset' | 'timeout' | 'aborted' | 'protocol'
  /** Short, with the host only; safe to journal. */
  readonly message: string
  /** Set where it is certain that nothing of the request has left: whoever it was for has not heard of it. */
  readonly unsent?: true
}

export interface Egress {
  /** Resolves once response headers are there. Never rejects. Never follows a redirect, never sends anything twice. */
  request(request: EgressRequest): Promise<EgressAnswer>
  /** Judges a URL without opening anything: what POST /runs asks before it accepts a tool, callback or base URL. */
  judge(purpose: Purpose, url: string, ownHosts?: readonly string[]): Refusal | null
  /** Closes idle and open sockets. */
  close(): Promise<void>
}
