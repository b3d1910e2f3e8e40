/** What GigaChat's error answers mean. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FaultClass, Repair } from '../../../src/providers/dialect.ts'
import { gigachatFault } from '../../../src/providers/gigachat/errors.ts'

const CASES: readonly [status: number, message: string, FaultClass, Repair | null][] = [
  [400, 'Your request contains invalid JSON syntax.', 'bad_request', null],
  [401, 'Token has expired', 'auth', 'new_token'],
  [401, 'Unauthorized', 'auth', 'new_token'],
  [402, 'Payment Required', 'quota', null],
  [403, 'Permission denied', 'auth', null],
  [404, 'No such model', 'not_found', null],
  [413, 'Payload too large', 'context_overflow', null],
  [422, 'Invalid params: system message must be the first message', 'bad_request', null],
  [422, 'Invalid params: every assistant function call must have a result in history', 'bad_request', null],
  [
    422,
    'Invalid params: functions or thinking_functions should only appeal in user, function messages or random role messages',
    'bad_request',
    'no_state_id',
  ],
  [422, 'Invalid params: unknown functions_state_id', 'bad_request', 'no_state_id'],
  [429, 'Too many requests', 'rate', null],
  [500, 'Internal Server Error', 'server', null],
  [502, 'Bad Gateway', 'server', null],
  [503, 'Service Unavailable', 'overloaded', null],
  [504, 'Gateway Timeout', 'timeout', null],
]

test('each documented error has its class, and what can be mended its repair', () => {
  for (const [status, message, expected, repair] of CASES) {
    const fault = gigachatFault(status, {}, JSON.stringify({ status, message }), 0)
    assert.deepEqual([fault.class, fault.repair, fault.status], [expected, repair, status], `${status} ${message}`)
    assert.equal(fault.detail, message)
  }
})

test('Retry-After is read, and a body that is no JSON harms nobody', () => {
  assert.equal(gigachatFault(429, { 'retry-after': '2' }, '{"status":429,"message":"x"}', 0).retryAfterMs, 2000)
  assert.equal(gigachatFault(502, {}, '<html>Bad gateway</html>', 0).class, 'server')
})
