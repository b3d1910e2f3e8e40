import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { CallStop } from '../../src/tools/call-stop.ts'

test('the deadline stops a call, and not a millisecond earlier', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const stop = new CallStop(new AbortController().signal, 1000)
  t.mock.timers.tick(999)
  assert.equal(stop.reason, null)
  t.mock.timers.tick(1)
  assert.deepEqual(stop.reason, { kind: 'deadline' })
  assert.deepEqual(await stop.stopped, { kind: 'deadline' })
})

test('a signal stops a call with its reason; a foreign reason counts as a cancel', () => {
  const cases: [unknown, string][] = [
    ['cancelled', 'cancelled'],
    ['deadline', 'deadline'],
    ['shutdown', 'shutdown'],
    ['lost', 'lost'],
    [new Error('x'), 'cancelled'],
    [undefined, 'cancelled'],
  ]
  for (const [reason, why] of cases) {
    const controller = new AbortController()
    const stop = new CallStop(controller.signal, 1000)
    controller.abort(reason)
    assert.deepEqual(stop.reason, { kind: 'interrupted', why })
    stop.release()
  }
})

test('a signal that has aborted before stops a call at once', () => {
  const stop = new CallStop(AbortSignal.abort('shutdown'), 1000)
  assert.deepEqual(stop.reason, { kind: 'interrupted', why: 'shutdown' })
  stop.release()
})

test('the first stop wins', async () => {
  const controller = new AbortController()
  const stop = new CallStop(controller.signal, 1000)
  const answer = { status: 'ok', result: 1 } as const
  stop.lateResult(answer)
  controller.abort('cancelled')
  stop.lateResult({ status: 'error', error: 'no' })
  assert.deepEqual(await stop.stopped, { kind: 'late_result', answer })
  assert.deepEqual(stop.reason, { kind: 'late_result', answer })
  stop.release()
})

test('SD-03: a released stop leaves no listener and no timer', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const controller = new AbortController()
  const stop = new CallStop(controller.signal, 1000)
  assert.equal(getEventListeners(controller.signal, 'abort').length, 1)
  stop.release()
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0)
  t.mock.timers.tick(5000)
  controller.abort('cancelled')
  assert.equal(stop.reason, null)
})
