/**
 * Every recorded answer of GigaChat's v1 API, read to exactly what it is known to hold: whole, byte by byte, torn inside
 * characters, in any chunks, and cut at every event border.
 *
 * The recordings are not part of this repository. RECORDINGS_DIR names their folder; without one the tests are skipped. What
 * is not read is listed below with its reason, and a recording that is in neither list fails.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { createParser } from 'eventsource-parser'
import * as fc from 'fast-check'
import { parseJson, type Json } from '../../src/contract/json.ts'
import type { Reading } from '../../src/providers/dialect.ts'
import { gigachatFault } from '../../src/providers/gigachat/errors.ts'
import { AnswerFeed } from '../../src/providers/answer-feed.ts'
import { bodyOf, listenTo } from '../providers/gigachat/gigachat-call.ts'
import type { Heard } from '../providers/dialect-call.ts'

interface Expected {
  readonly text: { readonly len_utf16: number; readonly sha256: string }
  readonly tool_calls: readonly unknown[]
  readonly stop_reason: string
  readonly usage: Json
  readonly complete: boolean
  readonly message?: string
}

interface Recording {
  readonly provider: string
  readonly kind: 'stream' | 'json' | 'error'
  readonly expected: Expected
}

const folder = process.env['RECORDINGS_DIR'] ?? resolve(import.meta.dirname, '../../../shared/fixtures')
const index = resolve(folder, 'expected.json')
const recordings = existsSync(index)
  ? Object.entries((JSON.parse(readFileSync(index, 'utf8')) as { files: Record<string, Recording> }).files).filter(
      ([, { provider }]) => provider === 'gigachat',
    )
  : []
const skip = recordings.length === 0

const STREAMS = [
  'gigachat/v1-stream-1.sse',
  // Another endpoint, whose chunks have the same form: each tells its own share of usage, so that the last is not the sum.
  'gigachat/threads-run-stream.sse',
]
const DOCUMENTS = ['gigachat/v1-json.json', 'gigachat/v1-json-schema.json']
const ERRORS = ['gigachat/err-404-model.json']

/** The v2 API is another protocol, in request and answer, and no request of this dialect goes there. */
const OF_V2 = [
  'gigachat/v2-builtin-code_interpreter.json',
  'gigachat/v2-builtin-image_generate.json',
  'gigachat/v2-function-1.json',
  'gigachat/v2-function-2.json',
  'gigachat/v2-json.json',
  'gigachat/v2-stream-1.sse',
]

function expectedOf(file: string): Expected {
  const found = recordings.find(([name]) => name === file)
  assert.ok(found, file)
  return found[1].expected
}

function bytesOf(file: string): Buffer {
  return readFileSync(resolve(folder, file))
}

/** Through what an attempt reads with. */
function readBytes(chunks: Iterable<Uint8Array>, type = 'text/event-stream'): { reading: Reading; heard: Heard } {
  const heard = listenTo()
  const feed = new AnswerFeed(heard.reader, { status: 200, headers: { 'content-type': type } })
  for (const chunk of chunks) feed.bytes(chunk)
  feed.end(true)
  assert.equal(feed.fault, null)
  return { reading: heard.reader.end(), heard }
}

function check(file: string, { reading, heard }: ReturnType<typeof readBytes>): void {
  const expected = expectedOf(file)
  const text = reading.parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
  const sha256 = createHash('sha256').update(text, 'utf8').digest('hex')
  assert.deepEqual(
    { len_utf16: text.length, sha256 },
    { len_utf16: expected.text.len_utf16, sha256: expected.text.sha256 },
    `${file}: text`,
  )
  assert.equal(heard.shown(), text, `${file}: what was shown is the text`)
  assert.deepEqual(
    reading.parts.filter((part) => part.type !== 'text'),
    expected.tool_calls,
    `${file}: nothing but text`,
  )
  assert.equal(reading.complete, expected.complete, `${file}: complete`)
  assert.equal(reading.fault, null, `${file}: fault`)
  assert.equal(reading.rawStop, expected.stop_reason, `${file}: stop reason`)
  assert.equal(reading.stop, 'end_turn', `${file}: stop`)
  assert.deepEqual(reading.rawUsage, expected.usage, `${file}: usage`)
}

test('every recording is read, or is said not to be', (t) => {
  if (skip) return t.skip(`no recordings in ${folder} (RECORDINGS_DIR)`)
  assert.deepEqual(
    recordings.map(([file]) => file).toSorted(),
    [...STREAMS, ...DOCUMENTS, ...ERRORS, ...OF_V2].toSorted(),
  )
})

function* single(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 1) yield bytes.subarray(at, at + 1)
}

/** Cuts before every byte that continues a character. */
function* torn(bytes: Uint8Array): Generator<Uint8Array> {
  let from = 0
  for (let at = 1; at < bytes.length; at += 1) {
    if (((bytes[at] ?? 0) & 0xc0) !== 0x80) continue
    yield bytes.subarray(from, at)
    from = at
  }
  yield bytes.subarray(from)
}

const WAYS: [string, (bytes: Uint8Array) => Iterable<Uint8Array>][] = [
  ['whole', (bytes) => [bytes]],
  ['byte by byte', single],
  ['with every multi-byte character torn', torn],
]
for (const [way, cut] of WAYS) {
  test(`recorded streams of GigaChat are read exactly, ${way}`, { skip }, () => {
    for (const file of STREAMS) check(file, readBytes(cut(bytesOf(file))))
  })
}

test('any chunking of a recorded stream of GigaChat gives the same reading', { skip }, () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...STREAMS),
      fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1 }),
      (file, sizes) => {
        const bytes = bytesOf(file)
        const chunks: Uint8Array[] = []
        for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1
          chunks.push(bytes.subarray(at, at + size))
          at += size
        }
        check(file, readBytes(chunks))
      },
    ),
  )
})

test('recorded documents of GigaChat are read exactly, also byte by byte', { skip }, () => {
  for (const file of DOCUMENTS) {
    for (const cut of [single, torn]) check(file, readBytes(cut(bytesOf(file)), 'application/json'))
    const { reader, ...heard } = listenTo()
    const parsed = parseJson(bytesOf(file).toString('utf8'))
    assert.ok(parsed.ok, file)
    reader.document(parsed.value)
    check(file, { reading: reader.end(), heard: { ...heard, reader } })
  }
})

test('a recorded stream of GigaChat cut before its finish reason is no answer, and shows a beginning', { skip }, () => {
  for (const file of STREAMS) {
    const events: string[] = []
    createParser({ onEvent: ({ data }) => void events.push(data) }).feed(`${bytesOf(file).toString('utf8')}\n\n`)
    const { heard: whole } = readBytes([bytesOf(file)])
    const end = events.findIndex((data) => data.includes('"finish_reason":"'))
    assert.ok(end > 0, file)
    for (let cut = 0; cut <= end; cut += 1) {
      const { reader, shown } = listenTo()
      for (const data of events.slice(0, cut)) reader.event(undefined, data)
      assert.equal(reader.end().complete, false, `${file}: complete before event ${cut}`)
      assert.ok(whole.shown().startsWith(shown()), `${file}: text at event ${cut}`)
    }
  }
})

test('the recorded error body of GigaChat is classed by what it says', { skip }, () => {
  for (const file of ERRORS) {
    const fault = gigachatFault(404, {}, bytesOf(file).toString('utf8'), 0)
    assert.deepEqual([fault.class, fault.detail, fault.repair], ['not_found', expectedOf(file).message, null])
  }
})

test('the request that led to a recorded stream is the one that would be sent', { skip }, () => {
  const recorded = JSON.parse(bytesOf('gigachat/v1-stream-1.request.json').toString('utf8')) as unknown
  const messages = [
    { role: 'user', content: [{ type: 'text', text: 'Count from 1 to 3' }], created_at: '2026-01-21T11:49:36.000Z' },
  ] as const
  assert.deepEqual(bodyOf({ model: 'GigaChat', messages }), recorded)
})
