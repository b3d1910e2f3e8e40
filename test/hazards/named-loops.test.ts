/**
 * Named ways for a loop of tools to go wrong, from the wire of a model to the next request and the result: in chat completions and
 * in the Messages API, with what the case says and with nothing else.
 */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Json, JsonObject } from '../../src/contract/json.ts'
import type { RunResult } from '../../src/contract/result.ts'
import { runBody, user } from '../conformance/engine-client.ts'
import { chatRequest, messagesRequest } from '../conformance/provider-request.ts'
import { sharedEngine } from '../conformance/shared-engine.ts'
import { asksFor, refuses, says, startProvider, type Dialect, type Play } from '../fakes/provider-server.ts'
import { ok, startTools, type ToolAnswering } from '../fakes/tool-server.ts'

const engine = sharedEngine()
const dialects: readonly Dialect[] = ['openai-chat', 'anthropic']

type Answers = Readonly<Record<string, ToolAnswering | readonly ToolAnswering[]>>

async function play(
  t: TestContext,
  dialect: Dialect,
  plays: readonly Play[],
  answers: Answers,
  parts: JsonObject = {},
) {
  const client = await engine.client()
  const provider = await startProvider(t, plays, dialect)
  const tools = await startTools(t, answers)
  const declared = Object.keys(answers).map((name) => tools.tool(name))
  const result = await client.run(runBody({ llm: provider.llm(), tools: declared, ...parts }))
  /** What the model was shown of all results in its n-th request, as the texts that they are. */
  const shown = async (n: number): Promise<string[]> => {
    const request = await provider.nth(n)
    const contents: readonly (Json | undefined)[] =
      dialect === 'anthropic'
        ? messagesRequest(request).messages.flatMap((message) =>
            message.content.flatMap(({ content, type }) => (type === 'tool_result' ? [content] : [])),
          )
        : chatRequest(request).messages.flatMap(({ content, role }) => (role === 'tool' ? [content] : []))
    return contents.map(String)
  }
  return { result, provider, tools, shown }
}

const statuses = ({ tool_calls }: RunResult) => tool_calls.map(({ status }) => status)
const times = (count: number, one: (n: number) => Play): Play[] => Array.from({ length: count }, (_, n) => one(n))

for (const dialect of dialects) {
  test(`LC-02 at ${dialect}: a call that succeeds every time with the same result counts as well`, async (t) => {
    const { provider, result, tools } = await play(
      t,
      dialect,
      [...times(4, () => asksFor(['orders', { a: 1 }])), says('Enough.')],
      { orders: ok('always the same') },
    )
    assert.deepEqual(statuses(result), ['ok', 'ok', 'refused', 'refused'])
    assert.deepEqual([tools.calls.length, provider.received.length, result.text], [2, 5, 'Enough.'])
    assert.deepEqual(
      result.warnings.map(({ code }) => code),
      ['loop_protection'],
    )
  })

  test(`LC-03 at ${dialect}: tools that do not exist are told with those that do, nothing is called, and they count as steps`, async (t) => {
    const names = ['get_order_list', '', '__proto__', 'constructor']
    const { provider, result, shown, tools } = await play(
      t,
      dialect,
      [asksFor(...names.map((name) => [name, {}] as const)), says('Sorry.')],
      { getOrders: ok(1), getClients: ok(1) },
      { limits: { max_steps: 1 } },
    )
    assert.equal(tools.calls.length, 0)
    assert.deepEqual(new Set(statuses(result)), new Set(['invalid']))
    assert.deepEqual([result.status, result.limit_reached, result.text], ['stopped_limit', 'max_steps', 'Sorry.'])
    const told = await shown(2)
    assert.equal(told.length, names.length)
    for (const [n, one] of told.entries()) {
      const { error } = JSON.parse(one) as { error: string }
      assert.ok(error.includes(JSON.stringify(names[n])), error)
      assert.match(error, /There is no tool named .*Nothing was executed.*getOrders, getClients/)
    }
    assert.equal(provider.received.length, 2)
  })

  for (const most of [1, 2, 3]) {
    test(`LC-05 at ${dialect}: with max_steps ${most} an endless caller is asked ${most + 1} times and calls ${most} times, repeats aside`, async (t) => {
      const busy = refuses(503, { 'retry-after-ms': '1' })
      const plays = [busy, ...times(most, (n) => asksFor(['orders', { n }])), busy, asksFor(['orders', { n: most }])]
      const { provider, result, tools } = await play(
        t,
        dialect,
        plays,
        { orders: ({ body }) => ok(body.args) },
        {
          limits: { max_steps: most },
        },
      )
      assert.deepEqual([result.status, result.limit_reached, result.steps], ['stopped_limit', 'max_steps', most + 1])
      assert.equal(provider.received.length, most + 1 + 2)
      assert.equal(tools.calls.length, most)
      // It called once more where it could not: what is said is the fixed sentence.
      assert.equal(result.answer_source, 'fallback')
    })
  }

  test(`LC-06 at ${dialect}: of four calls side by side two fail, and the next request holds four results in the order of the calls`, async (t) => {
    let others = 0
    let release = () => {}
    const done = new Promise<void>((resolve) => (release = resolve))
    const heard = () => {
      others += 1
      // A whole one, and three tries each of the two that fail.
      if (others === 7) release()
    }
    const { provider, result, shown, tools } = await play(
      t,
      dialect,
      [asksFor(['a', {}], ['b', {}], ['c', {}], ['d', {}]), says('Half of it.')],
      {
        a: () => {
          heard()
          return ok('A')
        },
        b: (_call, response) => {
          heard()
          response.socket?.destroy()
        },
        c: (_call, response) => {
          heard()
          response.writeHead(500, { 'content-type': 'text/plain' }).end('oops')
        },
        d: async () => {
          await done
          return ok('D')
        },
      },
    )
    assert.deepEqual(statuses(result), ['ok', 'unknown', 'error', 'ok'])
    const told = (await shown(2)).map((one) => JSON.parse(one) as { result?: string; error?: string })
    assert.deepEqual(
      told.map((one) => one.result ?? null),
      ['A', null, null, 'D'],
    )
    assert.match(told[1]?.error ?? '', /unknown/)
    assert.match(told[2]?.error ?? '', /500/)
    const answered = result.messages.flatMap((message) => (message.role === 'tool' ? [message.call_id] : []))
    assert.deepEqual(
      answered,
      result.tool_calls.map(({ call_id }) => call_id),
    )
    assert.deepEqual([provider.received.length, tools.calls.length], [2, 8])
  })

  test(`LC-07, LC-09 at ${dialect}: half of a write is not called, not mended and quoted, whatever the finish word`, async (t) => {
    const half = '{"to":"all@corp.example","body":"Hel'
    const client = await engine.client()
    const tools = await startTools(t, { send: { status: 'deferred', operation_id: 'op' } })
    const provider = await startProvider(t, [asksFor(['send', half]), says('Sorry.')], dialect)
    const send = tools.tool('send', { effect: 'write' })
    const result = await client.run(runBody({ llm: provider.llm(), tools: [send] }))
    assert.equal(tools.calls.length, 0)
    assert.deepEqual([statuses(result), result.pending, result.text], [['invalid'], [], 'Sorry.'])
    const [asked, told] = result.messages
    assert.ok(asked?.role === 'assistant' && told?.role === 'tool')
    const [part] = asked.content
    assert.deepEqual(part?.type === 'tool_call' && [part.args, part.args_text], [{}, half])
    assert.ok(told.error?.includes(JSON.stringify(half)), told.error ?? '')
  })

  test(`LC-11 at ${dialect}: no data is told as such, and 0 and false are data`, async (t) => {
    const results: readonly Json[] = [null, [], {}, '', 0, false]
    const { shown } = await play(
      t,
      dialect,
      [asksFor(...results.map((_, n) => ['find', { n }] as const)), says('None.')],
      { find: ({ body }) => ok(results[Number(body.args['n'])] ?? null) },
    )
    const note = 'There is no such data. Asking again changes nothing.'
    assert.deepEqual(
      (await shown(2)).map((one) => JSON.parse(one) as Json),
      results.map((result) => (result === 0 || result === false ? { result } : { result, note })),
    )
  })

  test(`LC-12 at ${dialect}: 400 KB of result become a valid text within the limit, which says how much there was`, async (t) => {
    const rows = Array.from({ length: 4000 }, (_, id) => ({ id, name: `Größe "${id}" 🙂\n`, note: 'x'.repeat(60) }))
    const size = Buffer.byteLength(JSON.stringify(rows))
    assert.ok(size > 400_000)
    const { result, shown } = await play(
      t,
      dialect,
      [asksFor(['list', {}]), says('Many.')],
      { list: ok(rows) },
      {
        limits: { tool_result_max_bytes: 4000 },
      },
    )
    const [one = ''] = await shown(2)
    assert.ok(Buffer.byteLength(one) <= 4000 && Buffer.byteLength(one) > 3500, `${Buffer.byteLength(one)}`)
    const told = JSON.parse(one) as { result: string; note: string }
    assert.equal(typeof told.result, 'string')
    assert.ok(JSON.stringify(rows).startsWith(told.result.trimEnd().replace(/…$/, '')))
    assert.ok(told.note.includes(String(size)), told.note)
    const [record] = result.tool_calls
    assert.deepEqual([record?.truncated, record?.result_bytes], [true, size])
  })

  test(`LC-14 at ${dialect}: arguments of 8 MB are dropped while they come, and the run goes on`, async (t) => {
    const { result, shown, tools } = await play(
      t,
      dialect,
      [asksFor(['save', { blob: 'x'.repeat(8_000_000) }], ['save', { n: 1 }]), says('Done.')],
      { save: ok(1) },
    )
    assert.deepEqual([statuses(result), tools.calls.length, result.text], [['invalid', 'ok'], 1, 'Done.'])
    assert.match((await shown(2))[0] ?? '', /too large; nothing was executed/)
    assert.ok(JSON.stringify(result.messages).length < 10_000)
  })

  for (const words of [
    'prompt is too long: 210000 tokens > 200000 maximum',
    'Range of input length should be [1, 202745]',
  ]) {
    test(`LC-15 at ${dialect}: ${JSON.stringify(words)} at step 2 is not repeated, and the first step is kept`, async (t) => {
      const body = JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message: words } })
      const plays: Play[] = [asksFor(['orders', {}]), (answer) => answer.status(400, {}, body)]
      const first = await play(t, dialect, plays, { orders: ok('long') })
      assert.equal(first.provider.received.length, 2)
      assert.deepEqual([first.result.status, first.result.error?.code], ['failed', 'context_overflow'])
      assert.deepEqual(
        first.result.messages.map(({ role }) => role),
        ['assistant', 'tool'],
      )
      assert.equal(first.result.usage.attempts[1]?.error_code, 'context_overflow')

      const bigger = await startProvider(t, [says('I remember all of it.')])
      const client = await engine.client()
      const provider = await startProvider(t, plays, dialect)
      const tools = await startTools(t, { orders: ok('long') })
      const llm = provider.llm({ fallbacks: [bigger.llm()] })
      const second = await client.run(runBody({ llm, tools: [tools.tool('orders')] }))
      assert.deepEqual([second.status, second.text], ['completed', 'I remember all of it.'])
      assert.deepEqual([provider.received.length, bigger.received.length, tools.calls.length], [2, 1, 1])
    })
  }

  test(`LC-17 at ${dialect}: good text beside a call and an empty end: the text was shown and is kept, and the run has one`, async (t) => {
    const client = await engine.client()
    const tools = await startTools(t, { remember: ok('noted') })
    const said = 'Here is the answer: it is shipped.'
    const plays: Play[] = [
      (answer) => {
        answer.text(said)
        answer.call('remember', { it: 1 })
        answer.finish()
      },
      says(),
      says(),
    ]
    const provider = await startProvider(t, plays, dialect)
    const accepted = await client.start(runBody({ llm: provider.llm(), tools: [tools.tool('remember')] }))
    const events = await (await client.stream(accepted)).ended()
    const result = await client.result(accepted)
    assert.deepEqual([result.status, result.answer_source, provider.received.length], ['completed', 'fallback', 3])
    assert.ok(result.text.length > 10)
    const deltas = events.flatMap((one) => (one.event === 'delta' && one.data.step === 1 ? [one.data.text] : []))
    assert.equal(deltas.join(''), said)
    const [first] = result.messages
    assert.deepEqual(first?.role === 'assistant' && first.content[0], { type: 'text', text: said })
  })

  test(`LC-18 at ${dialect}: a poll is followed until it is done, and 60 ever new calls end by max_steps alone`, async (t) => {
    let percent = 0
    const polled = await play(
      t,
      dialect,
      [...times(6, () => asksFor(['get_status', { id: 1 }])), says('It is done.')],
      { get_status: () => ok((percent += 20) > 100 ? 'done' : `${percent}%`) },
    )
    assert.deepEqual(
      [polled.result.status, polled.result.text, polled.result.warnings, polled.tools.calls.length],
      ['completed', 'It is done.', [], 6],
    )
    const limits = { max_steps: 60, max_tool_calls: 100 }
    const plays = [...times(60, (n) => asksFor(['search', { q: `word ${n}` }])), says('That is what I found.')]
    const new60 = await play(t, dialect, plays, { search: ok('the same words') }, { limits })
    assert.deepEqual(
      [new60.result.status, new60.result.limit_reached, new60.result.text, new60.result.warnings],
      ['stopped_limit', 'max_steps', 'That is what I found.', []],
    )
    assert.deepEqual([new60.tools.calls.length, new60.provider.received.length], [60, 61])
  })
}

for (const limit of ['max_steps', 'max_tool_calls']) {
  test(`LC-05: ${limit} 0 is reached before the first step, which goes without tools, or is not asked at all`, async (t) => {
    const asked = await play(t, 'openai-chat', [says('Hello.')], { orders: ok(1) }, { limits: { [limit]: 0 } })
    const { limit_reached, status, steps, text } = asked.result
    assert.deepEqual([status, limit_reached, steps, text], ['stopped_limit', limit, 1, 'Hello.'])
    assert.equal(chatRequest(await asked.provider.nth(1)).tool_choice, 'none')
    const limits = { [limit]: 0, final_answer: false }
    const ended = await play(t, 'openai-chat', [says('Never.')], { orders: ok(1) }, { limits })
    assert.deepEqual([ended.result.status, ended.result.limit_reached, ended.result.steps], ['stopped_limit', limit, 0])
    assert.deepEqual([ended.result.answer_source, ended.provider.received.length], ['fallback', 0])
  })
}

test('HI-16: of two equal reads that are deferred both wait, with one operation, and both are answered', async (t) => {
  const deferred = { status: 'deferred', operation_id: 'op_1' }
  const { result, tools } = await play(t, 'openai-chat', [asksFor(['report', { n: 1 }], ['report', { n: 1 }])], {
    report: deferred,
  })
  assert.deepEqual([result.status, tools.calls.length], ['awaiting_tool', 1])
  assert.deepEqual(
    result.pending.map(({ call_id, operation_id }) => [call_id, operation_id]),
    result.tool_calls.map(({ call_id }) => [call_id, 'op_1']),
  )
  const history = [user('Where is order 12345?'), ...(result.messages as unknown as JsonObject[])]
  const answers = result.pending.map(({ call_id, ticket, tool }) => ({
    role: 'tool',
    call_id,
    tool,
    ticket,
    result: 7,
  }))
  const client = await engine.client()
  assert.equal((await client.post(runBody({ messages: [...history, ...answers.slice(1)] }))).status, 400)
  for (const dialect of dialects) {
    const messages = [...history, ...answers]
    const next = await play(t, dialect, [says('Seven.')], { report: deferred }, { messages })
    assert.deepEqual(await next.shown(1), ['{"result":7}', '{"result":7}'])
  }
})

test('LC-05: a limit reached on the way keeps the conversation whole for the next run', async (t) => {
  const { result } = await play(
    t,
    'openai-chat',
    [asksFor(['orders', {}]), asksFor(['orders', { n: 2 }])],
    { orders: ok(1) },
    {
      limits: { max_steps: 1 },
    },
  )
  const messages = [user('Where is order 12345?'), ...(result.messages as unknown as JsonObject[]), user('Go on.')]
  for (const dialect of dialects) {
    const next = await play(t, dialect, [says('On it goes.')], { orders: ok(1) }, { messages })
    assert.equal(next.result.text, 'On it goes.')
  }
})

test('the engine of this file ended in peace', () => engine.finish())
