/** The event log of one run: what readers get, live, late, again and after anything that can happen in between. */
import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import fc from 'fast-check'
import type { StreamEvent } from '../../src/contract/stream-event.ts'
import { createRunEventLog, MERGE_WINDOW_MS, type RunEventLog } from '../../src/runs/event-log.ts'
import { MAX_EVENT_CHARS } from '../../src/runs/log-entries.ts'
import type { LoggedEvent } from '../../src/runs/ports.ts'

const never = () => new AbortController().signal
const start: StreamEvent = { event: 'start', data: { run_id: 'run_1' } }
const step = (number: number): StreamEvent => ({ event: 'step', data: { step: number, final: false } })
const delta = (number: number, offset: number, text: string): StreamEvent => {
  return { event: 'delta', data: { step: number, offset, text } }
}
const reasoning = (number: number, text: string): StreamEvent => ({ event: 'reasoning', data: { step: number, text } })
const reset = (number: number): StreamEvent => ({ event: 'reset', data: { step: number, reason: 'retry' } })
const done: StreamEvent = {
  event: 'done',
  data: { status: 'completed', stop_reason: 'end_turn', limit_reached: null, error: null, pending: 0 },
}

function logOf(...events: StreamEvent[]): RunEventLog {
  const log = createRunEventLog()
  for (const event of events) log.append(event)
  return log
}

async function readAll(log: RunEventLog, after?: string): Promise<LoggedEvent[]> {
  return Array.fromAsync(log.read(after, never()).events)
}

/** What a browser shows after these events: the text of each step, by the one rule of the contract. */
function shown(events: readonly LoggedEvent[], before: ReadonlyMap<number, string> = new Map()): Map<number, string> {
  const texts = new Map(before)
  for (const { event } of events) {
    if (event.event === 'resync') texts.clear()
    if (event.event === 'reset') texts.set(event.data.step, '')
    if (event.event === 'delta') {
      const { step: number, offset, text } = event.data
      texts.set(number, (texts.get(number) ?? '').slice(0, offset) + text)
    }
  }
  return texts
}

/** The order of events with merged text taken apart: text counts by its characters. */
function flat(events: readonly StreamEvent[]): string[] {
  return events.flatMap((event) => {
    if (event.event !== 'delta' && event.event !== 'reasoning') return [JSON.stringify(event)]
    return Array.from(event.data.text, (character) => `${event.event} ${event.data.step} ${character}`)
  })
}

test('SS-04: a reader after the end gets every event in order, once, and done', async () => {
  const events = await readAll(logOf(start, step(1), delta(1, 0, 'Hel'), delta(1, 3, 'lo'), done))
  assert.deepEqual(
    events.map(({ event }) => event),
    [start, step(1), delta(1, 0, 'Hello'), done],
  )
  assert.deepEqual(
    events.map(({ id }) => id),
    ['0-1', '1-1', '2-5', '3-1'],
  )
})

test('a delta that does not go on from the one before is not merged with it', async () => {
  const events = await readAll(logOf(delta(1, 0, 'ab'), delta(2, 0, 'c'), delta(2, 0, 'd'), done))
  assert.deepEqual(
    events.map(({ event }) => event),
    [delta(1, 0, 'ab'), delta(2, 0, 'c'), delta(2, 0, 'd'), done],
  )
})

test('the offset of a delta goes on over reasoning and tool events within the step', async () => {
  const events = await readAll(logOf(step(1), delta(1, 0, 'ab'), reasoning(1, 'hm'), delta(1, 2, 'cd'), done))
  assert.deepEqual(events.map(({ event }) => event).at(-2), delta(1, 2, 'cd'))
  assert.equal(shown(events).get(1), 'abcd')
})

test('SS-09: nothing is taken after done', async () => {
  const log = logOf(start, done)
  log.append(delta(1, 0, 'late'))
  log.append(done)
  assert.equal((await readAll(log)).length, 2)
})

test('a reading that resumes in the middle of a text gets exactly the rest of it', async () => {
  const log = logOf(step(1), delta(1, 0, 'Hello'), done)
  const events = await readAll(log, '1-2')
  assert.deepEqual(events[0], { id: '1-5', event: delta(1, 2, 'llo') })
  assert.equal(shown(events, new Map([[1, 'He']])).get(1), 'Hello')
})

test('SS-07: only the id of done is at the end', () => {
  const log = logOf(start, done)
  assert.equal(log.read('1-1', never()).atEnd, true)
  assert.equal(log.read('0-1', never()).atEnd, false)
  assert.equal(log.read(undefined, never()).atEnd, false)
  assert.equal(logOf(start).read('0-1', never()).atEnd, false)
})

for (const id of [
  '',
  '9-1',
  '1-99',
  '1-0',
  '-1-1',
  '1',
  'x',
  '1-1\nevent: x',
  '01-1',
  '1e1-1',
  '99999999999999999999-1',
]) {
  test(`an id that was never given, ${JSON.stringify(id)}, starts over behind a resync`, async () => {
    const log = logOf(
      start,
      step(1),
      delta(1, 0, 'old'),
      reset(1),
      delta(1, 0, 'ab'),
      reasoning(1, 'r'),
      delta(1, 2, 'c'),
      done,
    )
    const [first, ...rest] = await readAll(log, id)
    assert.deepEqual(first, { id: '0-0', event: { event: 'resync', data: { step: 1, text: 'abc' } } })
    assert.deepEqual(rest, await readAll(log))
  })
}

test('a resync before any step has the step 0 and no text, and its id resumes at the first event', async () => {
  const log = logOf(start, done)
  const [first] = await readAll(log, 'unknown')
  assert.deepEqual(first?.event, { event: 'resync', data: { step: 0, text: '' } })
  assert.deepEqual(await readAll(log, first?.id), await readAll(log))
})

test('the resync of a new step does not show the text of the one before', async () => {
  const [first] = await readAll(logOf(step(1), delta(1, 0, 'one'), step(2), done), 'unknown')
  assert.deepEqual(first?.event, { event: 'resync', data: { step: 2, text: '' } })
})

test('a long text is replayed in bounded pieces that never cut a character', async () => {
  const text = `x${'🙂'.repeat(MAX_EVENT_CHARS)}`
  const events = await readAll(logOf(delta(1, 0, text), done))
  assert.ok(events.length > 2)
  for (const { event } of events) {
    if (event.event !== 'delta') continue
    assert.ok(event.data.text.length <= MAX_EVENT_CHARS)
    assert.ok(event.data.text.isWellFormed())
  }
  assert.equal(shown(events).get(1), text)
})

test('a text that still grows is replayed in bounded pieces as well', async () => {
  const log = createRunEventLog()
  // The odd length of the first makes borders fall inside characters.
  log.append(delta(1, 0, 'x'))
  for (let index = 0; index < 10_000; index += 1) log.append(delta(1, 1 + index * 4, '🙂🙂'))
  const stop = new AbortController()
  const events: LoggedEvent[] = []
  for await (const logged of log.read(undefined, stop.signal).events) {
    events.push(logged)
    if (logged.id === '0-40001') stop.abort()
  }
  assert.ok(events.every(({ event }) => event.event === 'delta' && event.data.text.length <= MAX_EVENT_CHARS))
  assert.equal(shown(events).get(1), `x${'🙂'.repeat(20_000)}`)
})

test('the first delta goes to a waiting reader at once, those within the window as one', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const log = createRunEventLog()
  const stop = new AbortController()
  const reader = log.read(undefined, stop.signal).events[Symbol.asyncIterator]()
  const first = reader.next()
  log.append(delta(1, 0, 'a'))
  assert.deepEqual((await first).value, { id: '0-1', event: delta(1, 0, 'a') })

  let second: IteratorResult<LoggedEvent> | null = null
  const next = reader.next().then((result) => (second = result))
  await Promise.resolve()
  for (const [offset, text] of ['b', 'c', 'd'].entries()) log.append(delta(1, offset + 1, text))
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(second, null)
  t.mock.timers.tick(MERGE_WINDOW_MS)
  await next
  assert.deepEqual((second as IteratorResult<LoggedEvent> | null)?.value, { id: '0-4', event: delta(1, 1, 'bcd') })
  stop.abort()
})

test('no timer runs while nobody reads, nor while a reader waits and nothing is appended', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const log = createRunEventLog()
  const timers = t.mock.method(globalThis, 'setTimeout')
  log.append(start)
  log.append(delta(1, 0, 'a'))
  assert.equal(timers.mock.callCount(), 0)

  const stop = new AbortController()
  const reader = log.read(undefined, stop.signal).events[Symbol.asyncIterator]()
  await reader.next()
  await reader.next()
  const waiting = reader.next()
  await Promise.resolve()
  log.append(delta(1, 1, 'b'))
  await waiting
  const idle = reader.next()
  await Promise.resolve()
  assert.equal(timers.mock.callCount(), 1)
  t.mock.timers.tick(MERGE_WINDOW_MS * 10)
  assert.equal(timers.mock.callCount(), 1)
  stop.abort()
  assert.equal((await idle).done, true)
})

test('an abort ends a waiting reader at once and leaves no listener behind', async () => {
  const log = logOf(start)
  const stop = new AbortController()
  const reader = log.read(undefined, stop.signal).events[Symbol.asyncIterator]()
  await reader.next()
  const waiting = reader.next()
  await Promise.resolve()
  assert.equal(getEventListeners(stop.signal, 'abort').length, 1)
  stop.abort()
  assert.equal((await waiting).done, true)
  assert.equal(getEventListeners(stop.signal, 'abort').length, 0)
})

test('SD-03: a reader that is woken a hundred times keeps one listener on its signal', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const log = createRunEventLog()
  const stop = new AbortController()
  const reader = log.read(undefined, stop.signal).events[Symbol.asyncIterator]()
  for (let index = 0; index < 100; index += 1) {
    const waiting = reader.next()
    await Promise.resolve()
    log.append(delta(1, index, 'x'))
    t.mock.timers.tick(MERGE_WINDOW_MS)
    await waiting
  }
  assert.equal(getEventListeners(stop.signal, 'abort').length, 0)
  stop.abort()
})

test('an aborted signal reads nothing', async () => {
  assert.deepEqual(await Array.fromAsync(logOf(start, done).read(undefined, AbortSignal.abort()).events), [])
  assert.deepEqual(await Array.fromAsync(logOf(start, done).read('unknown', AbortSignal.abort()).events), [])
})

test('SS-04: two readers at once each get everything', async () => {
  const log = logOf(start)
  const readings = [readAll(log), readAll(log)]
  await Promise.resolve()
  log.append(delta(1, 0, 'a'))
  await Promise.resolve()
  log.append(delta(1, 1, 'b'))
  log.append(done)
  for (const events of await Promise.all(readings)) {
    assert.equal(shown(events).get(1), 'ab')
    assert.equal(events.at(-1)?.event.event, 'done')
  }
})

test('beyond its bound the log drops reasoning that is over and voided text, oldest first, and nothing else', async () => {
  const log = createRunEventLog({ maxTextChars: 10 })
  for (const event of [start, step(1), reasoning(1, 'rrrr'), delta(1, 0, 'vvvv'), reset(1), delta(1, 0, 'kept')])
    log.append(event)
  const kept = await Array.fromAsync(untilText(log, 'kept'))
  assert.deepEqual(
    kept.map(({ event }) => event),
    [start, step(1), delta(1, 0, 'vvvv'), reset(1), delta(1, 0, 'kept')],
  )
  log.append(step(2))
  log.append(delta(2, 0, 'seven77'))
  log.append(done)
  assert.deepEqual(
    (await readAll(log)).map(({ event }) => event),
    [start, step(1), reset(1), delta(1, 0, 'kept'), step(2), delta(2, 0, 'seven77'), done],
  )
  // Ids of what was dropped stay good.
  assert.deepEqual((await readAll(log, '2-3'))[0]?.event, reset(1))
  assert.deepEqual((await readAll(log, '3-2'))[0]?.event, reset(1))
})

async function* untilText(log: RunEventLog, text: string): AsyncGenerator<LoggedEvent> {
  const stop = new AbortController()
  for await (const logged of log.read(undefined, stop.signal).events) {
    yield logged
    if (logged.event.event === 'delta' && logged.event.data.text === text) stop.abort()
  }
}

test('half a million deltas cost time in proportion to their text, read or not', async () => {
  const log = createRunEventLog()
  const reader = readAll(log)
  for (let index = 0; index < 500_000; index += 1) {
    log.append(delta(1, index * 5, 'words'))
    if (index % 5_000 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  log.append(done)
  assert.equal(shown(await reader).get(1), 'words'.repeat(500_000))
})

/** Any events an engine can emit, with right offsets, ending with done. */
const runs = fc
  .array(
    fc.record({
      kind: fc.constantFrom('step', 'delta', 'delta', 'delta', 'reasoning', 'reset', 'wait', 'tool_call'),
      text: fc.string({ unit: fc.constantFrom('a', 'é', '🙂', '\n', '\u2028', 'b'), minLength: 1, maxLength: 5 }),
    }),
    { maxLength: 40 },
  )
  .map((moves) => {
    let number = 1
    let length = 0
    const events: StreamEvent[] = [start, step(1)]
    for (const { kind, text } of moves) {
      if (kind === 'step') {
        number += 1
        length = 0
        events.push(step(number))
      } else if (kind === 'delta') {
        events.push(delta(number, length, text))
        length += text.length
      } else if (kind === 'reset') {
        length = 0
        events.push(reset(number))
      } else if (kind === 'reasoning') events.push(reasoning(number, text))
      else if (kind === 'wait') events.push({ event: 'wait', data: { reason: 'queue', ms: 5 } })
      else events.push({ event: 'tool_call', data: { step: number, n: 1, label: text } })
    }
    return [...events, done]
  })

test('whatever is appended, read, dropped and resumed in whatever order, a reader ends with the same text and events', async () => {
  await fc.assert(
    fc.asyncProperty(runs, fc.infiniteStream(fc.nat(3)), async (events, choices) => {
      const log = createRunEventLog()
      const got: LoggedEvent[] = []
      const pending = [...events]
      let last: string | undefined
      let ended = false
      while (!ended) {
        // One connection: takes a few events, then goes away; in between the run goes on.
        const stop = new AbortController()
        const reader = log.read(last, stop.signal).events[Symbol.asyncIterator]()
        for (let takes = (choices.next().value ?? 0) + 1; takes > 0 && !ended; takes -= 1) {
          const next = reader.next()
          for (let appends = choices.next().value ?? 0; appends > 0; appends -= 1) {
            const event = pending.shift()
            if (event !== undefined) log.append(event)
          }
          const result = await Promise.race([next, new Promise<null>((resolve) => setImmediate(() => resolve(null)))])
          if (result === null) {
            // Nothing to read yet: the reader goes away while it waits.
            stop.abort()
            const late = await next
            assert.equal(late.done, true)
            break
          }
          if (result.done === true) ended = true
          else {
            got.push(result.value)
            last = result.value.id
          }
        }
        stop.abort()
      }
      assert.deepEqual(flat(got.map(({ event }) => event)), flat(events))
      const whole = await readAll(log)
      assert.deepEqual(shown(got), shown(whole))
      // Each id that was ever given leads to exactly what was still missing behind it.
      for (const [index, { id }] of got.entries()) {
        const before = got.slice(0, index + 1).map(({ event }) => event)
        const after = (await readAll(log, id)).map(({ event }) => event)
        assert.deepEqual(flat([...before, ...after]), flat(events))
      }
    }),
    { numRuns: 200 },
  )
})

test('what a reader has is told up to its id exactly, in order, whatever was appended since', async () => {
  const events = [
    start,
    step(1),
    delta(1, 0, 'Hel'),
    delta(1, 3, 'lo 🙂'),
    reset(1),
    reasoning(1, 'hm'),
    delta(1, 0, 'Bye'),
  ]
  const log = logOf()
  const given: string[] = []
  const reading = log.read(undefined, never()).events[Symbol.asyncIterator]()
  for (const event of events) {
    log.append(event)
    const next = await reading.next()
    if (next.done !== true) given.push(next.value.id)
  }
  assert.equal(given.length, events.length)
  log.append(delta(1, 3, ' now'))
  log.append(done)
  for (const [index, id] of given.entries()) {
    const had = await Array.fromAsync(log.read(id, never()).had)
    assert.deepEqual(flat(had), flat(events.slice(0, index + 1)), id)
  }
  for (const nothing of [undefined, '0-0', '99-1', 'x']) {
    const { had, events: all } = log.read(nothing, never())
    // Reading on moves the reader, and not what it had.
    await all[Symbol.asyncIterator]().next()
    assert.deepEqual(await Array.fromAsync(had), [], nothing)
  }
})

test('of what a reader has, text that was dropped is missing and the rest is there', async () => {
  const log = createRunEventLog({ maxTextChars: 10 })
  for (const event of [start, step(1), delta(1, 0, 'void void'), reset(1), delta(1, 0, 'kept text'), done])
    log.append(event)
  const had = await Array.fromAsync(log.read('2-4', never()).had)
  assert.deepEqual(had, [start, step(1)])
  assert.deepEqual(await Array.fromAsync(log.read('4-4', never()).had), [start, step(1), reset(1), delta(1, 0, 'kept')])
})

test('what a reader has of a long text is told in pieces, none longer than an event', async () => {
  const log = logOf(start)
  const text = 'x'.repeat(10_000)
  for (let index = 0; index < 10; index += 1) log.append(delta(1, index * text.length, text))
  const had = await Array.fromAsync(log.read('1-65000', never()).had)
  const lengths = had.map((event) => (event.event === 'delta' ? event.data.text.length : 0))
  assert.equal(
    lengths.reduce((sum, length) => sum + length),
    65_000,
  )
  assert.ok(Math.max(...lengths) <= MAX_EVENT_CHARS)
})
