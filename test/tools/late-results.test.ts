import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLateResults, type LateAnswer } from '../../src/tools/late-results.ts'

const answer: LateAnswer = { status: 'ok', result: 1 }

function setting(options: { rememberMs?: number; remember?: number } = {}) {
  const clock = { now: 0 }
  const taken: LateAnswer[] = []
  const told: string[] = []
  const onRecord = (_run: string, call: string, outcome: string) => void told.push(`${call} ${outcome}`)
  const late = createLateResults({ now: () => clock.now, onRecord, ...options })
  return { clock, taken, late, told, open: (callId: string) => late.open('run', callId, (given) => taken.push(given)) }
}

test('the first result of an open call is taken, repeats change nothing', () => {
  const { late, open, taken } = setting()
  const close = open('a')
  assert.equal(late.record('run', 'a', answer), 'recorded')
  assert.equal(late.record('run', 'a', { status: 'error', error: 'no' }), 'already_recorded')
  close()
  assert.equal(late.record('run', 'a', answer), 'already_recorded')
  assert.deepEqual(taken, [answer])
})

test('whatever was handed in is told, taken or ignored', () => {
  const { late, open, told } = setting()
  const close = open('a')
  late.record('run', 'a', answer)
  late.record('run', 'a', answer)
  close()
  open('b')()
  late.record('run', 'b', answer)
  late.record('run', 'c', answer)
  assert.deepEqual(told, ['a recorded', 'a already_recorded', 'b closed', 'c unknown'])
})

test('TH-06: a result after the end of the call is too late', () => {
  const { late, open, taken } = setting()
  const close = open('a')
  close()
  close()
  assert.equal(late.record('run', 'a', answer), 'closed')
  assert.equal(late.record('run', 'a', answer), 'closed')
  assert.deepEqual(taken, [])
})

test('a call nobody opened is unknown, and calls are told apart by run and id', () => {
  const { late, open } = setting()
  open('a')
  assert.equal(late.record('run', 'b', answer), 'unknown')
  assert.equal(late.record('other', 'a', answer), 'unknown')
})

test('a call that is sent again is open again, and its old end does not close it', () => {
  const { late, open } = setting()
  const closeFirst = open('a')
  const closeSecond = open('a')
  closeFirst()
  assert.equal(late.record('run', 'a', answer), 'recorded')
  closeSecond()
  open('a')
  assert.equal(late.record('run', 'a', answer), 'recorded')
})

test('SD-02: ended calls are forgotten after their time', () => {
  const { late, open, clock } = setting({ rememberMs: 1000 })
  open('a')()
  clock.now = 1000
  assert.equal(late.record('run', 'a', answer), 'closed')
  clock.now = 1001
  assert.equal(late.record('run', 'a', answer), 'unknown')
})

test('SD-02: no more ended calls are remembered than was said, the oldest are forgotten first', () => {
  const { late, open } = setting({ remember: 3 })
  for (const callId of ['a', 'b', 'c', 'd', 'e']) open(callId)()
  const states = ['a', 'b', 'c', 'd', 'e'].map((callId) => late.record('run', callId, answer))
  assert.deepEqual(states, ['unknown', 'unknown', 'closed', 'closed', 'closed'])
})

test('SD-02: a call that was open twice is as old as its last end', () => {
  const { late, open } = setting({ remember: 2 })
  for (const callId of ['a', 'b', 'a', 'c']) open(callId)()
  assert.deepEqual(
    ['a', 'b', 'c'].map((callId) => late.record('run', callId, answer)),
    ['closed', 'unknown', 'closed'],
  )
})

test('open calls are not forgotten', () => {
  const { late, open, clock } = setting({ remember: 1, rememberMs: 1 })
  open('a')
  for (const callId of ['b', 'c', 'd']) open(callId)()
  clock.now = 1_000_000
  assert.equal(late.record('run', 'a', answer), 'recorded')
})
