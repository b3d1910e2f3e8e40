/** Calls that are decided against before anything is sent (SPEC §5.3, §5.4, §8.5): each stands in the journal, with its reason. */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import type { Json } from '../../src/contract/json.ts'
import { call, calls, ok, play, text, type Played } from '../fakes/engine.ts'
import { tool } from '../fakes/run-request.ts'

function unsent({ journal }: Played): Json[] {
  return journal
    .filter(({ event }) => event === 'call_not_sent')
    .map(({ step, tool: name, status, reason }) => [step ?? null, name ?? null, status ?? null, reason ?? null])
}

const tools = [tool('read'), tool('write', { effect: 'write' })]

test('a call that cannot be sent as it is written is journalled as invalid, with what is wrong', async () => {
  const played = await play({
    request: { tools },
    model: [
      calls(
        call('nobody'),
        call('read', null, { fault: 'not_json', argsText: '{"a' }),
        call('read', null, { fault: 'not_object', argsText: '[]' }),
        call('read', null, { fault: 'too_large', argsText: '' }),
        call('read', { bad: 1 }),
      ),
      text('So be it.'),
    ],
    checkArgs: (_tool, args) => ('bad' in args ? ['bad is not known.'] : []),
  })
  assert.deepEqual(unsent(played), [
    [1, 'nobody', 'invalid', 'unknown_tool'],
    [1, 'read', 'invalid', 'not_json'],
    [1, 'read', 'invalid', 'not_object'],
    [1, 'read', 'invalid', 'too_large'],
    [1, 'read', 'invalid', 'mismatch'],
  ])
  assert.deepEqual(
    played.result.tool_calls.map(({ status }) => status),
    ['invalid', 'invalid', 'invalid', 'invalid', 'invalid'],
  )
})

test('each refusal of loop protection is journalled, and so is a call beside its twin', async () => {
  const played = await play({
    request: { tools, limits: { loop_guard: { same_call: 3 } } },
    model: [
      calls(call('read'), call('read'), call('read', { n: 1 }), call('write'), call('write')),
      calls(call('read'), call('read', { n: 1 }), call('write', { n: 2 })),
      calls(call('read'), call('read', { n: 1 })),
      calls(call('read', { n: 1 }), call('read', { n: 2 })),
      text('Enough.'),
    ],
    tools: ({ args, callId, tool: { name } }) =>
      name === 'write' ? { ...ok(1), kind: 'not_deferred' } : ok('n' in args ? callId : 1),
  })
  assert.deepEqual(unsent(played), [
    [1, 'read', 'duplicate', 'same_read'],
    [1, 'write', 'refused', 'same_write'],
    [2, 'write', 'refused', 'closed_tool'],
    [3, 'read', 'refused', 'same_result'],
    [4, 'read', 'refused', 'same_call'],
  ])
  const [twin] = played.journal.filter(({ reason }) => reason === 'same_read')
  assert.equal(twin?.['of'], played.result.tool_calls[0]?.call_id)
  assert.equal(twin?.['call_id'], played.result.tool_calls[1]?.call_id)
})

test('LC-14 calls beyond those of one step, and beyond max_tool_calls, are journalled', async () => {
  const many = Array.from({ length: 34 }, (_, n) => call('read', { n }))
  const played = await play({
    request: { tools, limits: { max_tool_calls: 31 } },
    model: [calls(...many), text('Enough.')],
    tools: () => ok(1),
  })
  assert.deepEqual(unsent(played), [
    [1, 'read', 'not_sent', 'limit'],
    [1, 'read', 'refused', 'too_many'],
    [1, 'read', 'refused', 'too_many'],
  ])
  assert.equal(played.orders.length, 31)
})

test('LC-03 a name that is stored in the form of a declared one has no effect of that tool', async () => {
  const many = Array.from({ length: 32 }, () => call('wr ite'))
  const played = await play({
    request: { tools: [tool('wr_ite', { effect: 'write' }), tool('unnamed')] },
    model: [calls(call('wr.ite'), call(''), ...many), text('So be it.')],
  })
  const [first, second, ...rest] = played.result.tool_calls
  assert.deepEqual([first?.tool, first?.effect, first?.status], ['wr_ite', null, 'invalid'])
  assert.deepEqual([second?.tool, second?.effect, second?.status], ['unnamed', null, 'invalid'])
  assert.equal(rest.at(-1)?.status, 'refused')
  assert.ok(rest.every(({ effect }) => effect === null))
  assert.deepEqual(played.orders, [])
})

test('a model that is asked instead of another is journalled', async () => {
  const target = (model: string) => ({ provider: 'scripted', model })
  const attempt = (place: number) => ({ attempt: place + 1, target: place })
  const played = await play({
    request: { llm: { ...target('first'), fallbacks: [target('second')] } },
    model: [
      async (_ask, tap) => {
        await tap.attemptStarting(attempt(0))
        await tap.attemptStarting(attempt(1))
        return text('Here.')
      },
    ],
  })
  const told = played.journal.filter(({ event }) => event === 'fallback')
  assert.deepEqual(
    told.map(({ from, to }) => [from, to]),
    [[0, 1]],
  )
})
