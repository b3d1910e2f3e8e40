import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signatureProblem } from '../../../examples/demo/webhook-signature.ts'
import { envelope, headersOf } from '../../../src/delivery/envelope.ts'

const NOW = Date.parse('2026-11-30T09:15:05.000Z')
const callback = { url: 'https://shop.example.com/', headers: {} }

/** As the engine signs. */
function letter(secret: string, atMs = NOW) {
  const sent = envelope('run_1', callback, '{"text":"übrig"}')
  return { headers: { ...headersOf(sent, [secret], atMs) }, body: Buffer.from(sent.body) }
}

test('what the engine signs is genuine, with a plain secret and with one in the form of the scheme', () => {
  for (const secret of ['example-callback-secret', 'whsec_c29tZSByYW5kb20gYnl0ZXM=']) {
    assert.equal(signatureProblem(letter(secret), secret, NOW), null)
  }
})

test('another body, id, time or secret is not genuine', () => {
  const secret = 'example-callback-secret'
  const { headers, body } = letter(secret)
  const forged = [
    { headers, body: Buffer.concat([body, Buffer.from(' ')]) },
    { headers: { ...headers, 'webhook-id': 'run_2' }, body },
    { headers: { ...headers, 'webhook-timestamp': String(NOW / 1000 + 1) }, body },
    { headers: { ...headers, 'webhook-signature': 'v1,' }, body },
    { headers: { ...headers, 'webhook-signature': headers['webhook-signature']?.replace('v1,', 'v2,') }, body },
  ]
  for (const one of forged) assert.equal(signatureProblem(one, secret, NOW), 'its signature is not ours')
  assert.equal(signatureProblem({ headers, body }, 'another-secret', NOW), 'its signature is not ours')
})

test('one genuine signature among several is enough: a secret is being changed', () => {
  const { headers, body } = letter('new-secret')
  const both = `v1,${Buffer.alloc(32).toString('base64')} ${headers['webhook-signature']}`
  assert.equal(signatureProblem({ headers: { ...headers, 'webhook-signature': both }, body }, 'new-secret', NOW), null)
})

test('a letter of another time, or without the headers, is refused', () => {
  const secret = 'example-callback-secret'
  const minutes = (count: number) => NOW + count * 60_000
  assert.equal(signatureProblem(letter(secret), secret, minutes(5)), null)
  for (const now of [minutes(6), minutes(-6)]) {
    assert.equal(signatureProblem(letter(secret), secret, now), 'its timestamp is not of now')
  }
  assert.equal(signatureProblem({ headers: {}, body: Buffer.from('{}') }, secret, NOW), 'it has no webhook-* headers')
})
