/** Loop protection (SPEC §8.5): every rule at its threshold, alone and in the loop, and all of them against their definition. */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Json } from '../../src/contract/json.ts'
import { guardDefaults, type GuardLimits } from '../../src/contract/run-request.ts'
import {
  identity,
  next,
  OPEN_GUARD,
  refusal,
  verdict,
  type GuardState,
  type Seen,
} from '../../src/engine/repeat-guard.ts'
import { answer, call, calls, deferred, ok, play, text, type Played } from '../fakes/engine.ts'
import { tool } from '../fakes/run-request.ts'

type Sent = Extract<Seen, { kind: 'sent' }>

function sent(name: string, args: string, result: string, more: Partial<Sent> = {}): Sent {
  return { kind: 'sent', call: identity(name, args), tool: name, result, empty: false, repeatable: false, ...more }
}

function after(steps: readonly (readonly Seen[])[], limits: GuardLimits = guardDefaults): GuardState {
  return steps.reduce<GuardState>((state, seen) => next(state, limits, seen), OPEN_GUARD)
}

const times = <T>(count: number, one: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => one(index))
const never: GuardLimits = {
  same_call: 1000,
  same_result: 1000,
  refused_steps: 1000,
  empty_steps: 1000,
  invalid_steps: 1000,
  cycle_rounds: 100,
}

// ------------------------------------------------------------------------------------------ the rules alone

for (const threshold of [1, 2, 3]) {
  test(`same_result ${threshold}: a call is refused once it has given the same result ${threshold} times in a row`, () => {
    const limits = { ...never, same_result: threshold }
    const id = identity('a', '1')
    for (const count of [threshold - 1, threshold, threshold + 1]) {
      const state = after(
        times(count, () => [sent('a', '1', 'x')]),
        limits,
      )
      assert.equal(refusal(state, limits, id, false), count >= threshold ? 'same_result' : null)
      assert.equal(refusal(state, limits, id, true), null)
      assert.equal(refusal(state, limits, identity('a', '2'), false), null)
      assert.equal(refusal(state, limits, identity('b', '1'), false), null)
    }
    const changed = after([...times(threshold - 1, () => [sent('a', '1', 'x')]), [sent('a', '1', 'y')]], limits)
    assert.equal(refusal(changed, limits, id, false), threshold === 1 ? 'same_result' : null)
  })

  test(`same_call ${threshold}: a call is sent ${threshold} times at most while its result keeps changing`, () => {
    const limits = { ...never, same_call: threshold }
    for (const count of [threshold - 1, threshold]) {
      const state = after(
        times(count, (index) => [sent('a', '1', `${index}`)]),
        limits,
      )
      assert.equal(refusal(state, limits, identity('a', '1'), false), count >= threshold ? 'same_call' : null)
    }
  })

  for (const [rule, kind, word] of [
    ['refused_steps', 'refused', 'refusals'],
    ['invalid_steps', 'invalid', 'invalid_calls'],
  ] as const) {
    test(`${rule} ${threshold}: so many steps in a row with nothing sent take the tools away, a sent call begins anew`, () => {
      const limits = { ...never, [rule]: threshold }
      const bad: Seen[] = [{ kind }, { kind: 'other' }]
      assert.equal(
        verdict(
          after(
            times(threshold - 1, () => bad),
            limits,
          ),
          limits,
        ),
        null,
      )
      assert.equal(
        verdict(
          after(
            times(threshold, () => bad),
            limits,
          ),
          limits,
        ),
        word,
      )
      // Calls that were not sent for another reason stand between two of them and are no progress.
      const other: Seen[] = [{ kind: kind === 'refused' ? 'invalid' : 'refused' }]
      const inTurn = times(threshold, () => [other, bad]).flat()
      assert.equal(verdict(after(inTurn, limits), limits), word)
      const broken = [...times(threshold - 1, () => bad), [{ kind }, sent('a', '1', 'x')] as Seen[], bad]
      assert.equal(verdict(after(broken, limits), limits), threshold === 1 ? word : null)
      // A repeatable call that was sent is progress as well.
      const polled = [...times(threshold, () => [{ kind }, sent('p', '1', 'x', { repeatable: true })] as Seen[])]
      assert.equal(verdict(after(polled, limits), limits), null)
    })
  }

  test(`empty_steps ${threshold}: counted by tool, whatever the arguments, in its own steps`, () => {
    const limits = { ...never, empty_steps: threshold }
    const empty = (name: string, index: number) => sent(name, `${index}`, 'none', { empty: true })
    assert.equal(
      verdict(
        after(
          times(threshold - 1, (index) => [empty('a', index)]),
          limits,
        ),
        limits,
      ),
      null,
    )
    assert.equal(
      verdict(
        after(
          times(threshold, (index) => [empty('a', index)]),
          limits,
        ),
        limits,
      ),
      'empty_results',
    )
    // Between two steps of one tool another may have said something.
    const between = times(
      threshold,
      (index) => [[empty('a', index)], [sent('b', `${index}`, `${index}`)]] as Seen[][],
    ).flat()
    assert.equal(verdict(after(between, limits), limits), 'empty_results')
    // One full result beside the empty ones begins anew.
    const mixed = times(threshold, (index) => [empty('a', index), sent('a', `x${index}`, `${index}`)])
    assert.equal(verdict(after(mixed, limits), limits), null)
    const polled = times(threshold, (index) => [{ ...empty('a', index), repeatable: true }])
    assert.equal(verdict(after(polled, limits), limits), null)
  })
}

for (const length of [2, 3]) {
  for (const rounds of [2, 3]) {
    const limits = { ...never, cycle_rounds: rounds }
    const name = (index: number) => 'abc'[index % length] ?? ''
    test(`cycle_rounds ${rounds}: ${rounds} rounds of ${length} calls with unchanged results are a cycle, wherever they begin`, () => {
      const most = length * rounds
      for (const count of [most - 1, most]) {
        const state = after(
          times(count, (index) => [sent(name(index), '1', 'x')]),
          limits,
        )
        assert.equal(verdict(state, limits), count === most ? 'cycle' : null)
      }
      const late = [[sent('z', '9', 'z')], ...times(most, (index) => [sent(name(index), '1', 'x')])]
      assert.equal(verdict(after(late, limits), limits), 'cycle')
      const inOneStep = [times(most, (index) => sent(name(index), '1', 'x'))]
      assert.equal(verdict(after(inOneStep, limits), limits), 'cycle')
    })

    test(`cycle_rounds ${rounds}: ${length} calls of which one result changes are none`, () => {
      const steps = times(length * rounds, (index) => [sent(name(index), '1', index % length === 0 ? `${index}` : 'x')])
      assert.equal(verdict(after(steps, limits), limits), null)
    })
  }
}

test('one call again and again is no cycle of two or three, and four calls in turn are none', () => {
  const limits = { ...never, cycle_rounds: 2 }
  assert.equal(
    verdict(
      after(
        times(12, () => [sent('a', '1', 'x')]),
        limits,
      ),
      limits,
    ),
    null,
  )
  assert.equal(
    verdict(
      after(
        times(16, (index) => [sent('abcd'[index % 4] ?? '', '1', 'x')]),
        limits,
      ),
      limits,
    ),
    null,
  )
})

test('repeatable calls stand in no cycle', () => {
  const steps = times(12, (index) => [sent('ab'[index % 2] ?? '', '1', 'x', { repeatable: true })])
  assert.equal(verdict(after(steps), guardDefaults), null)
})

test('JS-02: tools named __proto__, constructor and toString are counted as any other', () => {
  for (const name of ['__proto__', 'constructor', 'toString']) {
    const state = after(times(2, () => [sent(name, '1', 'x', { empty: true })]))
    assert.equal(refusal(state, guardDefaults, identity(name, '1'), false), 'same_result')
    assert.equal(verdict(state, guardDefaults), 'empty_results')
    assert.deepEqual(JSON.parse(JSON.stringify(state)), state)
  }
  assert.equal(refusal(OPEN_GUARD, guardDefaults, '__proto__', false), null)
})

// ------------------------------------------------------------------------------- against the definition, at random

const seen: fc.Arbitrary<Seen> = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.nat(2), fc.nat(1), fc.nat(1), fc.boolean(), fc.nat(9)).map(sentOf) },
  { weight: 2, arbitrary: fc.constantFrom<Seen>({ kind: 'refused' }, { kind: 'invalid' }, { kind: 'other' }) },
)

function sentOf([name, args, result, empty, repeat]: [number, number, number, boolean, number]): Sent {
  return sent('abc'[name] ?? '', `${args}`, `${result}`, { empty, repeatable: repeat === 0 })
}

const small = (least: number) => fc.integer({ min: least, max: 4 })
const limitsDrawn = fc.record({
  same_call: small(1),
  same_result: small(1),
  refused_steps: small(1),
  empty_steps: small(1),
  invalid_steps: small(1),
  cycle_rounds: small(2),
})

test('over random steps every rule is what its definition says of the whole run', () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(seen, { minLength: 1, maxLength: 4 }), { maxLength: 14 }),
      limitsDrawn,
      (steps, limits) => {
        const state = after(steps, limits)
        for (const name of ['a', 'b', 'c']) {
          for (const args of ['0', '1']) {
            const id = identity(name, args)
            assert.equal(refusal(state, limits, id, false), refusalByDefinition(steps, limits, id))
          }
        }
        assert.equal(verdict(state, limits), verdictByDefinition(steps, limits))
        assert.deepEqual(JSON.parse(JSON.stringify(state)), state)
        assert.ok(state.recent.length <= 3 * limits.cycle_rounds)
      },
    ),
    { numRuns: 3000 },
  )
})

const isSent = (one: Seen): one is Sent => one.kind === 'sent'
const counted = (one: Seen): one is Sent => isSent(one) && !one.repeatable

function refusalByDefinition(steps: readonly Seen[][], limits: GuardLimits, id: string) {
  const results = steps
    .flat()
    .filter(counted)
    .filter((one) => one.call === id)
    .map(({ result }) => result)
  if (trailing(results, (result) => result === results.at(-1)) >= limits.same_result) return 'same_result'
  return results.length >= limits.same_call ? 'same_call' : null
}

function verdictByDefinition(steps: readonly Seen[][], limits: GuardLimits) {
  const unsent = steps.slice(steps.findLastIndex((step) => step.some(isSent)) + 1)
  const without = (kind: 'refused' | 'invalid') => unsent.filter((step) => step.some((one) => one.kind === kind)).length
  if (without('refused') >= limits.refused_steps) return 'refusals'
  if (without('invalid') >= limits.invalid_steps) return 'invalid_calls'
  const empties = ['a', 'b', 'c'].map((name) => {
    const own = steps
      .map((step) => step.filter(counted).filter((one) => one.tool === name))
      .filter(({ length }) => length > 0)
    return trailing(own, (step) => step.every(({ empty }) => empty))
  })
  if (Math.max(...empties) >= limits.empty_steps) return 'empty_results'
  const all = steps
    .flat()
    .filter(counted)
    .map((one) => `${one.call} ${one.result}`)
  return [2, 3].some((length) => isCycle(all, length, limits.cycle_rounds)) ? 'cycle' : null
}

function isCycle(all: readonly string[], length: number, rounds: number): boolean {
  const window = all.slice(-length * rounds)
  const first = window.slice(0, length)
  const callsOf = new Set(first.map((one) => one.split(' ').slice(0, 2).join(' ')))
  return (
    callsOf.size === length &&
    window.length === length * rounds &&
    window.join() ===
      times(rounds, () => first)
        .flat()
        .join()
  )
}

function trailing<T>(list: readonly T[], holds: (one: T) => boolean): number {
  return list.length - 1 - list.findLastIndex((one) => !holds(one))
}

// ------------------------------------------------------------------------------------------------ in the loop

const orders = tool('getOrders')
const refund = tool('createRefund', { effect: 'write' })
const statuses = (played: Played) => played.result.tool_calls.map(({ status }) => status)
const repeats = (played: Played) => played.journal.filter(({ event }) => event === 'repeat').map(({ reason }) => reason)
const loopWarnings = (played: Played) => played.result.warnings.filter(({ code }) => code === 'loop_protection').length

interface Case {
  readonly why: string
  readonly guard: { readonly [rule: string]: Json }
  readonly steps: number
  readonly step: (index: number) => ReturnType<typeof calls>
  readonly result?: (index: number) => ReturnType<typeof ok>
  readonly statuses: readonly string[]
  readonly reason: string
}

const apart = {
  same_result: 1000,
  same_call: 1000,
  refused_steps: 1000,
  empty_steps: 1000,
  invalid_steps: 1000,
  cycle_rounds: 100,
}
const cases: readonly Case[] = [
  {
    why: 'two steps of refused calls',
    guard: { ...apart, same_result: 1, refused_steps: 2 },
    steps: 3,
    step: () => calls(call('getOrders')),
    statuses: ['ok', 'refused', 'refused'],
    reason: 'refusals',
  },
  {
    why: 'a call that was sent too often, though its result changed',
    guard: { ...apart, same_call: 2, refused_steps: 1 },
    steps: 3,
    step: () => calls(call('getOrders')),
    statuses: ['ok', 'ok', 'refused'],
    reason: 'refusals',
  },
  {
    why: 'three steps of calls that are none',
    guard: { ...apart, invalid_steps: 3 },
    steps: 3,
    step: (index) => calls(call(`nobody_${index}`)),
    statuses: ['invalid', 'invalid', 'invalid'],
    reason: 'invalid_calls',
  },
  {
    why: 'three steps of empty results',
    guard: { ...apart, empty_steps: 3 },
    steps: 3,
    step: (id) => calls(call('getOrders', { id })),
    result: () => ok([], { empty: true }),
    statuses: ['ok', 'ok', 'ok'],
    reason: 'empty_results',
  },
  {
    why: 'three rounds of two calls',
    guard: { ...apart, cycle_rounds: 3 },
    steps: 6,
    step: (index) => calls(call('getOrders', { id: index % 2 })),
    result: () => ok('same'),
    statuses: ['ok', 'ok', 'ok', 'ok', 'ok', 'ok'],
    reason: 'cycle',
  },
  {
    why: 'two rounds of three calls',
    guard: { ...apart, cycle_rounds: 2 },
    steps: 6,
    step: (index) => calls(call('getOrders', { id: index % 3 })),
    result: () => ok('same'),
    statuses: ['ok', 'ok', 'ok', 'ok', 'ok', 'ok'],
    reason: 'cycle',
  },
]

for (const { why, guard, steps, step, result, statuses: expected, reason } of cases) {
  test(`LC-01, LC-02: ${why} take the tools away; the result and the journal say it`, async () => {
    let index = -1
    const played = await play({
      request: { tools: [orders], limits: { loop_guard: guard, max_steps: steps + 1 } },
      model: [...times(steps, step), text('I stop here.')],
      tools: () => {
        index += 1
        return result?.(index) ?? ok(index)
      },
    })
    assert.deepEqual(statuses(played), expected)
    assert.deepEqual(repeats(played), [reason])
    assert.equal(loopWarnings(played), 1)
    assert.deepEqual(
      played.asks.map(({ toolChoice }) => toolChoice),
      [...times(steps, () => 'auto'), 'none'],
    )
    assert.equal(played.result.status, 'completed')
    assert.match(played.asks.at(-1)?.note ?? '', /brought nothing new/)
  })
}

test('loop protection and a limit at once: the limit decides the status, the warning stands', async () => {
  const played = await play({
    request: { tools: [orders], limits: { max_steps: 2, loop_guard: { ...apart, empty_steps: 2 } } },
    model: [calls(call('getOrders', { id: 1 })), calls(call('getOrders', { id: 2 })), text('I stop here.')],
    tools: () => ok(null, { empty: true }),
  })
  assert.equal(played.result.status, 'stopped_limit')
  assert.equal(played.result.limit_reached, 'max_steps')
  assert.equal(loopWarnings(played), 1)
})

test('the order of keys makes no new call, and a refused call is told why', async () => {
  const played = await play({
    request: { tools: [orders], limits: { loop_guard: { ...apart, same_result: 1 } } },
    model: [calls(call('getOrders', { a: 1, b: 2 })), calls(call('getOrders', { b: 2, a: 1 })), text('Done.')],
    tools: () => ok('x'),
  })
  assert.deepEqual(statuses(played), ['ok', 'refused'])
  const refused = played.result.messages.at(-2)
  assert.ok(refused?.role === 'tool' && refused.error?.includes('its earlier result stands'))
})

test('equal calls of one step: reads share a result, a repeatable tool is sent each, a write is sent once', async () => {
  const two = (name: string) => [call(name, { id: 1 }), call(name, { id: 1 })]
  const played = await play({
    request: { tools: [orders, tool('poll', { repeatable: true }), refund] },
    model: [calls(...two('getOrders'), ...two('poll'), ...two('createRefund'))],
    tools: (order) => (order.tool.effect === 'write' ? deferred('op_1') : ok('x')),
  })
  assert.deepEqual(statuses(played), ['ok', 'ok', 'ok', 'ok', 'deferred', 'refused'])
  assert.deepEqual(
    played.result.tool_calls.map(({ attempts }) => attempts),
    [1, 0, 1, 1, 1, 0],
  )
  assert.equal(played.journal.filter(({ event }) => event === 'tool_called').length, 4)
})

for (const count of [32, 33, 64]) {
  test(`LC-14: of ${count} calls in one step 32 are judged, whatever they are, and the rest refused`, async () => {
    // The first is none at all: it takes a place like any other.
    const many = times(count, (id) => (id === 0 ? call('nobody') : call('getOrders', { id })))
    const played = await play({
      request: { tools: [orders], limits: { max_tool_calls: 1000 } },
      model: [calls(...many), text('Done.')],
      tools: (order) => ok(order.args),
    })
    assert.deepEqual(statuses(played), ['invalid', ...times(31, () => 'ok'), ...times(count - 32, () => 'refused')])
    // Refused beside calls that were sent: that step is no refused one.
    assert.deepEqual(repeats(played), [])
  })
}

test('a step that loop protection left may not call: its calls are dropped and its words kept', async () => {
  const played = await play({
    request: { tools: [orders], limits: { loop_guard: { ...apart, empty_steps: 1 } } },
    model: [calls(call('getOrders')), answer([{ type: 'text', text: 'Nothing.' }, call('getOrders')], 'tool_calls')],
    tools: () => ok([], { empty: true }),
  })
  assert.deepEqual(statuses(played), ['ok'])
  assert.equal(played.result.text, 'Nothing.')
  assert.equal(played.result.stop_reason, 'end_turn')
})
