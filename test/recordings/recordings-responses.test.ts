/**
 * Every recorded answer of the Responses API, of OpenAI and of the servers that speak it too, read to exactly what it is known
 * to hold: whole, byte by byte, cut at every event border, and with every multi-byte character torn.
 *
 * The recordings are not part of this repository. RECORDINGS_DIR names their folder; without one the tests are skipped.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EventSourceMessage } from 'eventsource-parser'
import * as fc from 'fast-check'
import { parseJson, type JsonObject } from '../../src/contract/json.ts'
import type { AssistantMessage, AssistantPart } from '../../src/contract/message.ts'
import type { FaultClass, Reading, Repair } from '../../src/providers/dialect.ts'
import { responsesFault } from '../../src/providers/openai-responses/errors.ts'
import { responsesRequest } from '../../src/providers/openai-responses/request.ts'
import { dialectCall, user } from '../providers/dialect-call.ts'
import { hear } from '../providers/openai-responses/hear.ts'
import {
  bytesOf,
  check,
  eventsOf,
  feed,
  folder,
  recordings,
  single,
  torn,
  type Exception,
} from './responses-harness.ts'

const CALL = dialectCall({ provider: 'openai', model: 'gpt-5.5' })

const streams = recordings.filter(([, { kind }]) => kind === 'stream')
const documents = recordings.filter(([, { kind }]) => kind === 'json')
const errors = recordings.filter(([, { kind }]) => kind === 'error')
const skip = recordings.length === 0

const EXCEPTIONS: Readonly<Record<string, Exception>> = {
  'openai/ai-error-insufficient-quota.sse': {
    reason: 'the error event fails the attempt at once; response.failed, which only repeats it, is not waited for',
    complete: false,
    rawStop: null,
  },
}

test('the recordings of the Responses API are there, or are said to be skipped', (t) => {
  if (recordings.length > 0) return
  t.skip(`no recordings in ${folder}: streams, documents and errors are not read (RECORDINGS_DIR)`)
})

const WAYS: [string, (bytes: Uint8Array) => Iterable<Uint8Array>][] = [
  ['whole', (bytes) => [bytes]],
  ['byte by byte', single],
  ['with every multi-byte character torn', torn],
]
for (const [way, cut] of WAYS) {
  test(`recorded responses are read exactly, ${way}`, { skip }, () => {
    for (const [file, recording] of streams) {
      const heard = hear(CALL)
      feed(heard, cut(bytesOf(file)))
      check(file, recording, heard.reader.end(), heard, EXCEPTIONS[file])
    }
  })
}

test('recorded responses that are one document are read exactly', { skip }, () => {
  for (const [file, recording] of documents) {
    const heard = hear(CALL)
    const parsed = parseJson(bytesOf(file).toString('utf8'))
    assert.ok(parsed.ok, file)
    heard.reader.document(parsed.value)
    check(file, recording, heard.reader.end(), heard, EXCEPTIONS[file])
  }
})

const END = /^response\.(?:completed|incomplete|failed)$/

function isEnd({ data }: EventSourceMessage): boolean {
  return data.startsWith('{') && END.test((JSON.parse(data) as { type: string }).type)
}

test(
  'a response cut at any event border is no answer before its end, shows a prefix and runs no half call',
  { skip },
  () => {
    for (const [file] of streams) {
      const events = eventsOf(bytesOf(file))
      const end = events.findIndex(isEnd)
      assert.ok(end > 0, file)
      const whole = hear(CALL)
      for (const { event, data } of events) whole.reader.event(event, data)
      const all = whole.reader.end()
      for (let cut = 0; cut < end; cut += 1) {
        const heard = hear(CALL)
        for (const { event, data } of events.slice(0, cut)) heard.reader.event(event, data)
        const reading = heard.reader.end()
        assert.equal(reading.complete, false, `${file}: complete before event ${cut}`)
        assert.equal(reading.rawUsage, null, `${file}: usage before event ${cut}`)
        assert.ok(whole.shown().startsWith(heard.shown()), `${file}: text at event ${cut}`)
        assert.ok(whole.thought().startsWith(heard.thought()), `${file}: reasoning at event ${cut}`)
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

test('any chunking of any recorded response gives the same reading', { skip }, () => {
  const small = streams.filter(([file]) => bytesOf(file).length < 30_000)
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
        const heard = hear(CALL)
        feed(heard, chunks)
        check(file, recording, heard.reader.end(), heard, EXCEPTIONS[file])
      },
    ),
    { numRuns: 200 },
  )
})

/** What a reading becomes in a history. */
function stored({ parts, provider_data }: Reading): AssistantMessage {
  const content = parts.flatMap((part, at): AssistantPart[] =>
    part.type === 'tool_call'
      ? [
          {
            type: 'tool_call',
            call_id: `call_${at}`,
            tool: part.tool,
            args: part.args ?? {},
            provider_data: part.provider_data,
          },
        ]
      : [part],
  )
  return { role: 'assistant', content, provider: 'openai', model: 'gpt-5.5', provider_data }
}

/** The item as the response held it, in the form in which it may be sent again. */
function resent(item: JsonObject): JsonObject | null {
  switch (item['type']) {
    case 'reasoning': {
      const { id: _id, status: _status, ...rest } = item
      const whole = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null))
      return typeof item['encrypted_content'] === 'string' || (item['content'] as [] | undefined)?.length ? whole : null
    }
    case 'message': {
      const text = (item['content'] as unknown as { text: string }[]).map((part) => part.text).join('')
      const phase = typeof item['phase'] === 'string' ? { phase: item['phase'] } : {}
      return { type: 'message', role: 'assistant', content: [{ type: 'output_text', text }], ...phase }
    }
    case 'function_call': {
      const { type, call_id = '', name = '', arguments: args = '' } = item
      return { type, call_id, name, arguments: args }
    }
    default:
      return null
  }
}

/** In the order of their index: some servers end an item after the next one. */
function itemsOf(bytes: Uint8Array): JsonObject[] {
  const items: [number, JsonObject][] = eventsOf(bytes).flatMap(({ data }) => {
    const event = data.startsWith('{')
      ? (JSON.parse(data) as { type: string; output_index: number; item: JsonObject })
      : null
    return event?.type === 'response.output_item.done' ? [[event.output_index, event.item]] : []
  })
  return items.toSorted(([left], [right]) => left - right).map(([, item]) => item)
}

test('HI-06: every item of a recorded response goes back in its order, byte for byte', { skip }, () => {
  let seen = 0
  for (const [file] of [...streams, ...documents]) {
    const heard = hear(CALL)
    const bytes = bytesOf(file)
    let output: JsonObject[]
    if (file.endsWith('.json')) {
      const body = JSON.parse(bytes.toString('utf8')) as { output: JsonObject[] }
      heard.reader.document(body)
      output = body.output
    } else {
      feed(heard, [bytes])
      output = itemsOf(bytes)
    }
    const message = stored(heard.reader.end())
    if (message.content.every((part) => part.type === 'reasoning')) continue
    const request = responsesRequest({ ...CALL, ask: { ...CALL.ask, messages: [user('hi'), message, user('go on')] } })
    const { input } = JSON.parse(request.body) as { input: JsonObject[] }
    const sent = input.slice(1, -1).filter((item) => item['type'] !== 'function_call_output')
    assert.deepEqual(
      sent,
      output.flatMap((item) => resent(item) ?? []),
      file,
    )
    seen += sent.length
  }
  assert.ok(seen > 50, `${seen} items seen`)
})

/** What each recorded error body is, and what repeat it allows. */
const CLASSES: Readonly<Record<string, [FaultClass, Repair | null]>> = {
  'deepseek/err-400-interleaved.json': ['bad_request', null],
  'openai/err-400-model-responses.json': ['not_found', null],
  'openai/err-400-reasoning-item.json': ['bad_request', 'no_reasoning'],
  'openai/err-400-temperature.json': ['bad_request', null],
}

test('recorded errors of the Responses API are classed by what they say', { skip }, () => {
  for (const [file, { expected }] of errors) {
    const fault = responsesFault(expected.http_status ?? 0, {}, bytesOf(file).toString('utf8'), 0)
    assert.ok(file in CLASSES, `${file} has no class in this test`)
    assert.deepEqual([fault.class, fault.repair], CLASSES[file], file)
    assert.ok(fault.detail.length > 0 && fault.detail.length <= 500, file)
  }
})
