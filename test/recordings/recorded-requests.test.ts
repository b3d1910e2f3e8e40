/** What recorded answers become on their way back to their provider, and a recorded request beside the one that would be sent. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../src/contract/json.ts'
import { responsesRequest } from '../../src/providers/openai-responses/request.ts'
import { user } from '../providers/dialect-call.ts'
import { bodyOf } from '../providers/gigachat/gigachat-call.ts'
import { stored } from '../providers/vendor-history.ts'
import { readChunks, wireOf } from './reading.ts'
import { bytesOf, callOf, recordings, skipped, type Recording } from './recordings.ts'

const responses = recordings.filter(({ api, kind }) => api === 'openai-responses' && kind !== 'error')

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

/** The items of an answer, in the order of their index: some servers end an item after the next one. */
function itemsOf(recording: Recording): JsonObject[] {
  const bytes = bytesOf(recording)
  if (recording.kind === 'json') return (JSON.parse(bytes.toString('utf8')) as { output: JsonObject[] }).output
  const items: [number, JsonObject][] = wireOf(bytes).events.flatMap(({ data }) => {
    const event = data.startsWith('{')
      ? (JSON.parse(data) as { type: string; output_index: number; item: JsonObject })
      : null
    return event?.type === 'response.output_item.done' ? [[event.output_index, event.item]] : []
  })
  return items.toSorted(([left], [right]) => left - right).map(([, item]) => item)
}

test('HI-06: every item of a recorded response goes back in its order, byte for byte', { skip: skipped }, () => {
  let seen = 0
  for (const recording of responses) {
    const call = callOf(recording)
    const { reading } = readChunks(recording, [bytesOf(recording)])
    const message = { ...stored(reading, 'openai', 'gpt-5.5'), provider_data: reading.provider_data }
    if (message.content.every((part) => part.type === 'reasoning')) continue
    const request = responsesRequest({ ...call, ask: { ...call.ask, messages: [user('hi'), message, user('go on')] } })
    const { input } = JSON.parse(request.body) as { input: JsonObject[] }
    const sent = input.slice(1, -1).filter((item) => item['type'] !== 'function_call_output')
    assert.deepEqual(
      sent,
      itemsOf(recording).flatMap((item) => resent(item) ?? []),
      recording.file,
    )
    seen += sent.length
  }
  assert.ok(seen > 50, `${seen} items seen`)
})

test('the request that led to a recorded stream of GigaChat is the one that would be sent', { skip: skipped }, () => {
  const recorded = JSON.parse(bytesOf({ file: 'gigachat/v1-stream-1.request.json' }).toString('utf8')) as unknown
  const messages = [
    { role: 'user', content: [{ type: 'text', text: 'Count from 1 to 3' }], created_at: '2026-01-21T11:49:36.000Z' },
  ] as const
  assert.deepEqual(bodyOf({ model: 'GigaChat', messages }), recorded)
})
