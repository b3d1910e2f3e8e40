import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  judgeBody,
  judgeHead,
  judgeResult,
  MAX_RESULT_DEPTH,
  type Effect,
  type Judged,
} from '../../src/tools/answer.ts'

const NOW = Date.parse('2026-11-30T12:00:00.000Z')

function judged(status: number, text: string, effect: Effect = 'read', type = 'application/json'): Judged {
  const head = { status, headers: { 'content-type': type } }
  return judgeHead(head, NOW) ?? judgeBody(head, { kind: 'text', text }, effect)
}

function errorOf(answer: Judged): string {
  assert.equal(answer.kind, 'error')
  assert.ok(answer.kind === 'error')
  return answer.error
}

test('the four forms of an answer', () => {
  assert.deepEqual(judged(200, '{"status":"ok","result":{"a":[1]},"more":true}'), { kind: 'ok', result: { a: [1] } })
  assert.deepEqual(judged(201, '{"status":"error","error":"no such order"}'), { kind: 'error', error: 'no such order' })
  assert.deepEqual(judged(202, '{"status":"deferred","operation_id":"op_1"}'), {
    kind: 'deferred',
    operationId: 'op_1',
  })
  assert.deepEqual(judged(202, '{"status":"accepted"}'), { kind: 'accepted' })
})

test('ok without a result is a result of null', () => {
  assert.deepEqual(judged(200, '{"status":"ok"}'), { kind: 'ok', result: null })
  assert.deepEqual(judged(200, '{"status":"ok","result":null}'), { kind: 'ok', result: null })
  assert.deepEqual(judged(200, '{"status":"ok","result":false}'), { kind: 'ok', result: false })
})

test('a write tool must defer or fail', () => {
  assert.deepEqual(judged(200, '{"status":"ok","result":1}', 'write'), { kind: 'not_deferred' })
  assert.deepEqual(judged(200, '{"status":"accepted"}', 'write'), { kind: 'not_deferred' })
  assert.deepEqual(judged(200, '{"status":"deferred","operation_id":"op_1"}', 'write').kind, 'deferred')
  assert.deepEqual(judged(200, '{"status":"error","error":"no"}', 'write').kind, 'error')
  assert.deepEqual(judgeResult({ status: 'ok', result: 1 }, 'write'), { kind: 'not_deferred' })
  assert.deepEqual(judgeResult({ status: 'error', error: 'no' }, 'write'), { kind: 'error', error: 'no' })
})

test('a write tool that tells its 2xx in another form has an outcome nobody knows; a refusal is one', () => {
  for (const body of [
    '{"result":1}',
    '{"status":"done"}',
    '{"status":"deferred"}',
    '{"status":"error"}',
    '[1]',
    '<b>',
    '',
  ]) {
    assert.deepEqual(judged(200, body, 'write'), { kind: 'not_deferred' }, body)
  }
  const head = { status: 200, headers: {} }
  assert.deepEqual(judgeBody(head, { kind: 'too_large', maxBytes: 5 }, 'write'), { kind: 'not_deferred' })
  assert.deepEqual(judgeBody(head, { kind: 'encoded' }, 'write'), { kind: 'not_deferred' })
  assert.deepEqual(judgeBody(head, { kind: 'not_utf8' }, 'write'), { kind: 'not_deferred' })
  for (const status of [302, 400, 404, 422]) assert.equal(judged(status, '<b>', 'write').kind, 'error', `${status}`)
})

test('a read tool may defer', () => {
  assert.deepEqual(judged(200, '{"status":"deferred","operation_id":"op_1"}', 'read'), {
    kind: 'deferred',
    operationId: 'op_1',
  })
})

test('an answer that is not of the agreed form is an error that shows nothing of it', () => {
  const bodies = [
    '{"status":"done","result":"SECRET"}',
    '{"result":"SECRET"}',
    '{"status":"error"}',
    '{"status":"error","error":{"message":"SECRET"}}',
    '{"status":"error","error":""}',
    '{"status":"deferred"}',
    '{"status":"deferred","operation_id":5}',
    '{"status":"deferred","operation_id":""}',
    '["SECRET"]',
    '"SECRET"',
    'null',
    '<html>SECRET</html>',
    '{"status":"ok","result":"SECRET',
    '{"__proto__":{"status":"ok"}}',
  ]
  for (const body of bodies) {
    const error = errorOf(judged(200, body))
    assert.match(error, /^the tool's answer is not .*\(HTTP 200, application\/json\)$/, body)
    assert.equal(error.includes('SECRET'), false)
  }
  assert.match(errorOf(judged(200, '{"status":"deferred"}')), /see operation_id/)
})

test('the form decides, not the content type', () => {
  assert.deepEqual(judged(200, '{"status":"ok","result":1}', 'read', 'text/html'), { kind: 'ok', result: 1 })
})

test('of the content type only the media type is shown, and only if it is one', () => {
  assert.match(
    errorOf(judged(200, '<html>', 'read', 'text/html; charset=utf-8; token=SECRET')),
    /\(HTTP 200, text\/html\)$/,
  )
  for (const type of ['Bearer SECRET', 'text/html SECRET', `text/${'x'.repeat(100)}`, '']) {
    assert.match(errorOf(judged(200, '<html>', 'read', type)), /\(HTTP 200\)$/)
  }
})

test('TH-05: an empty answer is an error that says so', () => {
  assert.equal(errorOf(judged(204, '')), 'the tool gave an empty answer (HTTP 204)')
  assert.equal(errorOf(judged(200, ' \n')), 'the tool gave an empty answer (HTTP 200)')
})

test('TH-04: the error of a 4xx reaches the model when it has the agreed form', () => {
  assert.deepEqual(judged(422, '{"status":"error","error":"orderId must be a number"}'), {
    kind: 'error',
    error: 'orderId must be a number',
  })
  for (const body of [
    '',
    '<html>SECRET',
    '{"error":"SECRET"}',
    '{"status":"ok","result":1}',
    '{"status":"error","error":5}',
    '{"status":"deferred","operation_id":"op_1"}',
  ]) {
    assert.equal(errorOf(judged(422, body)), 'the tool answered HTTP 422')
  }
})

test('a redirect is an error that names it', () => {
  for (const status of [301, 302, 303, 307, 308, 304])
    assert.match(errorOf(judged(status, '')), /redirect \(HTTP 30\d\), which is not followed/)
})

test('408, 425, 429 and 5xx ask for another attempt; other 4xx do not', () => {
  for (const status of [408, 425, 429, 500, 502, 503, 504, 529, 599]) {
    assert.deepEqual(judgeHead({ status, headers: {} }, NOW), {
      kind: 'retry',
      error: `the tool answered HTTP ${status}`,
      retryAfterMs: null,
    })
  }
  for (const status of [400, 401, 403, 404, 409, 410, 413, 422, 451])
    assert.equal(judgeHead({ status, headers: {} }, NOW), null)
})

test('what the tool asks to wait is read', () => {
  const pause = (value: string) => {
    const answer = judgeHead({ status: 429, headers: { 'retry-after': value } }, NOW)
    return answer?.kind === 'retry' ? answer.retryAfterMs : undefined
  }
  assert.equal(pause('2'), 2000)
  assert.equal(pause('Mon, 30 Nov 2026 12:00:05 GMT'), 5000)
  assert.equal(pause('soon'), null)
})

test('bodies that cannot be read are errors', () => {
  const head = { status: 200, headers: {} }
  assert.match(errorOf(judgeBody(head, { kind: 'too_large', maxBytes: 5 }, 'read')), /larger than 5 bytes/)
  assert.match(errorOf(judgeBody(head, { kind: 'encoded' }, 'read')), /compressed/)
  assert.match(errorOf(judgeBody(head, { kind: 'not_utf8' }, 'read')), /UTF-8/)
})

test('JS-04: an answer that nests too deep is an error', () => {
  const nested = (levels: number) => `{"status":"ok","result":${'['.repeat(levels)}${']'.repeat(levels)}}`
  assert.equal(judged(200, nested(MAX_RESULT_DEPTH)).kind, 'ok')
  assert.match(errorOf(judged(200, nested(MAX_RESULT_DEPTH + 1))), /result nests deeper than 100/)
  assert.match(errorOf(judged(200, nested(200))), /nested deeper than 128/)
  assert.match(errorOf(judged(200, nested(20_000))), /nested/)
})

test('numbers keep their digits', () => {
  const answer = judged(200, '{"status":"ok","result":{"id":12345678901234567890}}')
  assert.equal(JSON.stringify(answer), '{"kind":"ok","result":{"id":12345678901234567890}}')
})
