/** Errors of the Responses API as HTTP answers, and what repeat may help. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { responsesFault, responsesStreamFault } from '../../../src/providers/openai-responses/errors.ts'
import { providerErrorOf } from '../../../src/providers/provider-error.ts'

interface Words {
  readonly type?: string | null
  readonly code?: string | null
  readonly message?: string | null
}

function fault(status: number, error: Words) {
  return responsesFault(status, {}, JSON.stringify({ error: { param: null, ...error } }), 0)
}

function inStream(error: Words) {
  return responsesStreamFault(providerErrorOf(JSON.stringify({ error })))
}

test('RF-03: every way to be out of money is quota, never a rate', () => {
  for (const code of [
    'insufficient_quota',
    'credit_balance_exhausted',
    'organization_spend_limit_exceeded',
    'project_spend_limit_exceeded',
    'organization_usage_limit_exceeded',
  ]) {
    assert.equal(fault(429, { type: 'insufficient_quota', code, message: 'x' }).class, 'quota', code)
    assert.equal(inStream({ code, message: 'x' }).class, 'quota', code)
  }
})

test('limits and overload are told apart, in both ways an error comes', () => {
  assert.equal(fault(429, { code: 'rate_limit_exceeded', message: 'Please try again in 2s' }).class, 'rate')
  assert.equal(fault(429, { type: 'rate_limit_error', code: 'slow_down', message: 'x' }).class, 'rate')
  assert.equal(inStream({ code: 'slow_down', message: 'x' }).class, 'rate')
  const overloaded = { type: 'service_unavailable_error', code: 'server_is_overloaded', message: 'x' }
  assert.equal(fault(503, overloaded).class, 'overloaded')
  assert.equal(inStream(overloaded).class, 'overloaded')
  assert.equal(fault(500, { type: 'server_error', message: 'x' }).class, 'server')
  assert.equal(inStream({ code: 'server_error', message: 'x' }).class, 'server')
  assert.equal(inStream({ code: 'zzz_new', message: 'x' }).class, 'server')
})

test('RF-08: what cannot pass by waiting is never of a class that is tried again', () => {
  const tpm = { type: 'tokens', code: 'rate_limit_exceeded', message: 'Request too large for gpt-x in organization o' }
  assert.equal(fault(429, tpm).class, 'context_overflow')
  assert.equal(inStream(tpm).class, 'context_overflow')
  assert.equal(fault(400, { code: 'context_length_exceeded', message: 'x' }).class, 'context_overflow')
  assert.equal(inStream({ code: 'context_length_exceeded', message: 'x' }).class, 'context_overflow')
  assert.equal(fault(400, { code: 'unsupported_parameter', message: 'x' }).class, 'bad_request')
  assert.equal(fault(400, { code: 'invalid_function_parameters', message: 'x' }).class, 'bad_request')
  assert.equal(fault(400, { code: 'model_not_found', message: 'x' }).class, 'not_found')
  assert.equal(fault(401, { code: 'invalid_api_key', message: 'x' }).class, 'auth')
  assert.equal(fault(403, { code: 'unsupported_country_region_territory', message: 'x' }).class, 'auth')
})

test('policies are content; a picture that cannot be read is a bad request, also inside a stream', () => {
  for (const code of [
    'invalid_prompt',
    'bio_policy',
    'misalignment_policy_violation',
    'image_content_policy_violation',
    'content_policy_violation',
  ]) {
    assert.equal(fault(400, { code, message: 'x' }).class, 'content', code)
    assert.equal(inStream({ code, message: 'x' }).class, 'content', code)
  }
  for (const code of ['invalid_image', 'image_too_large', 'failed_to_download_image', 'data_residency_mismatch']) {
    assert.equal(fault(400, { code, message: 'x' }).class, 'bad_request', code)
    assert.equal(inStream({ code, message: 'x' }).class, 'bad_request', code)
  }
  assert.equal(inStream({ code: 'constructor', message: 'x' }).class, 'server')
})

test('HI-05, HI-18: reasoning that the provider does not take back is left out in one repeat', () => {
  const repairs = [
    { code: 'invalid_encrypted_content', message: 'x' },
    { message: 'The encrypted content gAAA...w== could not be verified. Reason: it could not be decrypted or parsed.' },
    { message: "Item 'rs_1' of type 'reasoning' was provided without its required following item." },
    { message: "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'." },
    { message: "Item 'rs_1' was provided without its required reasoning item" },
  ].map((error) => [fault(400, error).repair, inStream(error).repair])
  assert.deepEqual(new Set(repairs.flat()), new Set(['no_reasoning']))
  assert.equal(fault(400, { code: 'invalid_encrypted_content', message: 'x' }).class, 'bad_request')
})

test('RF-15: a server that does not know stream_options is asked again without; no other refusal is repaired', () => {
  const unknown = { message: "Unknown parameter: 'stream_options.include_obfuscation'." }
  assert.equal(fault(400, unknown).repair, 'no_stream_options')
  assert.equal(fault(422, unknown).repair, 'no_stream_options')
  assert.equal(fault(500, unknown).repair, null)
  assert.equal(fault(429, { message: 'invalid_encrypted_content' }).repair, null)
  assert.equal(fault(400, { message: 'No tool output found for function call call_1.' }).repair, null)
  assert.equal(fault(400, { message: "Unsupported value: 'reasoning.effort' does not support 'none'" }).repair, null)
})

test('a fault carries status, words and wait; a body may be no JSON at all', () => {
  assert.deepEqual(
    responsesFault(
      429,
      { 'retry-after-ms': '1500' },
      '{"error":{"type":"requests","code":"rate_limit_exceeded","message":"slow"}}',
      0,
    ),
    { class: 'rate', detail: 'requests rate_limit_exceeded: slow', status: 429, retryAfterMs: 1500, repair: null },
  )
  assert.equal(responsesFault(502, {}, '<html>bad gateway</html>', 0).class, 'server')
  assert.deepEqual(inStream({ message: null, code: null }).detail, 'no words at all')
})
