import { test } from 'node:test'
import assert from 'node:assert/strict'
import type { StoredMessage } from '../../src/contract/message.ts'
import { Faults } from '../../src/contract/check.ts'
import { checkHistory } from '../../src/engine/history-rules.ts'
import { answer, call, calls, deferred, ok, play, say, stopWith, streamed, text, type Played } from '../fakes/engine.ts'
import { at, tool, userMessage } from '../fakes/run-request.ts'

const orders = tool('getOrders')
const refund = tool('createRefund', { effect: 'write' })

/** What every run owes: its messages make the history valid again, save for deferred calls. */
function assertValidHistory(played: Played): void {
  const pending = played.result.pending.map(({ call_id, tool }): StoredMessage => ({
    role: 'tool',
    call_id,
    tool,
    is_error: true,
    error: 'superseded',
  }))
  const history = [...played.record.request.messages, ...played.result.messages, ...pending]
  const faults = new Faults()
  checkHistory([...history, userMessage('next') as unknown as StoredMessage], faults)
  assert.deepEqual(faults.list, [])
}

test('a text answer completes the run and is stored as the assistant message', async () => {
  const played = await play({ model: [streamed('Hello.')] })
  const { result } = played
  assert.equal(result.status, 'completed')
  assert.equal(result.text, 'Hello.')
  assert.equal(result.answer_source, 'model')
  assert.equal(result.stop_reason, 'end_turn')
  assert.equal(result.steps, 1)
  const [message] = result.messages
  assert.equal(message?.role, 'assistant')
  assert.equal(message?.seq, 0)
  assert.equal(message?.run_id, result.run_id)
  assert.deepEqual(
    played.events.map(({ event }) => event),
    ['step', 'delta'],
  )
  assertValidHistory(played)
})

test('a tool call is sent, its result goes to the model, and the next answer ends the run', async () => {
  const played = await play({
    request: { tools: [orders], meta: { session_id: 's1' } },
    model: [calls(call('getOrders', { id: 7 })), text('It is on its way.')],
    tools: () => ok({ state: 'sent' }),
  })
  assert.equal(played.result.status, 'completed')
  assert.deepEqual(
    played.orders.map((order) => order.args),
    [{ id: 7 }],
  )
  const roles = played.asks[1]?.messages.map(({ role }) => role)
  assert.deepEqual(roles, ['user', 'assistant', 'tool'])
  assert.deepEqual(
    played.result.tool_calls.map(({ tool, status, step }) => [tool, status, step]),
    [['getOrders', 'ok', 1]],
  )
  assertValidHistory(played)
})

test('calls of one step run side by side and their results stand in call order', async () => {
  const release: (() => void)[] = []
  const played = await play({
    request: { tools: [orders] },
    model: [calls(...[1, 2, 3].map((id) => call('getOrders', { id }))), text('Done.')],
    tools: (order) =>
      new Promise((resolve) => {
        release.push(() => resolve(ok(order.args)))
        if (release.length === 3) for (const go of release.toReversed()) go()
      }),
  })
  const results = played.result.messages.filter((message) => message.role === 'tool').map((message) => message.result)
  assert.deepEqual(results, [{ id: 1 }, { id: 2 }, { id: 3 }])
  assertValidHistory(played)
})

test('at most eight calls are under way at once', async () => {
  let open = 0
  let most = 0
  const played = await play({
    request: { tools: [orders] },
    model: [calls(...Array.from({ length: 20 }, (_, id) => call('getOrders', { id }))), text('Done.')],
    tools: async (order) => {
      open += 1
      most = Math.max(most, open)
      await new Promise((resolve) => setImmediate(resolve))
      open -= 1
      return ok(order.args)
    },
  })
  assert.equal(most, 8)
  assert.equal(played.orders.length, 20)
})

test('a deferred write ends the run awaiting_tool without another question, and the others are let finish', async () => {
  const played = await play({
    request: { tools: [orders, refund] },
    model: [calls(call('createRefund', { id: 1 }), call('getOrders', { id: 1 }))],
    tools: (order) => (order.tool.name === 'createRefund' ? deferred('op_9') : ok([1])),
  })
  assert.equal(played.result.status, 'awaiting_tool')
  const [pending] = played.result.pending
  assert.equal(pending?.operation_id, 'op_9')
  assert.equal(pending?.expires_at, '2026-12-07T12:00:00.000Z')
  assert.deepEqual(
    played.result.messages.map(({ role }) => role),
    ['assistant', 'tool'],
  )
  assert.deepEqual(
    played.result.tool_calls.map(({ status }) => status),
    ['deferred', 'ok'],
  )
  assertValidHistory(played)
})

test('a write tool that answers ok is closed, told as unknown, and the result carries write_not_deferred', async () => {
  const played = await play({
    request: { tools: [refund] },
    model: [calls(call('createRefund', { id: 1 })), calls(call('createRefund', { id: 2 })), text('Please check.')],
    tools: () => ({ kind: 'not_deferred', attempts: 1, durationMs: 1, resultBytes: 2 }),
  })
  assert.deepEqual(
    played.result.tool_calls.map(({ status }) => status),
    ['unknown', 'refused'],
  )
  assert.equal(played.orders.length, 1)
  assert.equal(played.result.warnings[0]?.code, 'write_not_deferred')
  assertValidHistory(played)
})

for (const maxSteps of [1, 2, 3]) {
  test(`LC-05: with max_steps ${maxSteps} an endless caller is asked ${maxSteps + 1} times, the last time without tools`, async () => {
    const model = [
      ...Array.from({ length: maxSteps }, (_, id) => calls(call('getOrders', { id }))),
      text('This is what I have.'),
    ]
    const played = await play({
      request: { tools: [orders], limits: { max_steps: maxSteps } },
      model,
      tools: (order) => ok(order.args),
    })
    assert.equal(played.asks.length, maxSteps + 1)
    assert.deepEqual(
      played.asks.map(({ toolChoice }) => toolChoice),
      [...Array(maxSteps).fill('auto'), 'none'],
    )
    assert.equal(played.asks.at(-1)?.tools.length, 1, 'the tools stay in the request, so that the cached prefix holds')
    assert.equal(played.result.status, 'stopped_limit')
    assert.equal(played.result.limit_reached, 'max_steps')
    assert.equal(played.result.answer_source, 'model')
    assertValidHistory(played)
  })
}

test('LC-05: an answer on the last allowed step is completed', async () => {
  const played = await play({
    request: { tools: [orders], limits: { max_steps: 2 } },
    model: [calls(call('getOrders')), text('Here.')],
    tools: () => ok(1),
  })
  assert.equal(played.result.status, 'completed')
  assert.equal(played.result.limit_reached, null)
})

test('max_steps 0 asks once, without tools', async () => {
  const played = await play({ request: { tools: [orders], limits: { max_steps: 0 } }, model: [text('Hi.')] })
  assert.equal(played.result.status, 'stopped_limit')
  assert.equal(played.result.steps, 1)
})

test('with final_answer off a limit ends the run at once with the fallback sentence', async () => {
  const played = await play({
    request: { tools: [orders], limits: { max_steps: 1, final_answer: false } },
    model: [calls(call('getOrders'))],
    tools: () => ok(1),
  })
  assert.equal(played.result.status, 'stopped_limit')
  assert.equal(played.result.answer_source, 'fallback')
  assert.equal(played.result.text, say('limit_no_answer'))
  assert.deepEqual(played.events.at(-1), {
    event: 'delta',
    data: { step: 1, offset: 0, text: say('limit_no_answer') },
  })
})

test('calls beyond max_tool_calls are not sent, and the next step goes without tools', async () => {
  const played = await play({
    request: { tools: [orders], limits: { max_tool_calls: 2 } },
    model: [calls(...[1, 2, 3].map((id) => call('getOrders', { id }))), text('Enough.')],
    tools: (order) => ok(order.args),
  })
  assert.deepEqual(
    played.result.tool_calls.map(({ status }) => status),
    ['ok', 'ok', 'not_sent'],
  )
  assert.equal(played.result.limit_reached, 'max_tool_calls')
  assertValidHistory(played)
})

test('a model that calls a tool on the step without tools has nothing executed and its text kept', async () => {
  const played = await play({
    request: { tools: [orders], limits: { max_steps: 0 } },
    model: [answer([{ type: 'text', text: 'I wanted to look.' }, call('getOrders')], 'tool_calls')],
  })
  assert.equal(played.result.text, 'I wanted to look.')
  assert.equal(played.result.stop_reason, 'end_turn')
  assert.equal(played.result.tool_calls.length, 0)
  assertValidHistory(played)
})

test('when the time for tools is over the final step begins, with its reserve', async () => {
  const start = Date.parse(at)
  let now = start
  const played = await play({
    request: { tools: [orders], limits: { timeout_ms: 40_000 } },
    model: [
      (ask) => {
        assert.equal(ask.giveUpAt, start + 30_000)
        return calls(call('getOrders'))
      },
      (ask) => {
        assert.equal(ask.toolChoice, 'none')
        assert.equal(ask.giveUpAt, ask.deadlineAt)
        return text('In time.')
      },
    ],
    tools: (order) => {
      assert.equal(order.deadlineAt, start + 30_000)
      now = start + 30_000
      return ok(1)
    },
    now: () => now,
  })
  assert.equal(played.result.status, 'stopped_limit')
  assert.equal(played.result.limit_reached, 'timeout_ms')
})

test('a step given up for lack of time is followed by the final step', async () => {
  let now = Date.parse(at)
  const played = await play({
    request: { limits: { timeout_ms: 40_000 } },
    model: [
      () => {
        now += 30_000
        return { kind: 'out_of_time' }
      },
      text('Short.'),
    ],
    now: () => now,
  })
  assert.deepEqual(
    played.asks.map(({ toolChoice }) => toolChoice),
    ['auto', 'none'],
  )
  assert.equal(played.result.text, 'Short.')
})

test('an empty answer is asked once more without tools, with a note', async () => {
  const played = await play({ request: { tools: [orders] }, model: [answer([]), text('Now.')] })
  assert.equal(played.asks[1]?.toolChoice, 'none')
  assert.match(played.asks[1]?.note ?? '', /empty/)
  assert.equal(played.result.status, 'completed')
  assert.equal(played.result.text, 'Now.')
  assert.equal(played.result.messages.length, 1)
})

test('PS-36: empty twice is completed with the fallback sentence and no empty message', async () => {
  const played = await play({
    request: { tools: [orders] },
    model: [
      calls({ type: 'text', text: 'Let me look.' }, call('getOrders')),
      answer([]),
      answer([{ type: 'text', text: ' \n' }]),
    ],
    tools: () => ok(1),
  })
  assert.equal(played.result.status, 'completed')
  assert.equal(played.result.answer_source, 'fallback')
  assert.equal(played.result.text, say('no_answer'))
  assert.deepEqual(
    played.result.messages.map(({ role }) => role),
    ['assistant', 'tool'],
  )
  assertValidHistory(played)
})

for (const shown of [' \n', '<tool_call>{}']) {
  test(`what was shown of an empty answer (${JSON.stringify(shown)}) is reset before the next step`, async () => {
    const played = await play({ model: [streamed(shown), streamed('Here.')] })
    assert.deepEqual(
      played.events.map(({ event, data }) => (event === 'reset' ? data : event)),
      ['step', 'delta', { step: 1, reason: 'empty' }, 'step', 'delta'],
    )
  })
}

test('PS-37: reasoning alone is an empty answer', async () => {
  const reasoning = { type: 'reasoning' as const, text: 'hm' }
  const played = await play({ model: [answer([reasoning]), answer([reasoning])] })
  assert.equal(played.result.answer_source, 'fallback')
  assert.equal(played.result.messages.length, 0)
})

for (const markup of [
  '<|tool_calls_section_begin|><|tool_call_begin|>functions.getOrders:0',
  '\n<tool_call>{"name":"getOrders","arguments":{}}</tool_call>',
  '<minimax:tool_call><invoke name="getOrders"></invoke></minimax:tool_call>',
  '<function_calls><invoke name="getOrders"></invoke></function_calls>',
  '<invoke name="getOrders"></invoke>',
  '<function=getOrders>{}</function>',
  '[TOOL_CALLS][{"name":"getOrders"}]',
  '<｜DSML｜function_calls>',
  '<|channel|>commentary to=functions.getOrders <|message|>{}',
]) {
  test(`PS-41: ${markup.trim().slice(0, 26)} in a text is never executed, counts as an empty answer and is journalled`, async () => {
    const played = await play({ request: { tools: [orders] }, model: [text(markup), text('Sorry, here it is.')] })
    assert.equal(played.orders.length, 0)
    assert.deepEqual([played.result.status, played.result.text], ['completed', 'Sorry, here it is.'])
    const empty = played.journal.filter(({ event }) => event === 'empty_answer')
    assert.deepEqual(
      empty.map((entry) => entry['leaked']),
      [true],
    )
    assert.equal(played.result.messages.length, 1)
  })
}

test('PS-41: a text that speaks of a call, or shows markup behind words, is an answer', async () => {
  for (const words of ['Use <tool_call> for that.', '<b>bold</b>', '{"tool_calls":[]}']) {
    const played = await play({ request: { tools: [orders] }, model: [text(words)] })
    assert.deepEqual([played.result.text, played.orders.length], [words, 0])
  }
})

test('a refusal without words is completed with a fixed sentence and stop_reason refusal', async () => {
  const played = await play({ model: [answer([], 'refusal')] })
  assert.equal(played.result.status, 'completed')
  assert.equal(played.result.stop_reason, 'refusal')
  assert.equal(played.result.text, say('refused'))
})

test('a blank text between others is stored as it was shown, one beside a call alone is not', async () => {
  const written = ['Hello.', '\n\n', 'World.'].map((words) => ({ type: 'text' as const, text: words }))
  const { result } = await play({ model: [answer(written)] })
  assert.equal(result.text, 'Hello.\n\nWorld.')
  assert.deepEqual(
    result.messages.map((message) => message.role !== 'tool' && message.content),
    [written],
  )
  const beside = await play({
    request: { tools: [tool('getOrders')] },
    model: [calls({ type: 'text', text: '\n' }, call('getOrders')), text('Done.')],
    tools: () => ok(1),
  })
  const [first] = beside.result.messages
  assert.ok(first?.role === 'assistant')
  assert.deepEqual(
    first.content.map(({ type }) => type),
    ['tool_call'],
  )
})

test('a length stop keeps its text', async () => {
  const played = await play({ model: [answer([{ type: 'text', text: 'Long ' }], 'length')] })
  assert.equal(played.result.stop_reason, 'length')
  assert.equal(played.result.text, 'Long ')
})

test('a call cut by the length limit is not executed and asked again once', async () => {
  const cut = call('getOrders', null, { fault: 'cut', argsText: '{"id":' })
  const played = await play({
    request: { tools: [orders] },
    model: [
      (_ask, tap) => {
        tap.text('Let me')
        return answer([{ type: 'text', text: 'Let me' }, cut], 'length')
      },
      text('No need.'),
    ],
  })
  assert.equal(played.orders.length, 0)
  assert.match(played.asks[1]?.note ?? '', /cut by its length limit/)
  assert.ok(played.events.some((event) => event.event === 'reset' && event.data.reason === 'repair'))
  assert.equal(played.result.text, 'No need.')
  assert.equal(played.result.messages.length, 1)
})

test('a call cut twice ends with the text beside it', async () => {
  const cut = call('getOrders', null, { fault: 'cut', argsText: '{"id":' })
  const half = answer([{ type: 'text', text: 'Let me' }, cut], 'length')
  const played = await play({ request: { tools: [orders] }, model: [half, half] })
  assert.equal(played.result.stop_reason, 'length')
  assert.equal(played.result.text, 'Let me')
  assertValidHistory(played)
})

test('whole calls beside a cut one are run, the cut one is left out of the history', async () => {
  const cut = call('getOrders', null, { fault: 'cut', argsText: '{"id":' })
  const played = await play({
    request: { tools: [orders] },
    model: [answer([call('getOrders', { id: 1 }), cut], 'length'), text('Done.')],
    tools: () => ok(1),
  })
  assert.equal(played.orders.length, 1)
  assertValidHistory(played)
})

test('LC-07: arguments that are no JSON go back to the model, nothing is called, and the stored args are an object', async () => {
  const broken = call('getOrders', null, { fault: 'not_json', argsText: 'file_path=foo' })
  const played = await play({ request: { tools: [orders] }, model: [calls(broken), text('Sorry.')] })
  assert.equal(played.orders.length, 0)
  assert.deepEqual(
    played.result.tool_calls.map(({ status }) => status),
    ['invalid'],
  )
  const [assistant, answerOf] = played.result.messages
  assert.ok(assistant?.role === 'assistant' && assistant.content[0]?.type === 'tool_call')
  assert.deepEqual(assistant.content[0].args, {})
  assert.equal(assistant.content[0].args_text, 'file_path=foo')
  assert.ok(answerOf?.role === 'tool' && answerOf.error?.includes('not valid JSON'))
  assertValidHistory(played)
})

for (const name of ['get_order_list', '', '__proto__', 'constructor', 'x'.repeat(300)]) {
  test(`LC-03: the undeclared tool ${JSON.stringify(name.slice(0, 20))} is an error for the model and no request`, async () => {
    const played = await play({ request: { tools: [orders] }, model: [calls(call(name)), text('Sorry.')] })
    const message = played.result.messages[1]
    assert.ok(message?.role === 'tool')
    assert.match(message.error ?? '', /There is no tool named .* Nothing was executed\. Tools: getOrders\./)
    assert.match(message.tool, /^[a-zA-Z0-9_-]{1,64}$/)
    assertValidHistory(played)
  })
}

test('arguments that do not fit the schema are told to the model and not sent', async () => {
  const played = await play({
    request: { tools: [orders] },
    model: [calls(call('getOrders', { id: 'x' })), text('Sorry.')],
    checkArgs: () => ['id must be a whole number; got "x".'],
  })
  const message = played.result.messages[1]
  assert.ok(message?.role === 'tool' && message.error?.includes('id must be a whole number'))
  assert.equal(played.result.tool_calls[0]?.status, 'invalid')
})

test('identical reads of one step are sent once and both get the result', async () => {
  const played = await play({
    request: { tools: [orders] },
    model: [calls(call('getOrders', { a: 1, b: 2 }), call('getOrders', { b: 2, a: 1 })), text('Done.')],
    tools: () => ok('x'),
  })
  assert.equal(played.orders.length, 1)
  const results = played.result.messages.filter((message) => message.role === 'tool').map((message) => message.result)
  assert.deepEqual(results, ['x', 'x'])
  assert.deepEqual(
    played.result.tool_calls.map(({ attempts }) => attempts),
    [1, 0],
  )
})

test('a second identical write of one step is refused', async () => {
  const played = await play({
    request: { tools: [refund] },
    model: [calls(call('createRefund', { id: 1 }), call('createRefund', { id: 1 }))],
    tools: () => deferred('op_1'),
  })
  assert.deepEqual(
    played.result.tool_calls.map(({ status }) => status),
    ['deferred', 'refused'],
  )
  assertValidHistory(played)
})

test('LC-14: calls beyond 32 of one step are refused, and every one is answered', async () => {
  const played = await play({
    request: { tools: [orders], limits: { max_tool_calls: 1000 } },
    model: [calls(...Array.from({ length: 200 }, (_, id) => call('getOrders', { id }))), text('Done.')],
    tools: (order) => ok(order.args),
  })
  assert.equal(played.orders.length, 32)
  assert.equal(played.result.tool_calls.filter(({ status }) => status === 'refused').length, 168)
  assertValidHistory(played)
})

test('a call that gave the same result twice is refused the third time; two refused steps take the tools away', async () => {
  const same = calls(call('getOrders', { id: 1 }))
  const played = await play({
    request: { tools: [orders] },
    model: [same, same, same, same, text('I stop here.')],
    tools: () => ok('same'),
  })
  assert.equal(played.orders.length, 2)
  assert.equal(played.asks.at(-1)?.toolChoice, 'none')
  assert.equal(played.result.status, 'completed')
  assert.deepEqual(
    played.result.warnings.map(({ code }) => code),
    ['loop_protection'],
  )
  assertValidHistory(played)
})

test('LC-18: honest polling is let through while its result changes', async () => {
  const poll = calls(call('getOrders', { id: 1 }))
  let progress = 0
  const played = await play({
    request: { tools: [orders] },
    model: [poll, poll, poll, poll, poll, poll, text('Done.')],
    tools: () => ok(`${(progress += 10)}%`),
  })
  assert.equal(played.orders.length, 6)
  assert.deepEqual(played.result.warnings, [])
})

test('LC-18: a cycle of two calls with unchanged results takes the tools away', async () => {
  const first = calls(call('getOrders', { id: 1 }))
  const second = calls(call('getOrders', { id: 2 }))
  const played = await play({
    request: { tools: [orders] },
    model: [first, second, first, second, text('I stop.')],
    tools: (order) => ok(order.args),
  })
  assert.deepEqual(
    played.result.warnings.map(({ code }) => code),
    ['loop_protection'],
  )
})

test('LC-18: ever new arguments are ended by max_steps only', async () => {
  const played = await play({
    request: { tools: [orders], limits: { max_steps: 30 } },
    model: [...Array.from({ length: 30 }, (_, id) => calls(call('getOrders', { id }))), text('Enough.')],
    tools: (order) => ok(order.args),
  })
  assert.equal(played.result.limit_reached, 'max_steps')
  assert.deepEqual(played.result.warnings, [])
})

test('LC-10: three steps of invalid calls in a row take the tools away', async () => {
  const broken = (argsText: string) => calls(call('getOrders', null, { fault: 'not_json', argsText }))
  const played = await play({
    request: { tools: [orders] },
    model: [broken('{{'), broken('{{{'), broken('{{{{'), text('I cannot.')],
  })
  assert.equal(played.asks.at(-1)?.toolChoice, 'none')
})

test('two steps of empty results from one tool take the tools away, whatever the arguments', async () => {
  const played = await play({
    request: { tools: [orders] },
    model: [calls(call('getOrders', { q: 'a' })), calls(call('getOrders', { q: 'b' })), text('There is nothing.')],
    tools: () => ok([], { empty: true }),
  })
  assert.equal(played.asks.at(-1)?.toolChoice, 'none')
})

test('repeatable lifts loop protection for a tool', async () => {
  const poll = calls(call('getOrders', { id: 1 }))
  const played = await play({
    request: { tools: [tool('getOrders', { repeatable: true })], limits: { max_steps: 11 } },
    model: [...Array.from({ length: 11 }, () => poll), text('Enough.')],
    tools: () => ok('same'),
  })
  assert.equal(played.orders.length, 11)
})

test('a paused turn goes on with its own message at the end', async () => {
  const played = await play({ model: [answer([{ type: 'text', text: 'Searching…' }], 'paused'), text('Found.')] })
  assert.equal(played.asks[1]?.messages.at(-1)?.role, 'assistant')
  assert.equal(played.result.text, 'Found.')
})

for (const parts of [[], [{ type: 'reasoning', text: 'hm' }], [{ type: 'text', text: ' \n' }]] as const) {
  test(`PS-31, PS-35: a turn paused at ${JSON.stringify(parts)} is an empty answer: asked once more, without tools, and no more`, async () => {
    const paused = answer(parts, 'paused')
    const played = await play({ request: { tools: [orders] }, model: [paused, text('Found.')] })
    assert.equal(played.asks[1]?.toolChoice, 'none')
    assert.equal(played.asks[1].messages.at(-1)?.role, 'user')
    assert.equal(played.result.messages.length, 1)
    const endless = await play({ request: { tools: [orders] }, model: [paused, paused] })
    assert.equal(endless.result.status, 'completed')
    assert.equal(endless.result.answer_source, 'fallback')
  })
}

test('CA-04: a cancel in mid-text keeps exactly what was shown', async () => {
  const stop = new AbortController()
  const played = await play({
    model: [
      (_ask, tap) => {
        tap.text('Half an ')
        stop.abort('cancelled')
        return { kind: 'interrupted', shown: 'Half an ', target: 0 }
      },
    ],
    stop,
  })
  assert.equal(played.result.status, 'cancelled')
  assert.equal(played.result.text, 'Half an ')
  const [message] = played.result.messages
  assert.ok(message?.role === 'assistant')
  assert.equal(message.stop_reason, 'cancelled')
  assertValidHistory(played)
})

test('a cancel before the first step leaves no message', async () => {
  const played = await play({ model: [], stop: stopWith('cancelled') })
  assert.equal(played.result.status, 'cancelled')
  assert.deepEqual(played.result.messages, [])
})

test('CA-02: a cancel inside a batch starts nothing more, and every call is answered truthfully', async () => {
  const stop = new AbortController()
  const ids = Array.from({ length: 12 }, (_, id) => call('getOrders', { id }))
  let begun = 0
  const played = await play({
    request: { tools: [orders] },
    model: [calls(...ids)],
    tools: () => {
      begun += 1
      if (begun === 8) stop.abort('cancelled')
      return { kind: 'unknown', reason: 'cancelled', attempts: 1, durationMs: 1, resultBytes: 0 }
    },
    stop,
  })
  assert.equal(begun, 8)
  const statuses = played.result.tool_calls.map(({ status }) => status)
  assert.deepEqual(statuses, [...Array(8).fill('unknown'), ...Array(4).fill('not_sent')])
  assert.equal(played.result.status, 'cancelled')
  assertValidHistory(played)
})

test('the deadline in mid-text ends stopped_limit with the text so far', async () => {
  const stop = new AbortController()
  const played = await play({
    model: [
      () => {
        stop.abort('deadline')
        return { kind: 'interrupted', shown: 'So far', target: 0 }
      },
    ],
    stop,
  })
  assert.equal(played.result.status, 'stopped_limit')
  assert.equal(played.result.limit_reached, 'timeout_ms')
  assert.equal(played.result.text, 'So far')
  assert.equal(played.result.stop_reason, 'timeout')
})

test('the deadline before any text ends stopped_limit with the fallback sentence', async () => {
  const played = await play({ model: [], stop: stopWith('deadline') })
  assert.equal(played.result.answer_source, 'fallback')
})

test('a shutdown ends failed engine_shutdown with the messages so far', async () => {
  const stop = new AbortController()
  const played = await play({
    request: { tools: [orders] },
    model: [calls(call('getOrders'))],
    tools: () => {
      stop.abort('shutdown')
      return ok(1)
    },
    stop,
  })
  assert.equal(played.result.status, 'failed')
  assert.equal(played.result.error?.code, 'engine_shutdown')
  assert.equal(played.result.text, '')
  assert.equal(played.result.messages.length, 2)
  assertValidHistory(played)
})

test('what a reader saw last is the text of a run that a shutdown ends in the middle of its calls', async () => {
  const stop = new AbortController()
  const played = await play({
    request: { tools: [orders] },
    model: [calls({ type: 'text', text: 'I will look.' }, call('getOrders'))],
    tools: () => {
      stop.abort('shutdown')
      return ok(1)
    },
    stop,
  })
  assert.deepEqual([played.result.text, played.result.answer_source], ['I will look.', 'model'])
})

test('a model that cannot be reached fails the run with a localized message, and shown text stays', async () => {
  const played = await play({
    model: [
      { kind: 'failed', failure: { code: 'provider_unavailable', detail: 'HTTP 500' }, shown: 'Half', target: 0 },
    ],
  })
  assert.equal(played.result.status, 'failed')
  assert.deepEqual(played.result.error, { code: 'provider_unavailable', message: say('provider_unavailable') })
  assert.equal(played.result.text, 'Half')
  assert.ok(played.result.messages[0]?.role === 'assistant' && played.result.messages[0].stop_reason === 'error')
})

test('a failure on the step a limit left is still stopped_limit with an answer', async () => {
  const played = await play({
    request: { limits: { max_steps: 0 } },
    model: [{ kind: 'failed', failure: { code: 'provider_unavailable', detail: 'x' }, shown: '', target: 0 }],
  })
  assert.equal(played.result.status, 'stopped_limit')
  assert.equal(played.result.answer_source, 'fallback')
})

test('the model that answered is asked first on the next step', async () => {
  const fallbacks = [{ provider: 'scripted', model: 'second' }]
  const played = await play({
    request: { tools: [orders], llm: { provider: 'scripted', model: 'first', fallbacks } },
    model: [
      { kind: 'answer', message: { parts: [call('getOrders')], stop: 'tool_calls', target: 1, provider_data: null } },
      text('Done.'),
    ],
    tools: () => ok(1),
  })
  assert.deepEqual(
    played.asks.map(({ firstTarget }) => firstTarget),
    [0, 1],
  )
})

test('user messages are stamped the same on every step, and the prefix of the messages never changes', async () => {
  const played = await play({
    request: { tools: [orders], meta: { timezone: 'Europe/Berlin' } },
    model: [calls(call('getOrders')), text('Done.')],
    tools: () => ok(1),
  })
  const [first, second] = played.asks
  assert.deepEqual(second?.messages.slice(0, 1), first?.messages)
  const [user] = first?.messages ?? []
  assert.ok(user?.role === 'user' && user.content[0]?.type === 'text')
  assert.equal(user.content[0].text, '[Mon 2026-11-30 13:00 +01:00] Where is 12345?')
  assert.equal(first?.note, null)
})

test('a run without a new user message is told the time in its note', async () => {
  const messages = [
    userMessage('Refund it.'),
    { role: 'assistant', content: [{ type: 'tool_call', call_id: 'c1', tool: 'createRefund', args: {} }] },
    { role: 'tool', call_id: 'c1', tool: 'createRefund', result: { done: true } },
  ]
  const played = await play({ request: { messages }, model: [text('Done.')] })
  assert.equal(played.asks[0]?.note, 'The current time is Mon 2026-11-30 12:00 +00:00.')
})

test('opt-ins decide what the stream tells of a call', async () => {
  const run = (stream: { [key: string]: boolean }) =>
    play({
      request: { tools: [tool('getOrders', { label: 'Looking…' })], stream },
      model: [calls(call('getOrders', { id: 1 })), text('Done.')],
      tools: () => ok({ secret: 1 }),
    })
  const shy = await run({})
  assert.deepEqual(
    shy.events.filter(({ event }) => event === 'tool_call' || event === 'tool_result').map(({ data }) => data),
    [
      { step: 1, n: 1, label: 'Looking…' },
      { step: 1, n: 1, ok: true },
    ],
  )
  const open = await run({ tool_names: true, tool_args: true, tool_results: true })
  const called = open.events.find(({ event }) => event === 'tool_call')?.data
  assert.ok(called !== undefined && 'tool' in called)
  assert.equal(called.tool, 'getOrders')
  assert.deepEqual(called.args, { id: 1 })
})

test('a warning about each of two places is told twice, and once a place however often it comes', async () => {
  const replaced = (place: number) =>
    ({ code: 'part_replaced', message: 'an image was replaced', path: `messages[0].content[${place}]` }) as const
  const played = await play({
    model: [
      (_ask, tap) => {
        for (const place of [0, 1, 0]) tap.warn(replaced(place))
        return text('Hi.')
      },
    ],
  })
  assert.deepEqual(played.result.warnings, [replaced(0), replaced(1)])
})
