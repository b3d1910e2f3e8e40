/** The order in which a conversation goes to every provider. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StoredMessage } from '../../src/contract/message.ts'
import { turnsOf } from '../../src/providers/turns.ts'
import { user } from './dialect-call.ts'

const calls = (...ids: string[]): StoredMessage => ({
  role: 'assistant',
  content: ids.map((call_id) => ({ type: 'tool_call', call_id, tool: 'f', args: {} })),
})
const result = (call_id: string, value: string): StoredMessage => ({ role: 'tool', call_id, tool: 'f', result: value })

function shape(messages: readonly StoredMessage[]): unknown[] {
  return turnsOf(messages).map((turn) =>
    turn.kind === 'user'
      ? `user ${turn.index}`
      : ['assistant', ...turn.results.map(({ call, text }) => `${call.call_id}=${text}`)],
  )
}

test('HI-14: results stand after their calls, in call order; a user text between them comes after', () => {
  assert.deepEqual(shape([user('hi'), calls('a', 'b'), result('b', 'B'), user('hurry'), result('a', 'A')]), [
    'user 0',
    ['assistant', 'a={"result":"A"}', 'b={"result":"B"}'],
    'user 3',
  ])
})

test('HI-11: an id that comes on every turn is paired by its place', () => {
  assert.deepEqual(shape([user('x'), calls('call_0'), result('call_0', '1'), calls('call_0'), result('call_0', '2')]), [
    'user 0',
    ['assistant', 'call_0={"result":"1"}'],
    ['assistant', 'call_0={"result":"2"}'],
  ])
})

test('a call without its result gets one that says so; a result without its call is left out', () => {
  assert.deepEqual(shape([calls('a'), calls('a'), result('a', 'late')]), [
    ['assistant', 'a={"error":"no result was recorded"}'],
    ['assistant', 'a={"result":"late"}'],
  ])
  assert.deepEqual(shape([result('z', '0'), user('x'), calls('a')]), [
    'user 1',
    ['assistant', 'a={"error":"no result was recorded"}'],
  ])
})
