/**
 * Reads a run's stream (SPEC §9) to its end, as a browser's EventSource would: a connection that breaks is opened again with
 * the last event's id, so that nothing is lost and nothing comes twice.
 */
import { EventSourceParserStream } from 'eventsource-parser/stream'
import timers from 'node:timers/promises'
import type { StreamEvent } from '../../src/contract/stream-event.ts'
import { DemoFailure } from './failure.ts'

/** Connections in a row that brought nothing new. */
const MAX_IDLE_CONNECTIONS = 5

export interface ReadOptions {
  /** Ends the reading when it aborts. */
  readonly signal: AbortSignal
  /** Pause before a connection is opened again, unless the stream says otherwise. Default 1,000. */
  readonly retryMs?: number
}

/** Every event up to and with `done`. Throws a DemoFailure if the engine refuses, or gives no more. */
export async function* readEvents(
  url: string,
  { signal, retryMs = 1000 }: ReadOptions,
): AsyncGenerator<StreamEvent, void, undefined> {
  let lastId = ''
  let idle = 0
  for (let connection = 1; idle < MAX_IDLE_CONNECTIONS; connection += 1) {
    if (connection > 1) await pause(retryMs, signal)
    idle += 1
    const response = await open(url, lastId, signal)
    if (response === null) continue
    // There is nothing behind the last id.
    if (response.status === 204) return
    if (!response.ok || response.body === null) {
      throw new DemoFailure(`the stream was refused with status ${response.status}`)
    }
    try {
      const messages = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
      for await (const { id, event, data } of messages) {
        if (id !== undefined) lastId = id
        idle = 0
        // The stream may carry events of a later version: whoever reads them passes over what it does not know.
        yield { event, data: JSON.parse(data) } as StreamEvent
        if (event === 'done') return
      }
    } catch (error) {
      if (signal.aborted || error instanceof SyntaxError) throw late(signal, error)
      // The connection broke: go on behind the last id.
    }
  }
  throw new DemoFailure(`the stream brought nothing on ${MAX_IDLE_CONNECTIONS} connections in a row`)
}

async function open(url: string, lastId: string, signal: AbortSignal): Promise<Response | null> {
  try {
    return await fetch(url, { headers: lastId === '' ? {} : { 'last-event-id': lastId }, signal })
  } catch (error) {
    if (signal.aborted) throw late(signal, error)
    return null
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await timers.setTimeout(ms, undefined, { signal })
  } catch (error) {
    throw late(signal, error)
  }
}

function late(signal: AbortSignal, error: unknown): DemoFailure {
  return new DemoFailure(
    signal.aborted ? 'the stream did not end in time' : `the stream is not readable: ${String(error)}`,
  )
}
