/** Calls put together from fragments, in every way in which servers were seen to cut them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { ModelCall } from '../../../src/engine/ports.ts'
import { ToolCalls } from '../../../src/providers/openai-chat/tool-calls.ts'
import type { WireObject } from '../../../src/providers/wire-value.ts'
import { cpuMs } from '../../cpu-time.ts'

const DECLARED = new Set(['get_weather', 'list_orders', 'f', 'g'])

/** One entry of `delta.tool_calls`; what is undefined is left out. */
function TC(index?: number, id?: string, name?: string, args?: unknown): WireObject {
  const wire = { ...(name === undefined ? {} : { name }), ...(args === undefined ? {} : { arguments: args }) }
  return { ...(index === undefined ? {} : { index }), ...(id === undefined ? {} : { id }), function: wire }
}

function ended(entries: readonly WireObject[], ending = { complete: true, byLength: false }): ModelCall[] {
  const calls = new ToolCalls(DECLARED)
  for (const entry of entries) calls.fragment(entry)
  return calls.end(ending, 'fam')
}

/** Id, name and arguments, or the fault in their place. */
function calls(...entries: WireObject[]): unknown[] {
  return ended(entries).map(({ tool, args, fault, provider_data }) => [
    provider_data?.['id'] ?? null,
    tool,
    fault ?? args,
  ])
}

test('PS-02: the same index twice inside one chunk is one call', () => {
  assert.deepEqual(
    calls(
      TC(0, 'c1', 'get_weather', ''),
      TC(0, undefined, undefined, '{"ci'),
      TC(0, undefined, undefined, 'ty":"Rome"}'),
    ),
    [['c1', 'get_weather', { city: 'Rome' }]],
  )
})

test('PS-03: an id that comes once, is empty later, or is repeated, is one id', () => {
  const whole = [['c1', 'get_weather', { city: 'Rome' }]]
  for (const later of [undefined, '', 'c1']) {
    assert.deepEqual(
      calls(TC(0, 'c1', 'get_weather', ''), TC(0, later, '', '{"city":'), TC(0, later, undefined, '"Rome"}')),
      whole,
    )
  }
})

test('a fresh id on every fragment without a name belongs to the call that is open', () => {
  assert.deepEqual(calls(TC(0, 'r1', 'f', '{"a"'), TC(0, 'r2', undefined, ':1'), TC(0, 'r3', undefined, '}')), [
    ['r1', 'f', { a: 1 }],
  ])
})

test('a fresh id and the name again on every fragment are one call as long as the arguments go on', () => {
  const pieces = (...[second, third]: readonly [string, string]) =>
    calls(TC(0, 'r1', 'f', '{"a"'), TC(0, 'r2', 'f', second), TC(0, 'r3', 'f', third))
  assert.deepEqual(pieces(':1', '}'), [['r1', 'f', { a: 1 }]])
  assert.deepEqual(calls(TC(0, 'r1', 'f', '{"a":1}'), TC(0, 'r2', 'f', '{"b"'), TC(0, 'r3', 'f', ':2}')), [
    ['r1', 'f', { a: 1 }],
    ['r2', 'f', { b: 2 }],
  ])
  // What begins as arguments do begins a call.
  assert.deepEqual(calls(TC(0, 'r1', 'f', '{"a"'), TC(0, 'r2', 'f', '{"b":2}')), [
    ['r1', 'f', 'not_json'],
    ['r2', 'f', { b: 2 }],
  ])
})

test('PS-04: a tail on another index without id and name belongs to the call that is open', () => {
  assert.deepEqual(calls(TC(0, 'c1', 'get_weather', '{"ci'), TC(1, undefined, undefined, 'ty":"Rome"}')), [
    ['c1', 'get_weather', { city: 'Rome' }],
  ])
  assert.deepEqual(calls(TC(0, 'a', 'f', '{"x'), TC(1, 'b', 'g', '{}'), TC(2, undefined, undefined, '":1}')), [
    ['a', 'f', 'not_json'],
    ['b', 'g', 'not_json'],
  ])
})

test('PS-05: index on the first fragment and only the id on the rest, and the other way round, is one call', () => {
  const whole = [['c1', 'f', { city: 'Rome' }]]
  assert.deepEqual(calls(TC(0, 'c1', 'f', '{"city":'), TC(undefined, 'c1', undefined, '"Rome"}')), whole)
  assert.deepEqual(
    calls(TC(undefined, 'c1', 'f', '{"city":'), TC(3, 'c1', undefined, '"Ro'), TC(3, undefined, undefined, 'me"}')),
    whole,
  )
})

test('PS-06: a repeated name says nothing new, a split one is joined, and a declared one is whole', () => {
  assert.deepEqual(calls(TC(0, 'c1', 'get_weather', '{"a"'), TC(0, undefined, 'get_weather', ':1}')), [
    ['c1', 'get_weather', { a: 1 }],
  ])
  assert.deepEqual(calls(TC(0, 'c1', 'get_', ''), TC(0, undefined, 'weather', '{}')), [['c1', 'get_weather', {}]])
  assert.deepEqual(calls(TC(0, 'c1', 'f', ''), TC(0, undefined, '_x', '{}')), [['c1', 'f', {}]])
  assert.deepEqual(calls(TC(0, 'c1', 'get_', '{'), TC(0, undefined, 'weather', '}')), [['c1', 'get_', {}]])
})

test('PS-07: empty, missing and null arguments are a call without any', () => {
  for (const nothing of ['', ' ', null, undefined])
    assert.deepEqual(calls(TC(0, 'c1', 'list_orders', nothing)), [['c1', 'list_orders', {}]])
})

test('LC-08: arguments that are no text are judged as the value they are, and never taken for none', () => {
  assert.deepEqual(calls(TC(0, 'c1', 'f', { city: 'Rome' })), [['c1', 'f', { city: 'Rome' }]])
  for (const value of [42, 0, true, false, [], [{ city: 'Rome' }]])
    assert.deepEqual(calls(TC(0, 'c1', 'list_orders', value)), [['c1', 'list_orders', 'not_object']])
})

test('LC-03: a call without a name is a call of no tool where it has an id and arguments, else it is none', () => {
  assert.deepEqual(calls(TC(0, 'c1', '', '{"a":1}')), [['c1', '', { a: 1 }]])
  assert.deepEqual(calls(TC(0, 'c1', undefined, '{"a"'), TC(0, undefined, undefined, ':1}')), [['c1', '', { a: 1 }]])
  for (const [id, args] of [
    ['c1', ''],
    ['', '{"a":1}'],
  ] as const)
    assert.deepEqual(calls(TC(0, id, '', args)), [])
})

test('PS-08: two objects glued in one call are one broken call', () => {
  assert.deepEqual(calls(TC(0, 'c1', 'f', '{"q":"A"}{"q":"B"}')), [['c1', 'f', 'not_json']])
})

test('calls without an index are told apart by id and name', () => {
  assert.deepEqual(
    calls(
      TC(undefined, 'a', 'f', '{"x":1}'),
      TC(undefined, 'b', 'g', '{"y"'),
      TC(undefined, undefined, undefined, ':2}'),
    ),
    [
      ['a', 'f', { x: 1 }],
      ['b', 'g', { y: 2 }],
    ],
  )
})

test('an index that is always 0 does not merge calls', () => {
  const two = [
    ['a', 'f', {}],
    ['b', 'g', {}],
  ]
  assert.deepEqual(calls(TC(0, 'a', 'f', '{}'), TC(0, 'b', 'g', '{}')), two)
  assert.deepEqual(calls(TC(0, 'a', 'f', ''), TC(0, 'b', 'g', '')), two)
  assert.deepEqual(calls(TC(0, undefined, 'f', '{"a":1}'), TC(0, undefined, 'f', '{"a":2}')), [
    [null, 'f', { a: 1 }],
    [null, 'f', { a: 2 }],
  ])
  assert.deepEqual(calls(TC(0, undefined, 'f', ''), TC(0, undefined, 'g', '')), [
    [null, 'f', {}],
    [null, 'g', {}],
  ])
})

test('an index with gaps, and fragments of several calls in turn, keep the order in which the calls came', () => {
  assert.deepEqual(
    calls(
      TC(7, 'a', 'f', '{"x"'),
      TC(1, 'b', 'g', '{'),
      TC(7, undefined, undefined, ':1}'),
      TC(1, undefined, undefined, '}'),
    ),
    [
      ['a', 'f', { x: 1 }],
      ['b', 'g', {}],
    ],
  )
})

test('an id that comes after the name, or a name after the id, still finds its call', () => {
  assert.deepEqual(calls(TC(0, undefined, 'f'), TC(0, 'late', undefined, '{}')), [['late', 'f', {}]])
  assert.deepEqual(calls(TC(0, 'early'), TC(0, undefined, 'f', '{}')), [['early', 'f', {}]])
})

test('a call without any id is a call; one without name and id is none', () => {
  assert.deepEqual(calls(TC(0, '', 'f', '{}')), [[null, 'f', {}]])
  assert.deepEqual(calls(TC(0, '', '', '{}'), TC(undefined, undefined, undefined, '{}'), { index: 0 }, {}), [])
})

test('HI-12: one id on two indexes is two calls', () => {
  assert.equal(calls(TC(0, 'x', 'list_orders', ''), TC(1, 'x', 'list_orders', '')).length, 2)
  assert.deepEqual(calls(TC(0, 'x', 'f', '{}'), TC(1, 'x', 'f', '{}')), [
    ['x', 'f', {}],
    ['x', 'f', {}],
  ])
})

test('HI-11: one constant id without an index does not merge calls', () => {
  assert.deepEqual(calls(TC(undefined, 'x', 'f', '{"a":1}'), TC(undefined, 'x', 'f', '{"a":2}')), [
    ['x', 'f', { a: 1 }],
    ['x', 'f', { a: 2 }],
  ])
})

test('a finished call that is sent once more is one call', () => {
  assert.deepEqual(calls(TC(0, 'x', 'f', '{"a"'), TC(0, 'x', undefined, ':1}'), TC(0, 'x', 'f', '{"a":1}')), [
    ['x', 'f', { a: 1 }],
  ])
  assert.deepEqual(calls(TC(0, 'x', 'f', '{"a":1}'), TC(0, 'x', undefined, '{"a":1}')), [['x', 'f', { a: 1 }]])
})

test('arguments that come as the object itself are taken', () => {
  assert.deepEqual(calls(TC(0, 'x', 'f', { city: 'Oslo' })), [['x', 'f', { city: 'Oslo' }]])
  assert.deepEqual(calls({ index: 0, id: 'x', name: 'f', arguments: '{"flat":true}' }), [['x', 'f', { flat: true }]])
})

test('what must go back with a call is kept beside its id', () => {
  const extra = { google: { thought_signature: 'AY89' } }
  const [call] = ended([{ ...TC(0, 'x', 'f', '{}'), extra_content: extra }])
  assert.deepEqual(call?.provider_data, { family: 'fam', id: 'x', extra_content: extra })
})

test('calls of an answer that broke are cut where they are not whole, and where nothing of them had come', () => {
  const broken = { complete: false, byLength: false }
  const faults = (...entries: WireObject[]) => ended(entries, broken).map(({ fault }) => fault)
  assert.deepEqual(faults(TC(0, 'a', 'f', '{"a":1}'), TC(1, 'b', 'g', '{"b'), TC(2, 'c', 'f', '')), [
    null,
    'cut',
    'cut',
  ])
})

test('the end by length cuts the last call only; broken arguments elsewhere may have been cut as well', () => {
  const byLength = { complete: true, byLength: true }
  const faults = (...entries: WireObject[]) => ended(entries, byLength).map(({ fault }) => fault)
  assert.deepEqual(faults(TC(0, 'a', 'f', ''), TC(1, 'b', 'g', '')), [null, 'cut'])
  assert.deepEqual(faults(TC(0, 'a', 'f', '{"a'), TC(1, 'b', 'g', '{}')), ['cut', null])
})

test('LC-14: arguments over a mebibyte are not kept, nor calls beyond 256, whose tails touch no other call', () => {
  const piece = 'x'.repeat(512 * 1024)
  const [huge] = ended([
    TC(0, 'a', 'f', '{"a":"'),
    TC(0, undefined, undefined, piece),
    TC(0, undefined, undefined, piece),
    TC(0, undefined, undefined, '"}'),
  ])
  assert.deepEqual([huge?.fault, huge?.args, huge?.argsText], ['too_large', null, ''])
  const many = Array.from({ length: 300 }, (_, at) => [
    TC(at, `c${at}`, 'f', '{"a"'),
    TC(at, undefined, undefined, ':1}'),
  ]).flat()
  const kept = ended(many)
  assert.equal(kept.length, 256)
  assert.ok(kept.every(({ fault }) => fault === null))
})

test('asking for the end of a call on every fragment stays linear', () => {
  const entries = Array.from({ length: 20_000 }, () => TC(0, undefined, 'f', '"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",'))
  const began = cpuMs()
  ended([TC(0, 'x', 'f', '{"a":['), ...entries])
  assert.ok(cpuMs() - began < 2000)
})

test('any calls cut into any fragments by any of the ways come out as they were', () => {
  const call = fc.record({
    name: fc.constantFrom('get_weather', 'list_orders', 'other_tool'),
    args: fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }),
    cuts: fc.array(fc.nat(8), { minLength: 1, maxLength: 5 }),
  })
  const way = fc.record({ index: fc.boolean(), idAgain: fc.constantFrom('', 'same', 'none'), nameAgain: fc.boolean() })
  fc.assert(
    fc.property(fc.array(call, { minLength: 1, maxLength: 4 }), way, (wanted, { index, idAgain, nameAgain }) => {
      const entries = wanted.flatMap(({ name, args, cuts }, at) =>
        pieces(JSON.stringify(args), cuts).map((piece, turn) =>
          turn === 0
            ? TC(index ? at : undefined, `id${at}`, name, piece)
            : TC(
                index ? at : undefined,
                idAgain === 'same' ? `id${at}` : idAgain === 'none' ? undefined : '',
                nameAgain ? name : undefined,
                piece,
              ),
        ),
      )
      // Without an index a name alone opens a call: such servers never repeat it.
      if (!index && nameAgain && idAgain !== 'same') return
      assert.deepEqual(
        calls(...entries),
        wanted.map(({ name, args }, at) => [`id${at}`, name, JSON.parse(JSON.stringify(args))]),
      )
    }),
  )
})

function pieces(text: string, cuts: readonly number[]): string[] {
  const found: string[] = []
  for (let at = 0, turn = 0; at < text.length; turn += 1) {
    const size = (cuts[turn % cuts.length] ?? 0) + 1
    found.push(text.slice(at, at + size))
    at += size
  }
  return found
}

test('an index that comes as digits is the same index', () => {
  const tail = { ...TC(undefined, undefined, undefined, '1}'), index: '0' }
  const other = { ...TC(undefined, 'c2', 'g', '{}'), index: '1' }
  assert.deepEqual(calls({ ...TC(undefined, 'c1', 'f', '{"a":'), index: '0' }, other, tail), [
    ['c1', 'f', { a: 1 }],
    ['c2', 'g', {}],
  ])
})
