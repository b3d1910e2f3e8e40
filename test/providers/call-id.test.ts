/** Under which ids a provider sees the calls of a conversation. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { StoredMessage } from '../../src/contract/message.ts'
import { wireIds } from '../../src/providers/call-id.ts'
import { profileFor, type Profile } from '../../src/providers/profile.ts'
import { turnsOf } from '../../src/providers/turns.ts'
import { dialectCall } from './dialect-call.ts'
import { cpuMs } from '../cpu-time.ts'

interface Fact {
  readonly call_id: string
  readonly tool?: string
  readonly family?: string
  readonly id?: string
}

/** Each list is one assistant message. */
function history(...turns: Fact[][]): StoredMessage[] {
  return turns.map((facts) => ({
    role: 'assistant',
    content: facts.map(({ call_id, tool = 'f', family, id }) => ({
      type: 'tool_call',
      call_id,
      tool,
      args: {},
      ...(family === undefined ? {} : { provider_data: { family, ...(id === undefined ? {} : { id }) } }),
    })),
  }))
}

const generic = profileFor(dialectCall({}).target)
const claude = profileFor(dialectCall({ provider: 'anthropic' }).target)
const OWN = generic.family

function ids(messages: readonly StoredMessage[], profile: Profile = generic): string[] {
  return [...wireIds(turnsOf(messages), profile).values()]
}

const ULID = 'call_01J0000000000000000000000A'

test('an own id goes back unchanged; a foreign one, or none, gives way to the call_id', () => {
  const messages = history([
    { call_id: 'call_1', family: OWN, id: 'functions.add:0' },
    { call_id: ULID, family: 'other', id: 'toolu_01' },
    { call_id: 'call_3' },
  ])
  assert.deepEqual(ids(messages), ['functions.add:0', ULID, 'call_3'])
})

test('a call_id that a provider would refuse becomes a legal one, always the same', () => {
  const made = ids(history([{ call_id: 'functions.add:0' }, { call_id: 'x'.repeat(200) }, { call_id: 'ид' }]))
  for (const id of made) assert.match(id, /^[a-zA-Z0-9_-]{1,40}$/)
  assert.equal(new Set(made).size, 3)
  assert.deepEqual(
    made,
    ids(history([{ call_id: 'functions.add:0' }, { call_id: 'x'.repeat(200) }, { call_id: 'ид' }])),
  )
})

test('an own id that Claude itself would refuse back is replaced', () => {
  const messages = history([{ call_id: ULID, family: claude.family, id: 'find_order:0' }])
  assert.deepEqual(ids(messages, claude), [ULID])
})

test('HI-11: of one id on every turn the first call keeps it, and earlier bytes never change', () => {
  const turns = ['A', 'B', 'C'].map((end) => [{ call_id: ULID.slice(0, -1) + end, family: OWN, id: 'call_0' }])
  const all = ids(history(...turns))
  assert.deepEqual(all, ['call_0', ULID.slice(0, -1) + 'B', ULID.slice(0, -1) + 'C'])
  assert.deepEqual(ids(history(...turns.slice(0, 2))), all.slice(0, 2))
})

test('HI-11: a foreign id on every one of 4,000 turns is made anew each time, in no more than a moment', () => {
  const turns = Array.from({ length: 4000 }, () => [{ call_id: 'call_0' }])
  const made = (salt: number) => createHash('sha256').update(`${salt}:call_0`).digest('hex')
  const rows = {
    short: ['call_0', ...[1, 2, 3].map((salt) => `call_${made(salt).slice(0, 24)}`)],
    nine: [0, 1, 2, 3].map((salt) => made(salt).slice(0, 9)),
    numbered: [0, 1, 2, 3].map((at) => `functions.f:${at}`),
  } as const
  for (const [madeCallIds, first] of Object.entries(rows) as [keyof typeof rows, readonly string[]][]) {
    const before = cpuMs()
    const all = ids(history(...turns), { ...generic, madeCallIds })
    // Begun anew on every turn it would take eight million hashes.
    assert.ok(cpuMs() - before < 3000, madeCallIds)
    assert.deepEqual(all.slice(0, 4), first)
    assert.equal(new Set(all).size, 4000)
  }
})

test('HI-12: one id twice in a single answer is two ids', () => {
  const both = ids(
    history([
      { call_id: ULID, family: OWN, id: 'x' },
      { call_id: 'call_2', family: OWN, id: 'x' },
    ]),
  )
  assert.deepEqual(both, ['x', 'call_2'])
})

test('a vendor that wants exactly nine letters and digits gets them', () => {
  const made = ids(history([{ call_id: ULID }, { call_id: 'call_2' }]), { ...generic, madeCallIds: 'nine' })
  for (const id of made) assert.match(id, /^[a-zA-Z0-9]{9}$/)
  assert.equal(new Set(made).size, 2)
})

test('HI-19: made ids may name the tool and count over the conversation, and never meet a native one', () => {
  const profile: Profile = { ...generic, family: 'kimi', madeCallIds: 'numbered' }
  const foreign = [
    { call_id: 'call_1', tool: 'get_orders', family: 'anthropic', id: 'toolu_01A' },
    { call_id: 'call_2', tool: 'get_weather', family: 'anthropic', id: 'toolu_01B' },
  ]
  assert.deepEqual(ids(history(foreign), profile), ['functions.get_orders:0', 'functions.get_weather:1'])
  const later = [
    ...foreign.map((fact) => [fact]),
    [{ call_id: 'call_3', tool: 'get_orders', family: 'kimi', id: 'functions.get_orders:0' }],
  ]
  assert.deepEqual(ids(history(...later), profile), [
    'functions.get_orders:0',
    'functions.get_weather:1',
    'functions.get_orders:2',
  ])
})

test('ids are unique, and those of a shorter conversation are the beginning of those of a longer one', () => {
  const fact = fc.record({
    call_id: fc.constantFrom('call_1', 'call_2', 'a:b', 'x'),
    family: fc.constantFrom(OWN, 'other'),
    id: fc.constantFrom('call_0', 'call_1', 'x', ''),
  })
  fc.assert(
    fc.property(fc.array(fc.array(fact, { minLength: 1, maxLength: 4 }), { minLength: 2, maxLength: 6 }), (turns) => {
      for (const profile of [generic, { ...generic, madeCallIds: 'numbered' } as const]) {
        const all = ids(history(...turns), profile)
        assert.equal(new Set(all).size, all.length)
        const fewer = ids(history(...turns.slice(0, -1)), profile)
        assert.deepEqual(fewer, all.slice(0, fewer.length))
      }
    }),
  )
})
