/** SPEC §9, failures SS: what a reader of a stream gets, whenever it comes, however often, and whatever it has already. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../src/contract/json.ts'
import type { StreamEvent } from '../../src/contract/stream-event.ts'
import { asksFor, behind, inHalves, type Play, refuses, says, startProvider } from '../fakes/provider-server.ts'
import { startReceiver } from '../fakes/callback-receiver.ts'
import { ok, startTools } from '../fakes/tool-server.ts'
import { errorOf, runBody, type Accepted, type EngineClient } from './engine-client.ts'
import { landmarks, openStream, screenOf, type ReadEvent } from './event-stream.ts'
import { gate, Signal, within } from './facts.ts'
import { send } from './http.ts'
import { sharedEngine } from './shared-engine.ts'

const ORIGIN = 'https://app.example'
const engine = sharedEngine({ ALLOWED_ORIGINS: `${ORIGIN},http://localhost:5173` })

/** Two steps with text, reasoning, a reset and tools: one of everything that a stream can hold. */
const eventful: readonly Play[] = [
  (answer) => {
    answer.text('I will lo')
    answer.cut()
  },
  (answer) => {
    answer.reasoning('The order first.')
    answer.text('I will look. ')
    answer.call('getOrders', { orderId: '1' })
    answer.call('getOrders', { orderId: '2' })
    answer.finish()
  },
  (answer) => {
    for (const word of ['Both ', 'are ', 'on ', 'their ', 'way ', '🚚', '.']) answer.text(word)
    answer.finish()
  },
]

/** The same without the attempt that breaks, and so without its pause. */
const calm = eventful.slice(1)

async function startRun(
  t: TestContext,
  client: EngineClient,
  plays: readonly Play[],
  stream: JsonObject = {},
): Promise<Accepted> {
  const tools = await startTools(t, { getOrders: ok({ state: 'shipped' }) })
  const provider = await startProvider(t, plays)
  const tool = tools.tool('getOrders', { label: 'Looking at the orders…' })
  return client.start(runBody({ llm: provider.llm(), tools: [tool], stream }))
}

const names = (events: readonly Pick<StreamEvent, 'event'>[]) => events.map(({ event }) => event)
const ids = (events: readonly ReadEvent[]) => events.map(({ id }) => id)

test('§9 the events of a run come in order, each with an id of its own, and done is the last', async (t) => {
  const client = await engine.client()
  const accepted = await startRun(t, client, eventful)
  const reader = await client.stream(accepted)
  const events = await reader.ended()
  assert.deepEqual(names(landmarks(events)), [
    'start',
    'step',
    'wait',
    'reset',
    'tool_call',
    'tool_call',
    'tool_result',
    'tool_result',
    'step',
    'done',
  ])
  assert.equal(new Set(ids(events)).size, events.length)
  assert.deepEqual(events[0]?.data, { run_id: accepted.run_id })
  assert.deepEqual(
    [...screenOf(events)],
    [
      [1, 'I will look. '],
      [2, 'Both are on their way 🚚.'],
    ],
  )
  const { result } = await client.view(accepted.run_id)
  assert.equal(result?.text, 'Both are on their way 🚚.')
  assert.deepEqual(events.at(-1)?.data, {
    status: 'completed',
    stop_reason: 'end_turn',
    limit_reached: null,
    error: null,
    pending: 0,
  })
})

test('§9 SS-04: from every id on, a reader gets what is missing, once and in order, and has the same text', async (t) => {
  const client = await engine.client()
  const accepted = await startRun(t, client, eventful, { reasoning: true, tool_results: true })
  const events = await (await client.stream(accepted)).ended()
  const whole = screenOf(events)
  assert.ok(events.length > 10)
  for (const [index, { id }] of events.entries()) {
    const had = events.slice(0, index + 1)
    for (const byHeader of [true, false]) {
      const url = byHeader ? accepted.stream_url : `${accepted.stream_url}&last_event_id=${encodeURIComponent(id)}`
      const reader = await openStream(url, byHeader ? { 'last-event-id': id } : {})
      if (index === events.length - 1) {
        assert.equal(reader.status, 204)
        assert.deepEqual(await reader.ended(), [])
        continue
      }
      const rest = await reader.ended()
      assert.ok(!ids(had).some((one) => ids(rest).includes(one)), 'nothing comes twice')
      const both = [...had, ...rest]
      assert.deepEqual(landmarks(both), landmarks(events))
      assert.deepEqual(screenOf(both), whole)
      const reasoned = both.map((one) => (one.event === 'reasoning' ? one.data.text : '')).join('')
      assert.equal(reasoned, 'The order first.')
    }
  }
})

test('§9 what a browser sends on a reconnect goes before what its first address said', async (t) => {
  const client = await engine.client()
  const accepted = await startRun(t, client, calm)
  const events = await (await client.stream(accepted)).ended()
  const [first, last] = [events[0]?.id ?? '', events.at(-1)?.id ?? '']
  const reader = await openStream(`${accepted.stream_url}&last_event_id=${first}`, { 'last-event-id': last })
  assert.equal(reader.status, 204)
})

test('§9 an id that the run does not know: everything from the start, opened by resync', async (t) => {
  const client = await engine.client()
  const hold = gate()
  const provider = await startProvider(t, [inHalves('Half of ', hold.opened, 'the answer.')])
  const accepted = await client.start(runBody({ llm: provider.llm() }))
  await (await client.stream(accepted)).event('delta')
  for (const id of ['999-1', 'run_of_another', '-1', '1e3', '0x1', '%00', '9'.repeat(400)]) {
    const reader = await openStream(accepted.stream_url, { 'last-event-id': id })
    assert.deepEqual(await reader.event('resync'), { step: 1, text: 'Half of ' }, id)
    await reader.event('delta')
    assert.deepEqual(names(reader.events).slice(0, 3), ['resync', 'start', 'step'])
    reader.leave()
  }
  const late = await openStream(accepted.stream_url, { 'last-event-id': '999-1' })
  await late.event('resync')
  hold.open()
  const events = await late.ended()
  assert.deepEqual([...screenOf(events)], [[1, 'Half of the answer.']])
  // And its own first id is one that the run knows.
  const again = await openStream(accepted.stream_url, { 'last-event-id': events[0]?.id })
  assert.equal(names(await again.ended())[0], 'start')
})

test('§9 SS-07: after the end a late reader gets everything once, and with the last id it gets 204', async (t) => {
  const client = await engine.client()
  const accepted = await startRun(t, client, calm)
  await client.result(accepted)
  const late = await client.stream(accepted)
  const events = await late.ended()
  assert.equal(names(events).filter((name) => name === 'done').length, 1)
  assert.match(late.raw(), /^: .*\nretry: 1000\n/)
  const stopped = await client.stream(accepted, { 'last-event-id': events.at(-1)?.id, origin: ORIGIN })
  assert.equal(stopped.status, 204)
  assert.equal(stopped.headers['access-control-allow-origin'], ORIGIN)
})

test('§9 SS-04: two readers, and one that comes in the middle, all get the same', async (t) => {
  const client = await engine.client()
  const hold = gate()
  const provider = await startProvider(t, [
    async (answer) => {
      answer.text('One ')
      answer.text('two ')
      await hold.opened
      answer.text('three.')
      answer.finish()
    },
  ])
  const accepted = await client.start(runBody({ llm: provider.llm() }))
  const [first, second] = await Promise.all([client.stream(accepted), client.stream(accepted)])
  await first.event('delta')
  const third = await client.stream(accepted)
  await third.event('delta')
  hold.open()
  const all = await Promise.all([first.ended(), second.ended(), third.ended()])
  for (const events of all) {
    assert.deepEqual([...screenOf(events)], [[1, 'One two three.']])
    assert.deepEqual(landmarks(events), landmarks(all[0]))
  }
})

test('§9 CA-07: a reader that leaves changes nothing for the run, and its callback comes', async (t) => {
  const client = await engine.client()
  const hold = gate()
  const provider = await startProvider(t, [
    async (answer) => {
      for (const word of ['Nobody ', 'at ', 'all ']) answer.text(word)
      await hold.opened
      answer.text('reads this.')
      answer.finish()
    },
  ])
  const receiver = await startReceiver(t)
  const accepted = await client.start(runBody({ llm: provider.llm(), callback: receiver.callback() }))
  const reader = await client.stream(accepted)
  await reader.event('delta', ({ text }) => text.endsWith('all '))
  reader.leave()
  hold.open()
  const { text } = await receiver.nth(1)
  assert.match(text, /"status":"completed",.*"text":"Nobody at all reads this\."/)
})

test('§9 offsets count UTF-16 units, and no event is cut inside a character', async (t) => {
  const client = await engine.client()
  // JS-03: one emoji as two half escapes in two pieces; and a half that nothing follows.
  const piece = (escaped: string) =>
    `data: {"choices":[{"index":0,"delta":{"content":"${escaped}"},"finish_reason":null}]}\n\n`
  const provider = await startProvider(t, [
    async (answer) => {
      answer.text('🙂🙂 ')
      answer.raw(piece('\\ud83d'))
      answer.raw(piece('\\ude42!'))
      answer.raw(piece(' \\ud83d'))
      answer.finish()
    },
  ])
  const accepted = await client.start(runBody({ llm: provider.llm() }))
  const reader = await client.stream(accepted)
  const events = await reader.ended()
  for (const one of events) {
    if (one.event === 'delta') assert.ok(one.data.text.isWellFormed(), JSON.stringify(one.data))
  }
  const text = screenOf(events).get(1) ?? ''
  assert.ok(text.startsWith('🙂🙂 🙂! '), text)
  assert.ok(text.isWellFormed())
  const { result } = await client.view(accepted.run_id)
  assert.equal(result?.text, text)
})

test('§9 SS-06: nothing that a model writes can forge an event', async (t) => {
  const client = await engine.client()
  const words = 'a\r\nevent: done\ndata: {}\n\nb\rid: 99\u2028c\u2029\u0000: x\n\n\n'
  const provider = await startProvider(t, [says(words)])
  const accepted = await client.start(runBody({ llm: provider.llm() }))
  const reader = await client.stream(accepted)
  const events = await reader.ended()
  assert.equal(screenOf(events).get(1), words)
  assert.deepEqual(names(events), ['start', 'step', 'delta', 'done'])
  const lines = reader.raw().split(/\r\n|\r|\n/)
  assert.ok(lines.every((line) => /^(|: .*|retry: 1000|id: \S+|event: [a-z_]+|data: \{.*\})$/s.test(line)))
})

test('§9 the defaults show labels only: no tool name, argument, result, call id or reasoning', async (t) => {
  const client = await engine.client()
  const accepted = await startRun(t, client, calm)
  const reader = await client.stream(accepted)
  const events = await reader.ended()
  const called = events.filter(({ event }) => event === 'tool_call').map(({ data }) => data)
  assert.deepEqual(called, [
    { step: 1, n: 1, label: 'Looking at the orders…' },
    { step: 1, n: 2, label: 'Looking at the orders…' },
  ])
  const ended = events.filter(({ event }) => event === 'tool_result').map(({ data }) => data)
  assert.deepEqual(ended.toSorted(byN), [
    { step: 1, n: 1, ok: true },
    { step: 1, n: 2, ok: true },
  ])
  assert.ok(!names(events).includes('reasoning'))
  assert.doesNotMatch(reader.raw(), /getOrders|orderId|shipped|call_|The order first/)
})

const byN = (left: unknown, right: unknown) => (left as { n: number }).n - (right as { n: number }).n

const optIns: readonly [option: string, seen: RegExp, unseen: RegExp][] = [
  ['tool_names', /"tool":"getOrders","call_id":"call_/, /orderId|shipped|The order first/],
  ['tool_args', /"args":\{"orderId":"1"\}/, /getOrders|call_|shipped|The order first/],
  ['tool_results', /"result":\{"state":"shipped"\}/, /getOrders|call_|orderId|The order first/],
  ['reasoning', /event: reasoning\ndata: \{"step":1,"text":"The order first\."\}/, /getOrders|call_|orderId|shipped/],
]

for (const [option, seen, unseen] of optIns) {
  test(`§9 stream.${option} shows what it says and nothing beside`, async (t) => {
    const client = await engine.client()
    const accepted = await startRun(t, client, calm, { [option]: true })
    const reader = await client.stream(accepted)
    await reader.ended()
    // The names of events are no content.
    const shown = reader.raw().replaceAll('event: tool_call\n', '')
    assert.match(shown, seen)
    assert.doesNotMatch(shown, unseen)
  })
}

test('§9 after a reset the shown text is the new attempt’s alone, also where all attempts fail', async (t) => {
  const client = await engine.client()
  const breaks: Play = (answer) => {
    answer.text('Broken.')
    answer.cut()
  }
  const provider = await startProvider(t, [breaks, says('Whole.')])
  const accepted = await client.start(runBody({ llm: provider.llm() }))
  const events = await (await client.stream(accepted)).ended()
  assert.deepEqual(names(events), ['start', 'step', 'delta', 'wait', 'reset', 'delta', 'done'])
  assert.deepEqual(events[4]?.data, { step: 1, reason: 'retry' })
  assert.deepEqual([...screenOf(events)], [[1, 'Whole.']])
  assert.equal((await client.view(accepted.run_id)).result?.text, 'Whole.')

  const failing = await startProvider(t, [breaks, refuses(401)])
  const failed = await client.start(runBody({ llm: failing.llm() }))
  const shown = await (await client.stream(failed)).ended()
  const { result } = await client.view(failed.run_id)
  assert.equal(result?.status, 'failed')
  assert.equal(screenOf(shown).get(1), result?.text)
  assert.equal(result?.text, 'Broken.')
  // SS-09: one end, and nothing behind it.
  assert.deepEqual(names(shown), ['start', 'step', 'delta', 'wait', 'done'])
})

test('§9 SS-09: a run that fails or is cancelled in the middle of text has one end, which nothing follows', async (t) => {
  const client = await engine.client()
  const half: Play = (answer) => answer.text('Half of')
  const failing: Play = async (answer, request) => {
    answer.text('Half of')
    if (request.number === 1) answer.cut()
    else answer.raw('data: {"error":{"message":"gone","code":401},"choices":[]}\n\n')
  }
  const formats = ['', '&format=ai-sdk', '&format=ag-ui']
  const ends = ['event: done', 'data: [DONE]', '"type":"RUN_(FINISHED|ERROR)"']
  for (const [status, plays] of [
    ['cancelled', [half]],
    ['failed', [failing, failing, failing]],
  ] as const) {
    const provider = await startProvider(t, plays)
    const accepted = await client.start(runBody({ llm: provider.llm() }))
    const readers = await Promise.all(formats.map((format) => openRaw(`${accepted.stream_url}${format}`)))
    await readers[0]?.until('Half of')
    if (status === 'cancelled') assert.equal((await client.cancel(accepted.run_id)).status, 200)
    for (const [index, reader] of readers.entries()) {
      const raw = await reader.ended
      const last = raw.trimEnd().split('\n\n').at(-1) ?? ''
      assert.match(last, new RegExp(String(ends[index]).replace(/[[\]]/g, '\\$&')), `${status} ${formats[index]}`)
      assert.equal(raw.match(new RegExp(String(ends[index]).replace(/[[\]]/g, '\\$&'), 'g'))?.length, 1)
      assert.ok(raw.indexOf('Half of') < raw.length - last.length)
    }
    assert.equal((await client.view(accepted.run_id)).status, status)
  }
})

/** A stream of any form, as text. */
async function openRaw(url: string) {
  const response = await fetch(url)
  const decoder = new TextDecoder()
  const changed = new Signal()
  let raw = ''
  const ended = (async () => {
    for await (const chunk of response.body ?? []) {
      raw += decoder.decode(chunk as Uint8Array, { stream: true })
      changed.emit()
    }
    return raw
  })()
  const until = (text: string) =>
    within(
      changed.until(() => raw.includes(text)),
      () => `no ${text} in ${raw}`,
    )
  return { ended: within(ended, () => `the stream goes on: ${raw}`), until }
}

test('§9 a fixed sentence is shown like an answer', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [says(), says()])
  const accepted = await client.start(runBody({ llm: provider.llm() }))
  const events = await (await client.stream(accepted)).ended()
  assert.deepEqual(names(events), ['start', 'step', 'step', 'reset', 'delta', 'done'])
  assert.deepEqual(events[2]?.data, { step: 2, final: true })
  assert.deepEqual(events[3]?.data, { step: 2, reason: 'empty' })
  assert.equal(screenOf(events).get(2), (await client.view(accepted.run_id)).result?.text)
})

test('§9 LC-14: a call that is not sent shows no event, so numbers can be missing', async (t) => {
  const client = await engine.client()
  const tools = await startTools(t, { getOrders: ok(1) })
  const provider = await startProvider(t, [asksFor(['noSuchTool', {}], ['getOrders', {}]), says('Done.')])
  const body = runBody({ llm: provider.llm(), tools: [tools.tool('getOrders')] })
  const events = await (await client.stream(await client.start(body))).ended()
  assert.deepEqual(
    events.filter(({ event }) => event === 'tool_call').map(({ data }) => data),
    [{ step: 1, n: 2, label: null }],
  )
})

test('§9 SS-01: the headers come at once, before any event of the model, and nothing is compressed', async (t) => {
  const client = await engine.client()
  const hold = gate()
  const provider = await startProvider(t, [behind(hold.opened, says('x'))])
  const accepted = await client.start(runBody({ llm: provider.llm() }))
  const reader = await client.stream(accepted, { 'accept-encoding': 'gzip, br, deflate' })
  assert.equal(reader.status, 200)
  assert.equal(reader.headers['content-type'], 'text/event-stream; charset=utf-8')
  assert.equal(reader.headers['cache-control'], 'no-cache, no-transform')
  assert.equal(reader.headers['x-accel-buffering'], 'no')
  assert.equal(reader.headers['content-encoding'], undefined)
  await reader.event('start')
  assert.match(reader.raw(), /^: [^\n]*\nretry: 1000\n/)
  assert.ok(reader.comments.length >= 1)
  hold.open()
  await reader.ended()
})

test('§9 SS-08: CORS stands on every status for an allowed origin, and never for another', async (t) => {
  const client = await engine.client()
  const accepted = await startRun(t, client, calm)
  await client.result(accepted)
  const { stream_url, cancel_url, run_id } = accepted
  const unknown = stream_url.replace(run_id, 'run_01M8NVRYK2NQ8QRWHDSXEDPFH8')
  const bare = `${client.address}/runs/${run_id}`
  const calls = [
    { url: stream_url, status: 200 },
    { url: stream_url.replace(/token=.*/, 'token=wrong'), status: 403 },
    { url: `${bare}/stream`, status: 401 },
    { url: unknown, status: 404 },
    { url: `${stream_url}&format=sse`, status: 400 },
    { url: cancel_url, method: 'POST', status: 200 },
    { url: `${bare}/cancel?token=wrong`, method: 'POST', status: 403 },
    { url: `${bare}/cancel`, method: 'POST', status: 401 },
    { url: cancel_url.replace(run_id, 'run_1'), method: 'POST', status: 404 },
    { url: `${bare}/cancel`, method: 'DELETE', status: 405 },
    { url: stream_url, method: 'OPTIONS', status: 204 },
    { url: cancel_url, method: 'OPTIONS', status: 204 },
  ]
  const { text } = await send({ url: `${stream_url}&format=sse` })
  assert.match(text, /must stand once and be ai-sdk or ag-ui;/, 'nothing but formats is named as one')
  for (const { status, ...call } of calls) {
    const allowed = await send({ ...call, headers: { origin: ORIGIN } })
    assert.equal(allowed.status, status, `${call.method ?? 'GET'} ${call.url}`)
    assert.equal(allowed.headers['access-control-allow-origin'], ORIGIN)
    assert.match(String(allowed.headers.vary), /origin/i)
    assert.equal(allowed.headers['access-control-allow-credentials'], undefined)
    for (const origin of [
      'https://evil.example',
      'null',
      'https://APP.example',
      `${ORIGIN}:8443`,
      'http://app.example',
    ]) {
      const foreign = await send({ ...call, headers: { origin } })
      assert.equal(foreign.status, status)
      assert.equal(foreign.headers['access-control-allow-origin'], undefined, origin)
    }
  }
  const local = await send({ url: stream_url, headers: { origin: 'http://localhost:5173' } })
  assert.equal(local.headers['access-control-allow-origin'], 'http://localhost:5173')
  // What is not for browsers has no CORS at all.
  const harness = await client.send(`/runs/${run_id}`, { headers: { origin: ORIGIN } })
  assert.equal(harness.headers['access-control-allow-origin'], undefined)
})

test('§9 errors are final for an EventSource, and a format that is none is refused', async (t) => {
  const client = await engine.client()
  const accepted = await startRun(t, client, calm)
  const { details } = errorOf(await send({ url: `${accepted.stream_url}&format=sse` }), 400, 'invalid_request')
  assert.deepEqual(
    details?.map(({ path }) => path),
    ['format'],
  )
  errorOf(await send({ url: accepted.stream_url.replace(/.$/, '#').replace('#', '_') }), 403, 'forbidden')
  errorOf(await send({ url: `${accepted.stream_url}&token=x` }), 401, 'unauthorized')
  // The harness reads with its own token.
  const reader = await openStream(`${client.address}/runs/${accepted.run_id}/stream`, client.authorization)
  assert.equal(names(await reader.ended()).at(-1), 'done')
})

test('the engine of this file ended in peace', () => engine.finish())
