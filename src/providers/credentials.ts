/**
 * What a request shows beside what its dialect writes, where a key is not sent itself but exchanged for something short-lived
 * (`Profile.exchangesKey`). An attempt asks for it as its first act, so that every deadline and the run's signal hold for it
 * too.
 *
 * Types only.
 */
import type { AttemptFault } from './attempt-fault.ts'

export type Authorization =
  | Granted
  /** Nothing is to be sent to the model. */
  | { readonly kind: 'denied'; readonly fault: AttemptFault }

export interface Granted {
  readonly kind: 'granted'
  /** Go with the request; they are secrets. */
  readonly headers: Readonly<Record<string, string>>
  /** The request was answered 401: what it showed is never handed out again. */
  refused(): void
}

/**
 * Never rejects. An abort ends it at once, with any answer.
 * @param apiKey null: the connection itself says who asks
 */
export type Credentials = (apiKey: string | null, signal: AbortSignal) => Promise<Authorization>
