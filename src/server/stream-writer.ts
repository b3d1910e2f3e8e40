/**
 * Writes one reading of an event log to one socket.
 *
 * It reads on only when the socket takes more, so a slow reader holds at most one event beyond the socket's buffer
 * (`MAX_EVENT_CHARS` of text) and is served merged events as it catches up; the run never waits for it. A reader whose
 * socket takes nothing at all for `stalledMs` is dropped: it reconnects with its last id and loses nothing.
 */
import type { ServerResponse } from 'node:http'
import type { LoggedEvent } from '../runs/ports.ts'
import { HEARTBEAT, OPENING } from './sse.ts'

export const HEARTBEAT_MS = 15_000
export const STALLED_MS = 30_000

/** What is left to a reader's socket to take the last bytes once the server closes. */
const CLOSING_MS = 1_000

export interface StreamWriterOptions {
  readonly stalledMs: number
  /** Aborts when the reader is gone or the server closes; the reading ends with it. */
  readonly signal: AbortSignal
  /** Bytes that stand before the first event. */
  readonly opening: string
  /** Bytes of one event; none is legal. */
  readonly write: (event: LoggedEvent) => string
  /** The reader took nothing for so long, and is cut off. Default: nobody is told. */
  readonly onDropped?: (() => void) | undefined
}

/** The response's head must be written. Ends or destroys the response. Rejects only if the log does: a bug. */
export async function writeStream(
  response: ServerResponse,
  events: AsyncIterable<LoggedEvent>,
  { stalledMs, signal, opening, write, onDropped }: StreamWriterOptions,
): Promise<void> {
  const drop = () => {
    // One that has gone by itself, or that the closing server cuts, was not dropped.
    if (!response.destroyed && !signal.aborted) onDropped?.()
    response.destroy()
  }
  response.write(OPENING + opening)
  const heartbeat = setInterval(() => {
    // A socket that takes nothing needs no sign of life added to its backlog.
    if (!response.writableNeedDrain) response.write(HEARTBEAT)
  }, HEARTBEAT_MS)
  try {
    for await (const logged of events) {
      if (response.destroyed) return
      const bytes = write(logged)
      if (bytes === '' || response.write(bytes) || (await moves(response, 'drain', stalledMs, signal))) continue
      drop()
      return
    }
    response.end()
    const patience = signal.aborted ? Math.min(CLOSING_MS, stalledMs) : stalledMs
    if (!(await moves(response, 'finish', patience))) drop()
  } finally {
    clearInterval(heartbeat)
  }
}

/**
 * True once the event comes; false when the connection is gone, the signal aborts, or the socket took not a byte for
 * `stalledMs`. The socket's own timeout is what sees bytes move within one large write.
 */
function moves(
  response: ServerResponse,
  event: 'drain' | 'finish',
  stalledMs: number,
  signal?: AbortSignal,
): Promise<boolean> {
  if (response.destroyed) return Promise.resolve(false)
  if (event === 'drain' ? !response.writableNeedDrain : response.writableFinished) return Promise.resolve(true)
  if (signal?.aborted === true) return Promise.resolve(false)
  return new Promise((resolve) => {
    const settle = (moved: boolean) => {
      response.off(event, onMoved)
      response.off('close', onStuck)
      response.off('timeout', onStuck)
      signal?.removeEventListener('abort', onStuck)
      response.setTimeout(0)
      resolve(moved)
    }
    const onMoved = () => settle(true)
    const onStuck = () => settle(false)
    response.on(event, onMoved)
    response.on('close', onStuck)
    response.on('timeout', onStuck)
    signal?.addEventListener('abort', onStuck)
    response.setTimeout(stalledMs)
  })
}
