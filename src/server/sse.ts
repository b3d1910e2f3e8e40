/**
 * The bytes of an event stream (SPEC §9). Pure. `data` is always one line: JSON escapes CR and LF, so nothing a model
 * writes can begin a line, and ids are the log's own.
 */
import type { LoggedEvent } from '../runs/ports.ts'

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

export function frame({ id, event }: LoggedEvent): string {
  return `id: ${id}\nevent: ${event.event}\ndata: ${JSON.stringify(event.data)}\n\n`
}
