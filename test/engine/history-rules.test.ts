import { test } from 'node:test'
import assert from 'node:assert/strict'
import { Faults } from '../../src/contract/check.ts'
import type { StoredMessage } from '../../src/contract/message.ts'
import { checkHistory } from '../../src/engine/history-rules.ts'
import { at } from '../fakes/run-request.ts'

const user = (text = 'hi'): StoredMessage => ({ role: 'user', content: [{ type: 'text', text }], created_at: at })
const says = (text: string): StoredMessage => ({ role: 'assistant', content: [{ type: 'text', text }] })
const asks = (...ids: string[]): StoredMessage => ({
  role: 'assistant',
  content: ids.map((call_id) => ({ type: 'tool_call', call_id, tool: 't', args: {} })),
})
const answers = (call_id: string, more: object = {}): StoredMessage => ({
  role: 'tool',
  call_id,
  tool: 't',
  result: 1,
  ...more,
})

function faultsOf(...messages: StoredMessage[]): [string, string][] {
  const faults = new Faults()
  checkHistory(messages, faults)
  return faults.list.map(({ path, message }) => [path, message])
}

test('a whole conversation has no faults, in whatever order the harness stored the results', () => {
  assert.deepEqual(faultsOf(user(), asks('a', 'b'), answers('b'), answers('a'), says('x'), user()), [])
  assert.deepEqual(faultsOf(user(), asks('a'), answers('a')), [])
})

test('HI-01: a call without a result is told by its path and id', () => {
  const [[path, message] = ['', '']] = faultsOf(user(), asks('call_1'), user('still there?'))
  assert.equal(path, 'messages[1].content[0]')
  assert.match(message, /"call_1".*has no tool message before messages\[2\].*superseded/)
})

test('HI-16: a pending call must be closed before a new user message, and superseded closes it', () => {
  assert.equal(faultsOf(user(), asks('w1'), user('forget it')).length, 1)
  const closed: StoredMessage = { role: 'tool', call_id: 'w1', tool: 't', is_error: true, error: 'superseded' }
  assert.deepEqual(faultsOf(user(), asks('w1'), closed, user('forget it')), [])
})

test('HI-14: a result after the next user message comes too late', () => {
  const faults = faultsOf(user(), asks('a', 'b'), answers('a'), user('hurry'), answers('b'))
  assert.deepEqual(
    faults.map(([path]) => path),
    ['messages[1].content[1]', 'messages[4].call_id'],
  )
})

test('HI-02: a result without its call is told by its path and id', () => {
  const [[path, message] = ['', '']] = faultsOf(user(), answers('call_9'), says('x'), user())
  assert.equal(path, 'messages[1].call_id')
  assert.match(message, /"call_9"/)
})

test('a second answer to one call is a fault', () => {
  const [[path, message] = ['', '']] = faultsOf(user(), asks('a'), answers('a'), answers('a'))
  assert.equal(path, 'messages[3].call_id')
  assert.match(message, /a second time/)
})

test('HI-11: an id may come again in a later turn, pairing is by position', () => {
  assert.deepEqual(faultsOf(user(), asks('call_0'), answers('call_0'), asks('call_0'), answers('call_0')), [])
})

test('one id twice in one message is a fault', () => {
  assert.equal(faultsOf(user(), asks('a', 'a'), answers('a'))[0]?.[0], 'messages[1].content[1].call_id')
})

test('a history that ends with the assistant, or with an open call, is a fault', () => {
  assert.equal(faultsOf(user(), says('x'))[0]?.[0], 'messages[1].role')
  assert.match(faultsOf(user(), asks('a'))[0]?.[1] ?? '', /by the end of the history/)
})

test('HI-09: a user message whose text is all empty is a fault', () => {
  assert.equal(faultsOf(user('  '))[0]?.[0], 'messages[0].content')
})

test('a result needs result or error, and the name of its call', () => {
  assert.equal(faultsOf(user(), asks('a'), { role: 'tool', call_id: 'a', tool: 't' })[0]?.[0], 'messages[2].result')
  assert.equal(faultsOf(user(), asks('a'), answers('a', { is_error: true }))[0]?.[0], 'messages[2].error')
  assert.equal(faultsOf(user(), asks('a'), answers('a', { tool: 'other' }))[0]?.[0], 'messages[2].tool')
})

test('a picture has either url or data', () => {
  const image = (parts: object): StoredMessage => ({
    role: 'user',
    content: [{ type: 'image', mime_type: 'image/png', ...parts }],
    created_at: at,
  })
  assert.deepEqual(faultsOf(image({ url: 'https://x.example/a.png' })), [])
  assert.match(faultsOf(image({}))[0]?.[1] ?? '', /neither/)
  assert.match(faultsOf(image({ url: 'https://x.example/a.png', data: 'aa' }))[0]?.[1] ?? '', /both/)
})
