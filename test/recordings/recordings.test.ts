/**
 * Every recorded answer of a real provider, read to exactly what it is known to hold: whole, byte by byte, cut at every event
 * border, and with every multi-byte character torn.
 *
 * The recordings are not part of this repository; RECORDINGS_DIR names their folder. Where there is none, one test is skipped
 * and says so.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import * as fc from 'fast-check'
import { parseJson, type Json } from '../../src/contract/json.ts'
import { anthropic } from '../../src/providers/anthropic/dialect.ts'
import type { DialectCall, FaultClass, Reading } from '../../src/providers/dialect.ts'
import { openaiChat } from '../../src/providers/openai-chat/dialect.ts'
import { dialectCall, listen, type Heard } from '../providers/dialect-call.ts'

interface Gathered {
  readonly len_utf16: number
  readonly sha256: string
}

interface Expected {
  readonly text?: Gathered
  readonly reasoning?: Gathered | null
  readonly refusal?: Gathered
  readonly tool_calls?: readonly {
    readonly id?: string
    readonly name: string
    readonly arguments: Json
    readonly arguments_raw?: string
    readonly arguments_valid_json: boolean
  }[]
  readonly stop_reason?: string | null
  readonly usage?: Json
  readonly complete?: boolean
  readonly error?: Json
  readonly response_id?: string | null
  readonly http_status?: number
}

interface Recording {
  readonly api: string
  readonly kind: 'stream' | 'json' | 'error'
  readonly expected: Expected
}

const folder = process.env['RECORDINGS_DIR'] ?? resolve(import.meta.dirname, '../../../shared/fixtures')
const index = resolve(folder, 'expected.json')
const APIS = ['anthropic-messages', 'openai-chat']
const recordings: [string, Recording][] = existsSync(index)
  ? Object.entries((JSON.parse(readFileSync(index, 'utf8')) as { files: Record<string, Recording> }).files).filter(
      ([, { api }]) => APIS.includes(api),
    )
  : []
const streams = recordings.filter(([, { kind }]) => kind === 'stream')
const documents = recordings.filter(([, { kind }]) => kind === 'json')
const errors = recordings.filter(([, { kind }]) => kind === 'error')

/**
 * Where the reading differs from the recording's facts on purpose. The recordings call this stream complete because `[DONE]`
 * came; an error member inside one of its chunks makes it a failed attempt.
 */
const NOT_COMPLETE: ReadonlySet<string> = new Set(['openrouter/pyd-minimax-error-in-chunk.sse'])

function callOf({ api }: Recording): DialectCall {
  return dialectCall({ provider: api === 'anthropic-messages' ? 'anthropic' : 'openai-compatible' })
}

function bytesOf(file: string): Buffer {
  return readFileSync(resolve(folder, file))
}

function feed(heard: Heard, chunks: Iterable<Uint8Array>): void {
  const parser = createParser({ onEvent: ({ event, data }) => heard.reader.event(event, data) })
  const decoder = new TextDecoder()
  for (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true })
    if (text !== '') parser.feed(text)
  }
  parser.feed(`${decoder.decode()}\n\n`)
}

function eventsOf(bytes: Uint8Array): EventSourceMessage[] {
  const events: EventSourceMessage[] = []
  const parser = createParser({ onEvent: (event) => void events.push(event) })
  parser.feed(`${new TextDecoder().decode(bytes)}\n\n`)
  return events
}

function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex')
}

function gathered(text: string): Gathered {
  return { len_utf16: text.length, sha256: sha256(text) }
}

function facts(fact: Gathered): Gathered {
  return { len_utf16: fact.len_utf16, sha256: fact.sha256 }
}

function joined(reading: Reading, type: 'text' | 'reasoning'): string {
  return reading.parts.map((part) => (part.type === type ? part.text : '')).join('')
}

function check(file: string, { expected }: Recording, reading: Reading, heard: Heard): void {
  const text = joined(reading, 'text')
  const reasoning = joined(reading, 'reasoning')
  assert.deepEqual(gathered(text), facts(expected.text ?? gathered('')), `${file}: text`)
  assert.deepEqual(gathered(reasoning), facts(expected.reasoning ?? gathered('')), `${file}: reasoning`)
  assert.equal(heard.shown(), text, `${file}: what was shown is the text`)
  assert.equal(heard.thought(), reasoning, `${file}: what was shown is the reasoning`)
  assert.deepEqual(gathered(reading.refusal ?? ''), facts(expected.refusal ?? gathered('')), `${file}: refusal`)
  assert.equal(reading.complete, NOT_COMPLETE.has(file) ? false : (expected.complete ?? true), `${file}: complete`)
  assert.equal(reading.fault === null, (expected.error ?? null) === null, `${file}: fault`)
  assert.equal(reading.rawStop ?? '', expected.stop_reason ?? '', `${file}: stop reason`)
  assert.deepEqual(reading.rawUsage, expected.usage ?? null, `${file}: usage`)
  assert.equal(reading.responseId ?? '', expected.response_id ?? '', `${file}: response id`)
  checkCalls(file, expected, reading)
}

function checkCalls(file: string, expected: Expected, reading: Reading): void {
  const calls = reading.parts.filter((part) => part.type === 'tool_call')
  assert.deepEqual(
    calls.map((call) => [call.provider_data?.['id'], call.tool, call.args]),
    (expected.tool_calls ?? []).map((call) => [call.id, call.name, call.arguments_valid_json ? call.arguments : null]),
    `${file}: tool calls`,
  )
  for (const [place, call] of (expected.tool_calls ?? []).entries()) {
    if (call.arguments_raw !== undefined)
      assert.equal(calls[place]?.argsText, call.arguments_raw, `${file}: arguments text`)
    assert.equal(calls[place]?.fault, call.arguments_valid_json ? null : 'cut', `${file}: fault of the call`)
  }
}

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

/** A test that is there only where the recordings are; where they are not, one skipped test says so for all. */
function recorded(name: string, check: () => void): void {
  if (recordings.length > 0) test(name, check)
}

if (recordings.length === 0) {
  test(
    'recorded answers are read exactly',
    { skip: `0 recordings read: none in ${folder} (RECORDINGS_DIR)` },
    () => undefined,
  )
}

const WAYS: [string, (bytes: Uint8Array) => Iterable<Uint8Array>][] = [
  ['whole', (bytes) => [bytes]],
  ['byte by byte', single],
  ['with every multi-byte character torn', torn],
]
for (const [way, cut] of WAYS) {
  recorded(`recorded streams are read exactly, ${way}`, () => {
    for (const [file, recording] of streams) {
      const heard = listen(callOf(recording))
      feed(heard, cut(bytesOf(file)))
      check(file, recording, heard.reader.end(), heard)
    }
  })
}

recorded('recorded documents are read exactly', () => {
  for (const [file, recording] of documents) {
    const heard = listen(callOf(recording))
    const parsed = parseJson(bytesOf(file).toString('utf8'))
    assert.ok(parsed.ok, file)
    heard.reader.document(parsed.value)
    check(file, recording, heard.reader.end(), heard)
  }
})

/** Before which event a stream is a whole answer: at its end mark, or at the finish reason that stands for it. */
function isEndMark(api: string, { data }: EventSourceMessage): boolean {
  if (api === 'anthropic-messages') return data.includes('"type":"message_stop"')
  return data.trim() === '[DONE]' || /"finish_reason":\s*"[^"]/.test(data)
}

recorded(
  'a stream cut at any event border is no answer before its end mark, shows a prefix and runs no half call',
  () => {
    for (const [file, recording] of streams) {
      const call = callOf(recording)
      const events = eventsOf(bytesOf(file))
      const end = events.findIndex((event) => isEndMark(recording.api, event))
      const whole = listen(call)
      for (const { event, data } of events) whole.reader.event(event, data)
      const all = whole.reader.end()
      for (let cut = 0; cut < (end < 0 ? events.length : end); cut += 1) {
        const heard = listen(call)
        for (const { event, data } of events.slice(0, cut)) heard.reader.event(event, data)
        const reading = heard.reader.end()
        assert.equal(reading.complete, false, `${file}: complete before event ${cut}`)
        assert.ok(whole.shown().startsWith(heard.shown()), `${file}: text at event ${cut}`)
        checkPrefix(file, reading, all)
      }
    }
  },
)

/** A call of a cut answer is marked as cut, or is the very call of the whole answer. */
function checkPrefix(file: string, reading: Reading, all: Reading): void {
  const calls = all.parts.filter((part) => part.type === 'tool_call')
  for (const part of reading.parts) {
    if (part.type !== 'tool_call' || part.fault === 'cut') continue
    assert.ok(
      calls.some((call) => call.tool === part.tool && call.argsText === part.argsText),
      `${file}: half of ${part.tool} looks whole`,
    )
  }
}

recorded('any chunking of any recording gives the same reading', () => {
  const small = streams.filter(([file]) => bytesOf(file).length < 20_000)
  fc.assert(
    fc.property(
      fc.constantFrom(...small),
      fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1 }),
      ([file, recording], sizes) => {
        const bytes = bytesOf(file)
        const chunks: Uint8Array[] = []
        for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1
          chunks.push(bytes.subarray(at, at + size))
          at += size
        }
        const heard = listen(callOf(recording))
        feed(heard, chunks)
        check(file, recording, heard.reader.end(), heard)
      },
    ),
    { numRuns: 200 },
  )
})

/** The class of each recorded error body. */
const CLASSES: Readonly<Record<string, FaultClass>> = {
  'anthropic/err-400-effort.json': 'bad_request',
  'anthropic/err-404-model.json': 'not_found',
  'anthropic/err-429-prompt-bytes.json': 'rate',
  'anthropic/err-529-overloaded.json': 'overloaded',
  'deepseek/err-400-content-risk.json': 'content',
  'deepseek/err-400-reasoning-content.json': 'bad_request',
  'deepseek/err-400-thinking-anthropic.json': 'bad_request',
  'deepseek/err-402-balance.json': 'quota',
  'groq/err-400-tool-required.json': 'malformed',
  'groq/err-400-tool-use-failed.json': 'malformed',
  'groq/err-404-model.json': 'not_found',
  'kimi/err-403-quota.json': 'quota',
  'kimi/err-429-overloaded.json': 'overloaded',
  'kimi/err-429-rate-limit.json': 'rate',
  'kimi/err-429-tpm-anthropic.json': 'rate',
  'minimax/err-200-login-fail.json': 'auth',
  'minimax/err-400-chat-setting.json': 'bad_request',
  'minimax/err-429-balance.json': 'quota',
  'openai/err-400-context-length.json': 'context_overflow',
  'openai/err-400-max-tokens-param.json': 'bad_request',
  'openai/err-400-web-search.json': 'bad_request',
  'openai/err-404-model-chat.json': 'not_found',
  'openai/err-429-quota.json': 'quota',
  'openrouter/err-429-upstream.json': 'rate',
  'zai/err-429-1302-zh.json': 'rate',
  'zai/err-429-1302.json': 'rate',
}

recorded('recorded error bodies are classed by what they say', () => {
  for (const [file, { api, expected }] of errors) {
    const body = bytesOf(file).toString('utf8')
    const dialect = api === 'anthropic-messages' ? anthropic : openaiChat
    const fault = dialect.fault(expected.http_status ?? 0, {}, body, 0)
    assert.ok(file in CLASSES, `${file} has no class in this test`)
    assert.equal(fault.class, CLASSES[file], file)
    assert.equal(fault.repair, file === 'deepseek/err-400-reasoning-content.json' ? 'no_thinking' : null, file)
    assert.ok(fault.detail.length > 0 && fault.detail.length <= 500, file)
  }
})
