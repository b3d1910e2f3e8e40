/**
 * The bytes of an event stream (SPEC §9). Pure. `data` is always one line: JSON escapes CR and LF, so nothing a model
 * writes can begin a line, and ids are the log's own.
 */
import type { JsonObject } from '../contract/json.ts'
import type { EventId, LoggedEvent } from '../runs/ports.ts'

export const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  // nginx holds answers back without it.
  'x-accel-buffering': 'no',
} as const

/** A blank line behind a comment would make some readers see an empty event, so comments stand without one. */
export const HEARTBEAT = ': keep-alive\n'

/** Sent before anything else, so that headers and a first byte pass every proxy at once. */
export const OPENING = `${HEARTBEAT}retry: 1000\n`

/** An event of the engine's own form. */
export function frame({ id, event }: LoggedEvent): string {
  return `id: ${id}\nevent: ${event.event}\ndata: ${JSON.stringify(event.data)}\n\n`
}

/** An event without a name, as foreign formats have them. `data` that is text must be one line. null: it has no id. */
export function dataFrame(data: JsonObject | string, id: EventId | null): string {
  const line = typeof data === 'string' ? data : JSON.stringify(data)
  return id === null ? `data: ${line}\n\n` : `id: ${id}\ndata: ${line}\n\n`
}
