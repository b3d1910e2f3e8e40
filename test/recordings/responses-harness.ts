/** The recorded answers of the Responses API, what is known of each, and ways to feed them to a reader. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import type { Json } from '../../src/contract/json.ts'
import type { Reading } from '../../src/providers/dialect.ts'
import type { Heard } from '../providers/dialect-call.ts'

interface Gathered {
  readonly len_utf16: number
  readonly sha256: string
}

export interface Recording {
  readonly kind: 'stream' | 'json' | 'error'
  readonly expected: {
    readonly text?: Gathered
    readonly reasoning?: (Gathered & { readonly encrypted_items: number }) | null
    readonly tool_calls?: readonly {
      readonly call_id: string
      readonly name: string
      readonly arguments: Json
      readonly arguments_raw: string
    }[]
    readonly phases?: readonly string[]
    readonly stop_reason?: string | null
    readonly usage?: Json
    readonly complete?: boolean
    readonly error?: Json
    readonly response_id?: string | null
    readonly http_status?: number
  }
}

export const folder = process.env['RECORDINGS_DIR'] ?? resolve(import.meta.dirname, '../../../shared/fixtures')
const index = resolve(folder, 'expected.json')

type Indexed = Recording & { readonly api: string }

/** Empty where the recordings are not there. */
export const recordings: readonly [string, Recording][] = existsSync(index)
  ? Object.entries((JSON.parse(readFileSync(index, 'utf8')) as { files: Record<string, Indexed> }).files).filter(
      ([, { api }]) => api === 'openai-responses',
    )
  : []

export function bytesOf(file: string): Buffer {
  return readFileSync(resolve(folder, file))
}

export function feed({ reader }: Heard, chunks: Iterable<Uint8Array>): void {
  const parser = createParser({ onEvent: ({ event, data }) => reader.event(event, data) })
  const decoder = new TextDecoder()
  for (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true })
    if (text !== '') parser.feed(text)
  }
  parser.feed(`${decoder.decode()}\n\n`)
}

export function eventsOf(bytes: Uint8Array): EventSourceMessage[] {
  const events: EventSourceMessage[] = []
  const parser = createParser({ onEvent: (event) => void events.push(event) })
  parser.feed(`${new TextDecoder().decode(bytes)}\n\n`)
  return events
}

export function* single(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 1) yield bytes.subarray(at, at + 1)
}

/** Cuts before every byte that continues a character. */
export function* torn(bytes: Uint8Array): Generator<Uint8Array> {
  let from = 0
  for (let at = 1; at < bytes.length; at += 1) {
    if (((bytes[at] ?? 0) & 0xc0) !== 0x80) continue
    yield bytes.subarray(from, at)
    from = at
  }
  yield bytes.subarray(from)
}

function gathered(text: string): Gathered {
  return { len_utf16: text.length, sha256: createHash('sha256').update(text, 'utf8').digest('hex') }
}

function facts(fact: Gathered | null | undefined): Gathered {
  return fact == null ? gathered('') : { len_utf16: fact.len_utf16, sha256: fact.sha256 }
}

function joined(reading: Reading, type: 'text' | 'reasoning'): string {
  return reading.parts.map((part) => (part.type === type ? part.text : '')).join('')
}

/** What a reading says otherwise than the recording's facts, on purpose. */
export interface Exception {
  readonly reason: string
  readonly complete: boolean
  readonly rawStop: string | null
}

/** Every fact of a recording must stand in the reading. */
export function check(
  file: string,
  { expected }: Recording,
  reading: Reading,
  heard: Heard,
  exception: Exception | undefined,
): void {
  assert.deepEqual(gathered(joined(reading, 'text')), facts(expected.text), `${file}: text`)
  assert.deepEqual(gathered(joined(reading, 'reasoning')), facts(expected.reasoning), `${file}: reasoning`)
  assert.equal(heard.shown(), joined(reading, 'text'), `${file}: what was shown is the text`)
  assert.equal(heard.thought(), joined(reading, 'reasoning'), `${file}: what was shown is the reasoning`)
  assert.equal(reading.refusal, null, `${file}: refusal`)
  assert.equal(reading.complete, exception?.complete ?? expected.complete, `${file}: complete`)
  assert.equal(reading.fault === null, (expected.error ?? null) === null, `${file}: fault`)
  assert.equal(reading.rawStop, exception === undefined ? expected.stop_reason : exception.rawStop, `${file}: stop`)
  assert.deepEqual(reading.rawUsage, expected.usage ?? null, `${file}: usage`)
  assert.equal(reading.responseId, expected.response_id, `${file}: response id`)
  checkCalls(file, expected.tool_calls ?? [], reading)
  const encrypted = reading.parts.filter((part) => part.type === 'reasoning' && isEncrypted(part.provider_data))
  assert.equal(encrypted.length, expected.reasoning?.encrypted_items ?? 0, `${file}: encrypted reasoning`)
  assert.deepEqual(reading.provider_data?.['phases'] ?? [], expected.phases ?? [], `${file}: phases`)
}

function checkCalls(file: string, expected: NonNullable<Recording['expected']['tool_calls']>, reading: Reading): void {
  const calls = reading.parts.filter((part) => part.type === 'tool_call')
  assert.deepEqual(
    calls.map((call) => [call.provider_data?.['id'], call.tool, call.args, call.argsText, call.fault]),
    expected.map((call) => [call.call_id, call.name, call.arguments, call.arguments_raw, null]),
    `${file}: tool calls`,
  )
}

function isEncrypted(data: Json | undefined): boolean {
  const item = (data as { item?: { encrypted_content?: unknown } } | null)?.item
  return typeof item?.encrypted_content === 'string'
}
