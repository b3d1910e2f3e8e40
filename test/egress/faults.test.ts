/** Errors of Node and undici by table, and that none of their own words get out. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errors } from 'undici'
import type { Fault } from '../../src/egress/egress.ts'
import { connectFailure, exchangeFault, type Phase, refused } from '../../src/egress/faults.ts'

const coded = (code: unknown) => Object.assign(new Error('SECRET words of the error'), { code })

const connecting: [phase: Phase, code: string, kind: Fault['kind']][] = [
  ['dns', 'ENOTFOUND', 'dns'],
  ['dns', 'EAI_AGAIN', 'dns'],
  ['connect', 'ECONNREFUSED', 'connect'],
  ['connect', 'EHOSTUNREACH', 'connect'],
  ['connect', 'EADDRNOTAVAIL', 'connect'],
  ['connect', 'ETIMEDOUT', 'timeout'],
  ['connect', 'ECONNRESET', 'reset'],
  ['proxy', 'ECONNREFUSED', 'connect'],
  ['proxy', 'ENOTFOUND', 'connect'],
  ['proxy', 'ETIMEDOUT', 'timeout'],
  ['proxy', 'ECONNRESET', 'reset'],
  ['tls', 'CERT_HAS_EXPIRED', 'tls'],
  ['tls', 'ERR_TLS_CERT_ALTNAME_INVALID', 'tls'],
  ['tls', 'ERR_SSL_WRONG_VERSION_NUMBER', 'tls'],
  ['tls', 'EPROTO', 'tls'],
  ['tls', 'ECONNRESET', 'reset'],
  ['tls', 'ETIMEDOUT', 'timeout'],
]

for (const [phase, code, kind] of connecting) {
  test(`${code} in phase ${phase} is a ${kind} fault that names host and code`, () => {
    const { answer } = connectFailure(coded(code), phase, 'h.example')
    assert.ok(answer.kind === 'fault')
    assert.equal(answer.fault.kind, kind)
    assert.match(answer.fault.message, /h\.example/)
    assert.match(answer.fault.message, new RegExp(`\\(${code}\\)$`))
    assert.equal(answer.fault.message.includes('proxy'), phase === 'proxy')
    assert.doesNotMatch(answer.fault.message, /SECRET/)
  })
}

const exchanging: [error: Error, kind: Fault['kind']][] = [
  [coded('ECONNRESET'), 'reset'],
  [coded('EPIPE'), 'reset'],
  [coded('ETIMEDOUT'), 'timeout'],
  [coded('ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC'), 'tls'],
  [coded('EPROTO'), 'tls'],
  [coded('HPE_INVALID_CONSTANT'), 'protocol'],
  [coded('HPE_INVALID_EOF_STATE'), 'reset'],
  [new errors.SocketError('SECRET'), 'reset'],
  [new errors.ResponseContentLengthMismatchError('SECRET'), 'reset'],
  [new errors.HeadersOverflowError('SECRET'), 'protocol'],
  [new errors.InvalidArgumentError('SECRET'), 'protocol'],
  [new errors.RequestAbortedError('SECRET'), 'aborted'],
  [new errors.ClientDestroyedError('SECRET'), 'aborted'],
  [new errors.ClientClosedError('SECRET'), 'aborted'],
  [new TypeError('SECRET'), 'protocol'],
]

for (const [error, kind] of exchanging) {
  const code = 'code' in error ? String(error.code) : error.name
  test(`${code} after the connection stood is a ${kind} fault without the error's own words`, () => {
    const fault = exchangeFault(error, 'h.example')
    assert.equal(fault.kind, kind)
    assert.match(fault.message, /h\.example/)
    assert.doesNotMatch(fault.message, /SECRET/)
  })
}

test('what is no error, or has no proper code, still makes a fault', () => {
  for (const error of [undefined, null, 'SECRET', 0, coded(7), coded('SECRET code'), coded('secret')]) {
    const fault = exchangeFault(error, 'h.example')
    assert.equal(fault.kind, 'protocol')
    assert.doesNotMatch(fault.message, /secret/i)
    assert.equal(connectFailure(error, 'tls', 'h.example').message, 'no trusted TLS connection to h.example')
  }
})

test('a refusal made below stays a refusal', () => {
  const refusal = refused('address_blocked', 'h.example')
  assert.equal(connectFailure(refusal, 'connect', 'h.example'), refusal)
})
