/** A recorded answer read the way an attempt reads it: bytes through the feed into the reader of its dialect. */
import assert from 'node:assert/strict'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { AnswerFeed } from '../../src/providers/answer-feed.ts'
import { builtIn } from '../../src/providers/built-in.ts'
import type { Dialect, DialectCall, Reader, Reading } from '../../src/providers/dialect.ts'
import type { Heard } from '../providers/dialect-call.ts'
import { callOf, type Recording } from './recordings.ts'

export interface Read extends Heard {
  readonly reading: Reading
  /** What made the bytes unreadable, before any reader saw them. */
  readonly fault: string | null
  /** Where the reader stood before it was told that the answer is over. */
  readonly progress: Reader['progress']
}

export function dialectOf(call: DialectCall): Dialect {
  const dialect = builtIn.dialect(call.profile.dialect)
  assert.ok(dialect)
  return dialect
}

/** @param whole the sender ended the answer; false: the connection broke */
export function readChunks(recording: Recording, chunks: Iterable<Uint8Array>, whole = true): Read {
  const call = callOf(recording)
  const pieces: string[] = []
  const thoughts: string[] = []
  const reader = dialectOf(call).reader(
    { text: (text) => void pieces.push(text), reasoning: (text) => void thoughts.push(text) },
    call,
  )
  const type = recording.kind === 'stream' ? 'text/event-stream' : 'application/json'
  const feed = new AnswerFeed(reader, { status: 200, headers: { 'content-type': type } })
  for (const chunk of chunks) feed.bytes(chunk)
  feed.end(whole)
  const { progress } = reader
  return {
    reader,
    pieces,
    shown: () => pieces.join(''),
    thought: () => thoughts.join(''),
    reading: reader.end(),
    fault: feed.fault,
    progress,
  }
}

/** What an event stream holds on the wire, whoever reads it. */
export interface Wire {
  readonly events: readonly EventSourceMessage[]
  readonly comments: number
}

export function wireOf(bytes: Uint8Array): Wire {
  const events: EventSourceMessage[] = []
  let comments = 0
  const parser = createParser({ onEvent: (event) => void events.push(event), onComment: () => void (comments += 1) })
  parser.feed(`${new TextDecoder().decode(bytes)}\n\n`)
  return { events, comments }
}
