/** Every recorded error body of a real provider: what it is classed as, what repeat it allows, and what of it is told. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FaultClass, ProviderFault, Repair } from '../../src/providers/dialect.ts'
import { providerErrorOf } from '../../src/providers/provider-error.ts'
import { text } from '../../src/providers/wire-value.ts'
import { dialectOf, readChunks } from './reading.ts'
import { bytesOf, callOf, recordings, skipped, type Recording } from './recordings.ts'

const errors = recordings.filter(({ kind }) => kind === 'error')

/** The class of each, and what one repeat may leave out. */
const CLASSES: Readonly<Record<string, FaultClass | readonly [FaultClass, Repair]>> = {
  'anthropic/err-400-effort.json': 'bad_request',
  'anthropic/err-404-model.json': 'not_found',
  'anthropic/err-429-prompt-bytes.json': 'rate',
  'anthropic/err-529-overloaded.json': 'overloaded',
  'deepseek/err-400-content-risk.json': 'content',
  'deepseek/err-400-interleaved.json': 'bad_request',
  'deepseek/err-400-reasoning-content.json': ['bad_request', 'no_thinking'],
  'deepseek/err-400-thinking-anthropic.json': 'bad_request',
  'deepseek/err-402-balance.json': 'quota',
  'gigachat/err-404-model.json': 'not_found',
  'groq/err-400-tool-required.json': 'malformed',
  'groq/err-400-tool-use-failed.json': 'malformed',
  'groq/err-404-model.json': 'not_found',
  'kimi/err-403-quota.json': 'quota',
  'kimi/err-429-overloaded.json': 'overloaded',
  'kimi/err-429-rate-limit.json': 'rate',
  'kimi/err-429-tpm-anthropic.json': 'rate',
  'minimax/err-200-login-fail.json': 'auth',
  'minimax/err-400-chat-setting.json': 'bad_request',
  'minimax/err-429-balance.json': 'quota',
  'openai/err-400-context-length.json': 'context_overflow',
  'openai/err-400-max-tokens-param.json': ['bad_request', 'other_max_tokens'],
  'openai/err-400-model-responses.json': 'not_found',
  'openai/err-400-reasoning-item.json': ['bad_request', 'no_reasoning'],
  'openai/err-400-temperature.json': ['bad_request', 'drop_temperature'],
  'openai/err-400-web-search.json': 'bad_request',
  'openai/err-404-model-chat.json': 'not_found',
  'openai/err-429-quota.json': 'quota',
  'openrouter/err-429-upstream.json': 'rate',
  'zai/err-429-1302-zh.json': 'rate',
  'zai/err-429-1302.json': 'rate',
}

/** An error that came as HTTP 200 is met by the reader, where an answer was waited for. */
function faultOf(recording: Recording): ProviderFault {
  const { expected, headers } = recording
  const status = Number(expected['http_status'])
  const body = bytesOf(recording)
  if (status >= 300) return dialectOf(callOf(recording)).fault(status, headers ?? {}, body.toString('utf8'), 0)
  const { reading } = readChunks(recording, [body])
  assert.equal(reading.complete, false, recording.file)
  assert.ok(reading.fault, recording.file)
  return reading.fault
}

test('recorded error bodies are classed by what they say', { skip: skipped }, () => {
  assert.deepEqual(errors.map(({ file }) => file).toSorted(), Object.keys(CLASSES).toSorted())
  for (const recording of errors) {
    const fault = faultOf(recording)
    const expected = CLASSES[recording.file]
    assert.deepEqual(fault.repair === null ? fault.class : [fault.class, fault.repair], expected, recording.file)
    assert.ok(fault.detail.length > 0 && fault.detail.length <= 500, recording.file)
    assert.equal(fault.status, recording.expected['http_status'] === 200 ? null : recording.expected['http_status'])
  }
})

/** Facts that no fault tells: which field was wrong is in the message, and the id of the exchange is in its headers. */
const NOT_TOLD = ['valid_json', 'http_status', 'param', 'request_id_in_body']

/** GigaChat's code is the HTTP status again. */
const REPEATS_STATUS = 'gigachat/err-404-model.json'

test('the type, code and message of a recorded error body are found', { skip: skipped }, () => {
  for (const recording of errors) {
    const { expected, file } = recording
    const { code, message, minimaxCode, type } = providerErrorOf(bytesOf(recording).toString('utf8'))
    const { error_code, error_type, message: said, ...rest } = expected
    assert.deepEqual(
      Object.keys(rest).filter((fact) => !NOT_TOLD.includes(fact)),
      [],
      file,
    )
    assert.equal(type, error_type ?? '', file)
    assert.ok(message.startsWith(text(said)), file)
    if (file !== REPEATS_STATUS) assert.ok([code, minimaxCode].includes(text(error_code)), file)
  }
})
