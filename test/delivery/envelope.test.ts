/** A callback's bytes and headers, held against the Standard Webhooks library. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { envelope, headersOf, signingKey } from '../../src/delivery/envelope.ts'

const RESULT = '{ "text":"Привет 🙂","half":"\\ud83d","n":12345678901234567890 }'
const callback = { url: 'https://harness.example/hook', headers: {} }
const letter = envelope('run_1', callback, RESULT)

test("CB-06: the body is the result's own text in an envelope, as UTF-8", () => {
  assert.equal(Buffer.from(letter.body).toString('utf8'), `{"payload":${RESULT}}`)
  assert.equal(letter.body.length, Buffer.byteLength(`{"payload":${RESULT}}`))
})

test("the engine's own headers win over the callback's, whatever their case", () => {
  const headers = {
    Authorization: 'Bearer abc',
    'X-Tenant': 't1',
    'X-ENGINE-SECRET': 'forged',
    'Webhook-Id': 'forged',
    'WEBHOOK-TIMESTAMP': 'forged',
    'webhook-signature': 'forged',
    'Content-Type': 'text/plain',
  }
  const sent = headersOf(envelope('run_1', { ...callback, headers }, RESULT), ['secret'], 1_700_000_000_999)
  assert.deepEqual(Object.keys(sent).sort(), [
    'authorization',
    'content-type',
    'webhook-id',
    'webhook-signature',
    'webhook-timestamp',
    'x-engine-secret',
    'x-tenant',
  ])
  assert.deepEqual(
    [
      sent['authorization'],
      sent['x-tenant'],
      sent['x-engine-secret'],
      sent['webhook-id'],
      sent['webhook-timestamp'],
      sent['content-type'],
    ],
    ['Bearer abc', 't1', 'secret', 'run_1', '1700000000', 'application/json; charset=utf-8'],
  )
  assert.ok(!JSON.stringify(sent).includes('forged'))
})

const base64 = Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')
for (const [name, secret, library] of [
  ['whsec_ and base64', `whsec_${base64}`, new Webhook(`whsec_${base64}`)],
  ['any other text', 'a plain secret', new Webhook('a plain secret', { format: 'raw' })],
  ['whsec_ and no base64', 'whsec_not base64!', new Webhook('whsec_not base64!', { format: 'raw' })],
] as const) {
  test(`a receiver with the Standard Webhooks library can check the signature of a secret that is ${name}`, () => {
    const sent = headersOf(letter, [secret], Date.now())
    const body = Buffer.from(letter.body).toString('utf8')
    library.verify(body, sent, { jsonParse: false })
    assert.throws(() => library.verify(`${body} `, sent, { jsonParse: false }))
    assert.throws(() => library.verify(body, { ...sent, 'webhook-id': 'run_2' }, { jsonParse: false }))
    assert.equal(sent['x-engine-secret'], secret)
  })
}

test('with several secrets each signs, and a receiver that knows any one of them takes it; the first is sent as it is', () => {
  const [old, young] = [`whsec_${base64}`, 'the-new-plain-secret']
  const sent = headersOf(letter, [old, young], Date.now())
  const body = Buffer.from(letter.body).toString('utf8')
  for (const library of [new Webhook(old), new Webhook(young, { format: 'raw' })]) {
    library.verify(body, sent, { jsonParse: false })
    assert.throws(() => library.verify(`${body} `, sent, { jsonParse: false }))
  }
  const another = new Webhook('another plain secret', { format: 'raw' })
  assert.throws(() => another.verify(body, sent, { jsonParse: false }))
  const [first, second, ...more] = (sent['webhook-signature'] ?? '').split(' ')
  assert.deepEqual(more, [])
  assert.equal(headersOf(letter, [old], Number(sent['webhook-timestamp']) * 1000)['webhook-signature'], first)
  assert.equal(headersOf(letter, [young], Number(sent['webhook-timestamp']) * 1000)['webhook-signature'], second)
  assert.equal(sent['x-engine-secret'], old)
})

test('the key of a secret that is not ASCII is its UTF-8 bytes', () => {
  assert.deepEqual(signingKey('тайна'), Buffer.from('тайна', 'utf8'))
})
