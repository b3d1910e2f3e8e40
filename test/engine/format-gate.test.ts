import { test } from 'node:test'
import assert from 'node:assert/strict'
import { judgeFormat, type CheckOutput } from '../../src/engine/format-gate.ts'
import type { StepAnswer } from '../../src/engine/ports.ts'
import { answer, call, calls, ok, play, streamed, text, type Play, type Played } from '../fakes/engine.ts'
import { tool } from '../fakes/run-request.ts'
import { cpuMs } from '../cpu-time.ts'

/** Fits where the value has `ok: true`. */
const check: CheckOutput = (_schema, value) =>
  typeof value === 'object' && value !== null && 'ok' in value && value.ok === true ? [] : ['ok must be true.']

const whole = { schema: { type: 'object' }, blocks: {} }
const chart = { schema: null, blocks: { chart: { type: 'object' } } }

test('an answer that is JSON of the right form passes, fenced or not, and its value is kept', () => {
  for (const text of ['{"ok":true}', ' \n{"ok":true}\n', '```json\n{"ok":true}\n```', '```\n{"ok":true}```']) {
    assert.deepEqual(judgeFormat(text, whole, check), { ok: true, value: { ok: true } })
  }
})

test('digits of the parsed value survive', () => {
  const formed = judgeFormat('{"ok":true,"n":12345678901234567890}', whole, check)
  assert.equal(JSON.stringify(formed), '{"ok":true,"value":{"ok":true,"n":12345678901234567890}}')
})

test('words around the JSON, half JSON and a wrong value are faults that can be acted on', () => {
  for (const text of ['Here: {"ok":true}', '{"ok":tr', '']) {
    const formed = judgeFormat(text, whole, check)
    assert.ok(!formed.ok && formed.faults[0]?.startsWith('The answer must be one JSON value and nothing else'))
  }
  assert.deepEqual(judgeFormat('{"ok":false}', whole, check), { ok: false, faults: ['ok must be true.'] })
})

test('every named block is judged, others are not looked at', () => {
  const good = 'Look:\n```chart\n{"ok":true}\n```\nand\n```python\nprint(1)\n```'
  assert.deepEqual(judgeFormat(good, chart, check), { ok: true, value: null })
  const bad = `${good}\n\`\`\`chart\n{"ok":false}\n\`\`\``
  const formed = judgeFormat(bad, chart, check)
  assert.ok(!formed.ok)
  assert.match(formed.faults[0] ?? '', /block ```chart in line 9 .* ok must be true\./)
})

test('a longer fence holds shorter ones, and a block that is never closed is judged by what it holds', () => {
  assert.deepEqual(judgeFormat('````md\n```chart\nno JSON\n```\n````', chart, check), { ok: true, value: null })
  assert.equal(judgeFormat('```chart\n{"ok":true}', chart, check).ok, true)
  assert.equal(judgeFormat('```chart\n{"ok":', chart, check).ok, false)
})

test('words in backticks at the beginning of a line open no block, so the block behind them is judged', () => {
  assert.equal(judgeFormat('```chart``` is what you want:\n```chart\nno JSON\n```', chart, check).ok, false)
  assert.equal(judgeFormat('```chart``` is what you want.', chart, check).ok, true)
})

test('a line of blanks between words is read in linear time', () => {
  const started = cpuMs()
  const blanks = ' '.repeat(1_000_000)
  assert.equal(judgeFormat(`\`\`\`chart${blanks}x${blanks}\n{"ok":true}\n\`\`\`${blanks}`, chart, check).ok, true)
  assert.ok(cpuMs() - started < 2000)
})

test('a block named __proto__ or constructor is not taken for one that was asked for', () => {
  assert.equal(judgeFormat('```__proto__\nx\n```\n```constructor\nx\n```', chart, check).ok, true)
})

const output = { schema: { type: 'object' } }

test('a miss is asked again with a reset, the draft and the faults; only the mended answer is stored', async () => {
  const played = await play({
    request: { output, tools: [tool('getOrders')] },
    model: [streamed('I think it is fine.'), text('{"ok":true}')],
    checkOutput: check,
  })
  assert.equal(played.result.status, 'completed')
  assert.deepEqual(played.result.output, { ok: true })
  assert.equal(played.result.messages.length, 1)
  assert.deepEqual(played.result.warnings, [])
  const [, repair] = played.asks
  assert.equal(repair?.toolChoice, 'none')
  assert.deepEqual(
    repair?.messages.map(({ role }) => role),
    ['user', 'assistant'],
  )
  assert.match(repair?.note ?? '', /one JSON value and nothing else/)
  assert.deepEqual(
    played.events.map(({ event }) => event),
    ['step', 'delta', 'reset', 'step'],
  )
  assert.deepEqual(
    played.asks.map(({ outputSchema }) => outputSchema),
    [output.schema, output.schema],
  )
})

test('a model whose answer was cut by its length is told to be shorter', async () => {
  const played = await play({
    request: { output },
    model: [answer([{ type: 'text', text: '{"ok":tr' }], 'length'), text('{"ok":true}')],
    checkOutput: check,
  })
  assert.match(played.asks[1]?.note ?? '', /cut by its length limit: it must be shorter\. The answer must be one JSON/)
  assert.deepEqual(played.result.output, { ok: true })
})

/** An answer with what its provider must have back. */
const thought: StepAnswer = {
  kind: 'answer',
  message: {
    parts: [
      { type: 'reasoning', text: 'Hm.', provider_data: { family: 'f', signature: 's' } },
      { type: 'text', text: 'no JSON' },
    ],
    stop: 'end_turn',
    target: 0,
    provider_data: { family: 'f', phases: ['final_answer'] },
  },
}

test('the answer to be mended goes back with its reasoning and its marks, and is stored with them where it stands', async () => {
  const mended = await play({ request: { output }, model: [thought, text('{"ok":true}')], checkOutput: check })
  const given = {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'Hm.', provider_data: { family: 'f', signature: 's' } },
      { type: 'text', text: 'no JSON' },
    ],
    provider: 'scripted',
    model: 'scripted',
    stop_reason: 'end_turn',
    provider_data: { family: 'f', phases: ['final_answer'] },
  }
  assert.deepEqual(mended.asks[1]?.messages.at(-1), given)
  assert.equal(mended.result.messages.length, 1)

  const unmended = await play({ request: { output }, model: [thought, answer([])], checkOutput: check })
  assert.partialDeepStrictEqual(unmended.result.messages, [given])
})

test('after two repairs the run completes with format_not_met, the last text and no output', async () => {
  const played = await play({
    request: { output },
    model: [text('one'), text('two'), text('three')],
    checkOutput: check,
  })
  assert.equal(played.result.status, 'completed')
  assert.equal(played.result.text, 'three')
  assert.equal(played.result.output, null)
  assert.deepEqual(
    played.result.warnings.map(({ code }) => code),
    ['format_not_met'],
  )
})

test('a repair reaches no limit: an answer on the last allowed step stays completed', async () => {
  const played = await play({
    request: { output, tools: [tool('getOrders')], limits: { max_steps: 2 } },
    model: [calls(call('getOrders')), text('no JSON'), text('{"ok":true}')],
    tools: () => ok(1),
    checkOutput: check,
  })
  assert.equal(played.result.status, 'completed')
  assert.equal(played.result.steps, 3)
})

test('a repair behind a limit stays stopped_limit', async () => {
  const played = await play({
    request: { output, limits: { max_steps: 0 } },
    model: [text('no JSON'), text('{"ok":true}')],
    checkOutput: check,
  })
  assert.equal(played.result.status, 'stopped_limit')
  assert.deepEqual(played.result.output, { ok: true })
})

test('a refusal is not asked again', async () => {
  const played = await play({
    request: { output },
    model: [answer([{ type: 'text', text: 'No.' }], 'refusal')],
    checkOutput: check,
  })
  assert.deepEqual(
    played.result.warnings.map(({ code }) => code),
    ['format_not_met'],
  )
})

test('loop_guard sets the thresholds of one run', async () => {
  const same = calls(call('getOrders', { id: 1 }))
  const played = await play({
    request: { tools: [tool('getOrders')], limits: { loop_guard: { same_result: 4, cycle_rounds: 5 } } },
    model: [same, same, same, same, same, text('Done.')],
    tools: () => ok('same'),
  })
  assert.deepEqual(
    played.result.tool_calls.map(({ status }) => status),
    ['ok', 'ok', 'ok', 'ok', 'refused'],
  )
})

test('the text beside a call that was cut twice passes the gate like any answer', async () => {
  const cut = answer(
    [{ type: 'text', text: 'no JSON' }, call('getOrders', null, { fault: 'cut', argsText: '{' })],
    'length',
  )
  const played = await play({
    request: { output, tools: [tool('getOrders')] },
    model: [cut, cut, text('{"ok":true}')],
    checkOutput: check,
  })
  assert.deepEqual(played.result.output, { ok: true })
  assert.deepEqual(played.result.warnings, [])
})

/** Ways for a repair to bring no text, and what the run's stop reason is then. */
const textless: readonly (readonly [string, StepAnswer | Play])[] = [
  ['empty', answer([])],
  ['an empty one that was thought about', thinking(answer([{ type: 'reasoning', text: 'hm' }]))],
  ['a refusal without words', answer([], 'refusal')],
  ['blank', streamed(' \n')],
  ['a failure', { kind: 'failed', failure: { code: 'provider_unavailable', detail: 'x' }, shown: '', target: 0 }],
]

function thinking(then: StepAnswer): Play {
  return (_ask, tap) => {
    tap.reasoning('hm')
    return then
  }
}

for (const [what, repair] of textless) {
  test(`a repair that is ${what} leaves the answer it was to mend, shown again and stored, with format_not_met`, async () => {
    const played = await play({
      request: { output, stream: { reasoning: true } },
      model: [streamed('no JSON'), repair],
      checkOutput: check,
    })
    assert.equal(played.result.status, 'completed')
    assert.equal(played.result.stop_reason, 'end_turn')
    assertDraftStands(played)
  })
}

test('a repair behind a limit that fails is stopped_limit with the answer it was to mend', async () => {
  const failure = { code: 'provider_unavailable', detail: 'x' } as const
  const played = await play({
    request: { output, limits: { max_steps: 0 } },
    model: [streamed('no JSON'), { kind: 'failed', failure, shown: '', target: 0 }],
    checkOutput: check,
  })
  assert.equal(played.result.limit_reached, 'max_steps')
  assertDraftStands(played)
})

test('a failure after half a repair leaves the whole answer, not the half', async () => {
  const failure = { code: 'provider_unavailable', detail: 'x' } as const
  const half: Play = (_ask, tap) => {
    tap.text('{"o')
    return { kind: 'failed', failure, shown: '{"o', target: 0 }
  }
  assertDraftStands(await play({ request: { output }, model: [streamed('no JSON'), half], checkOutput: check }))
})

for (const late of [
  { kind: 'out_of_time' },
  { kind: 'interrupted', shown: '', target: 0 },
  { kind: 'interrupted', shown: ' \n', target: 0 },
] as const) {
  test(`the deadline in a repair (${JSON.stringify(late)}) leaves the answer it was to mend`, async () => {
    const stop = new AbortController()
    const cut: Play = () => {
      stop.abort('deadline')
      return late
    }
    const played = await play({ request: { output }, model: [streamed('no JSON'), cut], checkOutput: check, stop })
    assert.equal(played.result.limit_reached, 'timeout_ms')
    assert.equal(played.result.stop_reason, 'timeout')
    assertDraftStands(played)
  })
}

for (const why of ['cancelled', 'shutdown'] as const) {
  for (const place of ['before', 'in'] as const) {
    test(`CA-04: a run that is ${why} ${place} a repair keeps the answer it was to mend, which its reader had seen whole`, async () => {
      const stop = new AbortController()
      const draft: Play = (_ask, tap) => {
        tap.text('no JSON')
        if (place === 'before') stop.abort(why)
        return text('no JSON')
      }
      const cut: Play = () => {
        stop.abort(why)
        return { kind: 'interrupted', shown: '', target: 0 }
      }
      const played = await play({ request: { output }, model: [draft, cut], checkOutput: check, stop })
      assert.equal(played.result.status, why === 'cancelled' ? 'cancelled' : 'failed')
      assert.equal(played.result.stop_reason, why === 'cancelled' ? 'cancelled' : 'error')
      assertDraftStands(played, place === 'before' ? 1 : 2)
    })
  }
}

test('the deadline between an answer and its repair leaves that answer, not the fixed sentence', async () => {
  const stop = new AbortController()
  const draft: Play = (_ask, tap) => {
    tap.text('no JSON')
    stop.abort('deadline')
    return text('no JSON')
  }
  const played = await play({ request: { output }, model: [draft], checkOutput: check, stop })
  assert.equal(played.result.status, 'stopped_limit')
  assertDraftStands(played, 1)
})

function assertDraftStands({ result, events }: Played, step = 2): void {
  assert.equal(result.text, 'no JSON')
  assert.equal(result.answer_source, 'model')
  assert.equal(result.output, null)
  assert.deepEqual(
    result.warnings.map(({ code }) => code),
    ['format_not_met'],
  )
  assert.deepEqual(
    result.messages.map((message) => message.role === 'assistant' && message.content),
    [[{ type: 'text', text: 'no JSON' }]],
  )
  assert.deepEqual(events.at(-1), { event: 'delta', data: { step, offset: 0, text: 'no JSON' } })
}
