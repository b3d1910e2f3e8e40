/**
 * SPEC §9.1: a run's stream read as AI SDK and as AG-UI by the official clients of both, over real sockets: every way for a
 * run to end, live, afterwards, and resumed behind every single event.
 */
import assert from 'node:assert/strict'
import { after, test, type TestContext } from 'node:test'
import type { JsonObject } from '../../src/contract/json.ts'
import type { RunResult } from '../../src/contract/result.ts'
import { asksFor, refuses, says, startProvider, type Play } from '../fakes/provider-server.ts'
import { hangs, ok, startTools, type ToolAnswering } from '../fakes/tool-server.ts'
import { runBody, type Accepted, type EngineClient } from './engine-client.ts'
import {
  answerOf,
  framesOf,
  getAsFetch,
  lastAnswer,
  lastStepText,
  readAgUi,
  readAiSdk,
  type AiSdkReading,
  type AgUiReading,
  type Frame,
} from './foreign-readers.ts'
import { sharedEngine } from './shared-engine.ts'

const engine = sharedEngine({ MAX_RUNS: '200' })

const EVERYTHING = { tool_names: true, tool_args: true, tool_results: true, reasoning: true }

interface Scenario {
  readonly plays?: readonly Play[]
  readonly fallback?: readonly Play[]
  readonly tools?: Readonly<Record<string, ToolAnswering>>
  readonly body?: JsonObject
  readonly stream?: JsonObject
  /** Begun when the run has been accepted. */
  readonly meanwhile?: (client: EngineClient, accepted: Accepted) => Promise<void>
  readonly status: RunResult['status']
  readonly text: string | RegExp
}

const breaks =
  (words: string): Play =>
  (answer) => {
    answer.text(words)
    answer.cut()
  }

const thinks =
  (thought: string, then: Play): Play =>
  (answer, request) => {
    answer.reasoning(thought)
    return then(answer, request)
  }

const whileText = async (client: EngineClient, accepted: Accepted) => {
  await (await client.stream(accepted)).event('delta')
  await client.cancel(accepted.run_id)
}

const hangingText: Play = (answer) => answer.text('Half of ')
const answers = {
  getOrders: ok({ state: 'shipped', n: 1 }),
  broken: { status: 'error', error: 'SECRET no such order' },
}

/** Every way a run can go that a stream tells of. */
const scenarios: Readonly<Record<string, Scenario>> = {
  'plain text': { plays: [says('Hello ', 'there', '.')], status: 'completed', text: 'Hello there.' },
  'tools, ok and failed': {
    plays: [
      (answer) => {
        answer.text('I will look. ')
        answer.call('getOrders', { orderId: '12345678901234567890' })
        answer.call('broken', {})
        answer.finish()
      },
      says('Found.'),
    ],
    tools: answers,
    stream: EVERYTHING,
    status: 'completed',
    text: 'Found.',
  },
  'tools, nothing of them shown': {
    plays: [asksFor(['getOrders', {}], ['broken', {}]), says('Found.')],
    tools: answers,
    status: 'completed',
    text: 'Found.',
  },
  'keys that a parser refuses': {
    plays: [
      asksFor(['getOrders', '{"__proto__":{"x":1},"in":[{"constructor":{"prototype":{}}}],"constructor":1,"n":1}']),
      says('Found.'),
    ],
    tools: {
      getOrders: '{"status":"ok","result":{"constructor":{"prototype":{"x":1}},"toString":2,"\\u005f_proto__":[]}}',
    },
    stream: EVERYTHING,
    status: 'completed',
    text: 'Found.',
  },
  'a deferred call': {
    plays: [
      (answer) => {
        answer.text('I ask for it. ')
        answer.call('refund', { amount: 1 })
        answer.finish()
      },
    ],
    tools: { refund: { status: 'deferred', operation_id: 'op_1' } },
    stream: EVERYTHING,
    status: 'awaiting_tool',
    text: 'I ask for it. ',
  },
  'a retry with a reset': { plays: [breaks('Broken wor'), says('Whole.')], status: 'completed', text: 'Whole.' },
  'a retry with a reset of reasoning and text': {
    plays: [thinks('Wrong.', breaks('Broken')), thinks('Right.', says('Whole.'))],
    stream: EVERYTHING,
    status: 'completed',
    text: 'Whole.',
  },
  'a reset behind tools': {
    plays: [asksFor(['getOrders', {}]), breaks('No'), says('Yes.')],
    tools: answers,
    stream: EVERYTHING,
    status: 'completed',
    text: 'Yes.',
  },
  'a fallback': {
    plays: [refuses(401)],
    fallback: [says('From the second.')],
    status: 'completed',
    text: 'From the second.',
  },
  'a cancel in the middle of text': {
    plays: [hangingText],
    meanwhile: whileText,
    status: 'cancelled',
    text: 'Half of ',
  },
  'a cancel in the middle of a call': {
    plays: [
      (answer) => {
        answer.text('Wait. ')
        answer.call('getOrders', {})
        answer.finish()
      },
    ],
    tools: { getOrders: hangs },
    stream: EVERYTHING,
    meanwhile: async (client, accepted) => {
      await (await client.stream(accepted)).event('tool_call')
      await client.cancel(accepted.run_id)
    },
    status: 'cancelled',
    text: 'Wait. ',
  },
  'a failure before any text': { plays: [refuses(401)], status: 'failed', text: '' },
  'a failure in the middle of text': { plays: [breaks('Broken.'), refuses(401)], status: 'failed', text: 'Broken.' },
  'a limit without a final answer, behind calls': {
    plays: [
      (answer) => {
        answer.text('I will look. ')
        answer.call('getOrders', {})
        answer.finish()
      },
    ],
    tools: answers,
    stream: EVERYTHING,
    body: { limits: { max_steps: 1, final_answer: false } },
    status: 'stopped_limit',
    text: /\w/,
  },
  'a limit with a final answer': {
    plays: [asksFor(['getOrders', {}]), says('What I have.')],
    tools: answers,
    body: { limits: { max_steps: 1 } },
    status: 'stopped_limit',
    text: 'What I have.',
  },
  'reasoning, text, reasoning': {
    plays: [
      (answer) => {
        answer.reasoning('First. ')
        answer.text('One ')
        answer.reasoning('Then. ')
        answer.text('two.')
        answer.finish()
      },
    ],
    stream: EVERYTHING,
    status: 'completed',
    text: 'One two.',
  },
  'an empty answer': { plays: [says(), says()], status: 'completed', text: /\w/ },
  'a refusal': {
    plays: [
      (answer) => {
        answer.text('I must not.')
        answer.finish({ reason: 'content_filter' })
      },
    ],
    status: 'completed',
    text: 'I must not.',
  },
  'an answer cut by length': {
    plays: [
      (answer) => {
        answer.text('So far')
        answer.finish({ reason: 'length' })
      },
    ],
    status: 'completed',
    text: 'So far',
  },
  'a repaired form': {
    plays: [says('not json'), says('{"a":1}')],
    body: { output: { schema: { type: 'object', required: ['a'] } } },
    status: 'completed',
    text: '{"a":1}',
  },
  'odd characters': {
    plays: [says('🙂🙂 a\r\ndata: {}\n\n', '\u2028[DONE]\u0000', '🙂')],
    status: 'completed',
    text: '🙂🙂 a\r\ndata: {}\n\n\u2028[DONE]\u0000🙂',
  },
}

interface Ran {
  readonly result: RunResult
  readonly url: (format: string) => string
  readonly live: { readonly 'ai-sdk': readonly Frame[]; readonly 'ag-ui': readonly Frame[] }
}

const runs = new Map<string, Promise<Ran>>()
after(() => runs.clear())

/** The run of a scenario, with live readers from its first moment on; each is run once. */
function ran(t: TestContext, name: string): Promise<Ran> {
  const known = runs.get(name)
  if (known !== undefined) return known
  const begun = run(t, scenarios[name] as Scenario)
  runs.set(name, begun)
  return begun
}

async function run(t: TestContext, { plays = [], fallback, tools = {}, body = {}, stream = {}, meanwhile }: Scenario) {
  const client = await engine.client()
  const served = await startTools(t, tools)
  const provider = await startProvider(t, plays)
  const second = fallback === undefined ? null : await startProvider(t, fallback)
  const accepted = await client.start(
    runBody({
      llm: provider.llm(second === null ? {} : { fallbacks: [second.llm()] }),
      tools: Object.keys(tools).map((tool) => served.tool(tool, { label: `Using ${tool}…` })),
      stream,
      ...body,
    }),
  )
  const url = (format: string) => `${accepted.stream_url}&format=${format}`
  const live = await Promise.all(['ai-sdk', 'ag-ui'].map((format) => getAsFetch(url(format))))
  await meanwhile?.(client, accepted)
  const [aiSdk, agUi] = await Promise.all(live.map(framesOf))
  const { result } = await client.view(accepted.run_id)
  assert.ok(result !== null)
  return { result, url, live: { 'ai-sdk': aiSdk ?? [], 'ag-ui': agUi ?? [] } }
}

const FINISH_REASONS: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  tool_calls: 'tool-calls',
  length: 'length',
  refusal: 'content-filter',
  cancelled: 'interrupted',
  error: 'error',
}

function assertAiSdk(reading: AiSdkReading | null, result: RunResult): asserts reading is AiSdkReading {
  assert.ok(reading !== null)
  const { message, errors, chunks } = reading
  assert.equal(message?.id, result.run_id)
  // A run that was cancelled in a step without text keeps that of the step before.
  if (result.status !== 'cancelled' || lastStepText(reading) !== '') assert.equal(lastStepText(reading), result.text)
  assert.deepEqual(errors, result.error === null ? [] : [result.error.message])
  assert.deepEqual(message?.metadata, {
    run_id: result.run_id,
    status: result.status,
    stop_reason: result.stop_reason,
    limit_reached: result.limit_reached,
    error: result.error,
    pending: result.pending.length,
  })
  const last = chunks.at(-1)
  const finishReason = result.stop_reason === null ? 'other' : FINISH_REASONS[result.stop_reason]
  assert.deepEqual(last, { type: 'finish', finishReason })
  assert.equal(chunks.filter(({ type }) => type === 'abort').length, result.status === 'cancelled' ? 1 : 0)
  for (const part of message?.parts ?? []) {
    if (part.type === 'text' || part.type === 'reasoning') assert.equal(part.state, 'done')
  }
}

function assertAgUi(reading: AgUiReading, result: RunResult): void {
  assert.deepEqual(reading.complaints, [])
  if (result.status !== 'failed' || result.text !== '') assert.equal(lastAnswer(reading), result.text)
  const { error } = result
  assert.deepEqual(reading.error, error === null ? null : { message: error.message, code: error.code })
  const last = reading.events.at(-1)
  if (error !== null) assert.equal(last?.type, 'RUN_ERROR')
  else {
    assert.equal(last?.type, 'RUN_FINISHED')
    const pendingToolCallIds = result.pending.map(({ call_id }) => call_id)
    const success = { type: 'success', ...(pendingToolCallIds.length === 0 ? {} : { pendingToolCallIds }) }
    assert.deepEqual(last?.['outcome'], result.status === 'cancelled' ? { type: 'cancelled' } : success)
    if (result.status !== 'cancelled') assert.equal((reading.result as JsonObject)['status'], result.status)
  }
}

for (const [name, { status, text }] of Object.entries(scenarios)) {
  test(`§9.1 AI SDK, ${name}: its final message says what the result says, live and afterwards`, async (t) => {
    const { result, url, live } = await ran(t, name)
    assert.equal(result.status, status)
    if (typeof text === 'string') assert.equal(result.text, text)
    else assert.match(result.text, text)
    const seen = await readAiSdk(answerOf(live['ai-sdk']))
    assertAiSdk(seen, result)
    const replayed = await readAiSdk(await getAsFetch(url('ai-sdk')))
    assertAiSdk(replayed, result)
    assert.deepEqual(replayed.message, seen.message)
    assert.equal(live['ai-sdk'].at(-1)?.data, '[DONE]')
  })

  test(`§9.1 AI SDK, ${name}: behind every event a reader goes on exactly where it was`, async (t) => {
    const { result, url, live } = await ran(t, name)
    const whole = await readAiSdk(answerOf(live['ai-sdk']))
    let id: string | null = null
    for (const [index, frame] of live['ai-sdk'].entries()) {
      id = frame.id ?? id
      assert.ok(id !== null)
      const rest = await getAsFetch(url('ai-sdk'), { 'last-event-id': id })
      if (index === live['ai-sdk'].length - 1) {
        assert.equal(rest.status, 204)
        assert.equal(await readAiSdk(rest), null)
        continue
      }
      const had = live['ai-sdk'].slice(0, index + 1)
      const reading = await readAiSdk(answerOf([...had, ...(await framesOf(rest))]))
      assertAiSdk(reading, result)
      assert.deepEqual(reading.message, whole?.message, `behind ${frame.data}`)
    }
  })

  test(`§9.1 AG-UI, ${name}: its last answer says what the result says, live and afterwards`, async (t) => {
    const { result, url, live } = await ran(t, name)
    const seen = await readAgUi(answerOf(live['ag-ui']))
    assertAgUi(seen, result)
    const replayed = await readAgUi(await getAsFetch(url('ag-ui')))
    assertAgUi(replayed, result)
    assert.deepEqual(replayed.messages, seen.messages)
  })

  test(`§9.1 AG-UI, ${name}: behind every event a new run of the client goes on with the messages it has`, async (t) => {
    const { result, url, live } = await ran(t, name)
    const whole = await readAgUi(answerOf(live['ag-ui']))
    let id: string | null = null
    for (const [index, frame] of live['ag-ui'].entries()) {
      id = frame.id ?? id
      assert.ok(id !== null)
      const rest = await getAsFetch(url('ag-ui'), { 'last-event-id': id })
      const had = await readAgUi(answerOf(live['ag-ui'].slice(0, index + 1)))
      assert.deepEqual(had.complaints, [])
      const reading = await readAgUi(rest, had.messages)
      assertAgUi(reading, result)
      assert.deepEqual(reading.messages, whole.messages, `behind ${frame.data}`)
    }
  })
}

test('§9.1 AI SDK: tools are parts that the page is not asked to run, and a failure tells nothing of its reason', async (t) => {
  const { result, live } = await ran(t, 'tools, ok and failed')
  const { message } = (await readAiSdk(answerOf(live['ai-sdk']))) ?? {}
  const [first, second] = result.tool_calls
  assert.deepEqual(
    message?.parts.filter(({ type }) => type === 'dynamic-tool'),
    [
      {
        type: 'dynamic-tool',
        toolName: 'getOrders',
        toolCallId: first?.call_id,
        state: 'output-available',
        title: 'Using getOrders…',
        input: { orderId: '12345678901234567890' },
        output: { state: 'shipped', n: 1 },
        errorText: undefined,
        rawInput: undefined,
        preliminary: undefined,
        providerExecuted: true,
      },
      {
        type: 'dynamic-tool',
        toolName: 'broken',
        toolCallId: second?.call_id,
        state: 'output-error',
        title: 'Using broken…',
        input: {},
        output: undefined,
        errorText: 'The call failed.',
        rawInput: undefined,
        preliminary: undefined,
        providerExecuted: true,
      },
    ],
  )
  assert.doesNotMatch(JSON.stringify(live), /SECRET|no such order/)
})

test('§9.1 AI SDK: of arguments and results only what its parser refuses is left out', async (t) => {
  const { live } = await ran(t, 'keys that a parser refuses')
  const { message } = (await readAiSdk(answerOf(live['ai-sdk']))) ?? {}
  const part = message?.parts.find(({ type }) => type === 'dynamic-tool')
  assert.deepEqual(part !== undefined && 'input' in part && part.input, { in: [{}], constructor: 1, n: 1 })
  assert.deepEqual(part !== undefined && 'output' in part && part.output, { toString: 2 })
  const { messages } = await readAgUi(answerOf(live['ag-ui']))
  assert.match(JSON.stringify(messages), /__proto__.*constructor.*prototype/)
})

test('§9.1 AG-UI: a call is in the message of its step, with its label, and its result behind it', async (t) => {
  const { result, live } = await ran(t, 'tools, ok and failed')
  const { messages } = await readAgUi(answerOf(live['ag-ui']))
  const [first, second] = result.tool_calls.map(({ call_id }) => call_id)
  assert.deepEqual(messages, [
    {
      id: `${result.run_id}:1.0`,
      role: 'assistant',
      content: 'I will look. ',
      toolCalls: [
        {
          id: first,
          type: 'function',
          function: { name: 'getOrders', arguments: '{"orderId":"12345678901234567890"}' },
          metadata: { label: 'Using getOrders…' },
        },
        {
          id: second,
          type: 'function',
          function: { name: 'broken', arguments: '{}' },
          metadata: { label: 'Using broken…' },
        },
      ],
    },
    ...messages.slice(1, 3).toSorted((left) => (left.id.startsWith(first ?? '') ? -1 : 1)),
    { id: `${result.run_id}:2.0`, role: 'assistant', content: 'Found.' },
  ])
  assert.deepEqual(
    messages.filter(({ role }) => role === 'tool').toSorted((left) => (left.id.startsWith(first ?? '') ? -1 : 1)),
    [
      {
        id: `${first}:result`,
        toolCallId: first,
        role: 'tool',
        content: '{"state":"shipped","n":1}',
        metadata: { ok: true },
      },
      {
        id: `${second}:result`,
        toolCallId: second,
        role: 'tool',
        content: 'The call failed.',
        metadata: { ok: false },
      },
    ],
  )
})

test('§9.1 a deferred call has no result in either format, and its end is told again to whoever comes back', async (t) => {
  const { result, url, live } = await ran(t, 'a deferred call')
  const [call] = result.pending
  const { message } = (await readAiSdk(answerOf(live['ai-sdk']))) ?? {}
  const parts = message?.parts.filter((part) => part.type === 'dynamic-tool') ?? []
  assert.deepEqual(
    parts.map(({ toolCallId, state }) => ({ toolCallId, state })),
    [{ toolCallId: call?.call_id, state: 'input-available' }],
  )
  const { messages } = await readAgUi(answerOf(live['ag-ui']))
  assert.deepEqual(
    messages.map(({ role }) => role),
    ['assistant'],
  )
  const last = live['ag-ui'].findLast(({ id }) => id !== null)?.id ?? ''
  const again = await framesOf(await getAsFetch(url('ag-ui'), { 'last-event-id': last }))
  assert.deepEqual(again.at(-1), live['ag-ui'].at(-1))
})

test('§9.1 AG-UI: a message that a reset voids is marked as void and told of', async (t) => {
  const { result, live } = await ran(t, 'a retry with a reset of reasoning and text')
  const { messages, events } = await readAgUi(answerOf(live['ag-ui']))
  const id = `${result.run_id}:1.`
  assert.deepEqual(messages, [
    { id: `${id}0:reasoning`, role: 'reasoning', content: 'Wrong.', metadata: { void: 'retry' } },
    { id: `${id}0`, role: 'assistant', content: 'Broken', metadata: { void: 'retry' } },
    { id: `${id}1:reasoning`, role: 'reasoning', content: 'Right.' },
    { id: `${id}1`, role: 'assistant', content: 'Whole.' },
  ])
  const told = events.find(({ name }) => name === 'reset')
  assert.deepEqual(told?.['value'], { step: 1, reason: 'retry', void: [`${id}0:reasoning`, `${id}0`] })
})

test('§9.1 the defaults show labels only: no tool name, argument, result, call id or reasoning, in any form', async (t) => {
  const { live } = await ran(t, 'tools, nothing of them shown')
  for (const frames of Object.values(live)) {
    const shown = frames.map(({ data }) => data).join('\n')
    assert.match(shown, /Using getOrders…/)
    assert.doesNotMatch(shown.replaceAll('Using getOrders…', ''), /getOrders|shipped|call_/)
  }
})

test('the engine of this file ended in peace', () => engine.finish())
