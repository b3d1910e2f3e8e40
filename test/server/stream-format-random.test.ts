/**
 * Streams as a run can make them, drawn at random, read by the official parsers of both foreign formats: nothing is refused,
 * the last text is the run's, and a reader that resumes anywhere, live words or merged ones, ends with the same message.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { StreamEvent } from '../../src/contract/stream-event.ts'
import { createRunEventLog, type RunEventLog } from '../../src/runs/event-log.ts'
import { openForm, type FormatName } from '../../src/server/stream-format.ts'
import {
  answerOf,
  framesOf,
  lastAnswer,
  lastStepText,
  readAgUi,
  readAiSdk,
  type Frame,
} from '../conformance/foreign-readers.ts'

const never = new AbortController().signal
const RUN = 'run_1'

// ------------------------------------------------------------------------------------------------------ drawing a stream

/** Words a model says, or a sign that something else happens. */
type Move = { readonly kind: 'text' | 'reasoning'; readonly text: string } | { readonly kind: 'reset' | 'wait' }

const words = fc.string({
  minLength: 1,
  maxLength: 12,
  unit: fc.constantFrom('a', ' ', '\n', '🙂', 'é', '"', '\u2028', ':'),
})
const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 4, arbitrary: words.map((text) => ({ kind: 'text' as const, text })) },
  { weight: 2, arbitrary: words.map((text) => ({ kind: 'reasoning' as const, text })) },
  { weight: 1, arbitrary: fc.constantFrom({ kind: 'reset' as const }, { kind: 'wait' as const }) },
)
const calls = fc.array(
  fc.record({ named: fc.boolean(), shown: fc.boolean(), ok: fc.boolean(), label: fc.option(words) }),
  { maxLength: 4 },
)
const stream = fc.record({
  steps: fc.array(fc.record({ moves: fc.array(move, { maxLength: 8 }), calls }), { minLength: 1, maxLength: 4 }),
  fallback: fc.boolean(),
  status: fc.constantFrom('completed' as const, 'awaiting_tool' as const, 'cancelled' as const, 'failed' as const),
  maxTextChars: fc.constantFrom(undefined, 20),
})
type Drawn = typeof stream extends fc.Arbitrary<infer T> ? T : never

interface Played {
  readonly events: readonly StreamEvent[]
  /** Visible text of the last step. */
  readonly text: string
}

function play({ steps, fallback, status }: Drawn): Played {
  const events: StreamEvent[] = [{ event: 'start', data: { run_id: RUN } }]
  let n = 0
  let text = ''
  const say = (step: number, piece: string) => {
    events.push({ event: 'delta', data: { step, offset: text.length, text: piece } })
    text += piece
  }
  const reset = (step: number, reason: 'retry' | 'empty') => {
    events.push({ event: 'reset', data: { step, reason } })
    text = ''
  }
  for (const [index, { moves, calls: made }] of steps.entries()) {
    const step = index + 1
    text = ''
    events.push({ event: 'step', data: { step, final: false } })
    for (const one of moves) {
      if (one.kind === 'text') say(step, one.text)
      else if (one.kind === 'reasoning') events.push({ event: 'reasoning', data: { step, text: one.text } })
      else if (one.kind === 'reset') reset(step, 'retry')
      else events.push({ event: 'wait', data: { reason: 'queue', ms: 0 } })
    }
    const results: StreamEvent[] = []
    for (const { named, shown, ok, label } of made) {
      n += 1
      const names = named ? { tool: 'get', call_id: `call_${n}` } : {}
      events.push({ event: 'tool_call', data: { step, n, label, ...names, ...(shown ? { args: { n } } : {}) } })
      results.unshift({ event: 'tool_result', data: { step, n, ok, ...(shown && ok ? { result: { n } } : {}) } })
    }
    events.push(...results)
  }
  if (fallback) {
    reset(steps.length, 'empty')
    say(steps.length, 'Sorry.')
  }
  const error = status === 'failed' ? { code: 'provider_unavailable' as const, message: 'It failed.' } : null
  events.push({ event: 'done', data: { status, stop_reason: null, limit_reached: null, error, pending: 0 } })
  return { events, text }
}

// ------------------------------------------------------------------------------------------------------ reading it

const frames = (bytes: string) => framesOf(new Response(bytes))

async function replay(format: FormatName, log: RunEventLog, after?: string): Promise<Frame[]> {
  const form = openForm(format, after)
  const { had, events } = log.read(form.after, never)
  for await (const event of had) form.had(event)
  let bytes = form.open()
  for await (const event of events) bytes += form.write(event)
  return frames(bytes)
}

/** A reader that takes each event as it is made; `log` has them all then. */
async function live(format: FormatName, log: RunEventLog, events: readonly StreamEvent[]): Promise<Frame[]> {
  const form = openForm(format, undefined)
  const reading = log.read(undefined, never).events[Symbol.asyncIterator]()
  let bytes = form.open()
  for (const event of events) {
    log.append(event)
    const next = await reading.next()
    if (next.done !== true) bytes += form.write(next.value)
  }
  return frames(bytes)
}

/** The last id that a reader has seen. */
const lastId = (had: readonly Frame[]) => had.findLast(({ id }) => id !== null)?.id ?? undefined

const drawn = fc.tuple(stream, fc.array(fc.nat(), { minLength: 3, maxLength: 3 }))

test('AI SDK: whatever a run does, the SDK reads it, and a reader resumes anywhere to the same message', async () => {
  await fc.assert(
    fc.asyncProperty(drawn, async ([one, cuts]) => {
      const { events, text } = play(one)
      const log = createRunEventLog(one.maxTextChars === undefined ? {} : { maxTextChars: one.maxTextChars })
      const told = await live('ai-sdk', log, events)
      const errors = one.status === 'failed' ? ['It failed.'] : []
      const whole = await readAiSdk(answerOf(told))
      assert.ok(whole !== null)
      assert.deepEqual([whole.errors, lastStepText(whole)], [errors, text])
      const again = await readAiSdk(answerOf(await replay('ai-sdk', log)))
      assert.ok(again !== null)
      assert.deepEqual([again.errors, lastStepText(again)], [errors, text])
      // A log that is bounded has let go of what was void or over: the answer is the same, what led to it need not be.
      const isWhole = one.maxTextChars === undefined
      if (isWhole) assert.deepEqual(again.message, whole.message)
      for (const cut of cuts) {
        const had = told.slice(0, 1 + (cut % (told.length - 1)))
        const reading = await readAiSdk(answerOf([...had, ...(await replay('ai-sdk', log, lastId(had)))]))
        assert.ok(reading !== null)
        assert.deepEqual([reading.errors, lastStepText(reading)], [errors, text])
        if (isWhole) assert.deepEqual(reading.message, whole.message)
      }
    }),
    { numRuns: 60 },
  )
})

test('AI SDK: a reader that was in the middle of a thought goes on though the log has let go of it', async () => {
  const step = { kind: 'text' as const, text: 'a' }
  const calls = [{ named: false, shown: false, ok: false, label: null }]
  const thought = { kind: 'reasoning' as const, text: 'long thought' }
  const steps = [
    { moves: [step, thought], calls },
    { moves: [], calls: [] },
  ]
  const { events } = play({ steps, fallback: false, status: 'completed', maxTextChars: undefined })
  const log = createRunEventLog({ maxTextChars: 3 })
  const told = await live('ai-sdk', log, events)
  for (let length = 1; length < told.length; length += 1) {
    const had = told.slice(0, length)
    const reading = await readAiSdk(answerOf([...had, ...(await replay('ai-sdk', log, lastId(had)))]))
    assert.deepEqual(reading?.errors, [], `behind ${had.at(-1)?.data}`)
  }
})

test('AG-UI: whatever a run does, the client reads it, and a new run of it resumes anywhere to the same messages', async () => {
  await fc.assert(
    fc.asyncProperty(drawn, async ([one, cuts]) => {
      const { events, text } = play(one)
      const log = createRunEventLog(one.maxTextChars === undefined ? {} : { maxTextChars: one.maxTextChars })
      const told = await live('ag-ui', log, events)
      const error = one.status === 'failed' ? { message: 'It failed.', code: 'provider_unavailable' } : null
      const whole = await readAgUi(answerOf(told))
      assert.deepEqual([whole.complaints, whole.error], [[], error])
      if (text !== '') assert.equal(lastAnswer(whole), text)
      const again = await readAgUi(answerOf(await replay('ag-ui', log)))
      assert.deepEqual([again.complaints, again.error], [[], error])
      if (text !== '') assert.equal(lastAnswer(again), text)
      const isWhole = one.maxTextChars === undefined
      if (isWhole) assert.deepEqual(again.messages, whole.messages)
      for (const cut of cuts) {
        const had = told.slice(0, 1 + (cut % (told.length - 1)))
        const first = await readAgUi(answerOf(had))
        const rest = await readAgUi(answerOf(await replay('ag-ui', log, lastId(had))), first.messages)
        assert.deepEqual([first.complaints, rest.complaints, rest.error], [[], [], error])
        if (text !== '') assert.equal(lastAnswer(rest), text)
        if (isWhole) assert.deepEqual(rest.messages, whole.messages)
      }
    }),
    { numRuns: 60 },
  )
})
