/**
 * What a foreign stream format is made of (SPEC §9.1): a translator of one reading, told the events of the run in order.
 * A translator is pure, keeps a few words of state, and never text.
 */
import type { JsonObject } from '../contract/json.ts'
import type { StreamEvent } from '../contract/stream-event.ts'

/** One server-sent event of the format. */
export interface Chunk {
  /** Its data; a text is sent as it is. */
  readonly data: JsonObject | string
  /**
   * What its reader has. `whole`: all of the event it belongs to. `mark`: what `resume` needs to know beside that to go on
   * behind this very chunk, '' for nothing. null: the place cannot be named; its reader goes on from the last one that can.
   */
  readonly place: { readonly whole: boolean; readonly mark: string } | null
}

/** One teller for each event of the run's stream; an event without one does not compile. */
export type EventTellers = {
  readonly [E in StreamEvent as E['event']]: (data: E['data']) => void
}

export function tellBy(tellers: EventTellers, { event, data }: StreamEvent): void {
  // Name and data are of the same event, which the type of a union cannot say of the two apart.
  const teller = tellers[event] as (data: StreamEvent['data']) => void
  teller(data)
}

export interface StreamTranslator {
  /** What a reader is told of one event; nothing is a legal answer. */
  tell(event: StreamEvent): readonly Chunk[]
  /**
   * Called once, behind `tell` for everything the reader has already, whose chunks go nowhere. `mark` is that of the last
   * chunk it has, '' for none; it comes from outside and may be anything. What it answers is told before anything else.
   */
  resume(mark: string): readonly Chunk[]
}
