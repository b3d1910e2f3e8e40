/** What images and PDFs weigh in an estimate. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StoredMessage } from '../../src/contract/message.ts'
import { estimateInput } from '../../src/providers/estimate.ts'
import { mediaOf } from '../../src/usage/media.ts'

type Part = Extract<StoredMessage, { role: 'user' }>['content'][number]

const user = (...content: Part[]): StoredMessage => ({
  role: 'user',
  content: [{ type: 'text', text: 'Look.' }, ...content],
  created_at: '2026-11-30T10:00:00.000Z',
})
const image = (size: number): Part => ({ type: 'image', data: 'A'.repeat(size), mime_type: 'image/PNG' })
const pdf = (size: number): Part => ({ type: 'file', data: 'A'.repeat(size), mime_type: 'application/pdf' })

test('an image counts the same whatever its size, and its base64 does not count', () => {
  assert.deepEqual(
    mediaOf([user(image(4)), user(image(4_000_000))], (part) => part),
    { bytes: 4_000_004, tokens: 3_200 },
  )
  assert.deepEqual(
    mediaOf([user({ type: 'image', url: 'https://x.example/a.png', mime_type: 'image/png' })], (part) => part),
    {
      bytes: 0,
      tokens: 1_600,
    },
  )
})

test('a PDF counts by pages that are guessed from its bytes, or from nothing but its address', () => {
  assert.deepEqual(
    mediaOf([user(pdf(4))], (part) => part),
    { bytes: 4, tokens: 2_000 },
  )
  assert.deepEqual(
    mediaOf([user(pdf(80_000))], (part) => part),
    { bytes: 80_000, tokens: 2_000 },
  )
  assert.deepEqual(
    mediaOf([user(pdf(80_004))], (part) => part),
    { bytes: 80_004, tokens: 4_000 },
  )
  const byAddress: Part = { type: 'file', url: 'https://x.example/a.pdf', mime_type: 'application/pdf' }
  assert.deepEqual(
    mediaOf([user(byAddress)], (part) => part),
    { bytes: 0, tokens: 10_000 },
  )
})

test('what is not sent as it is, and text that is sent as text, counts by its bytes alone', () => {
  assert.deepEqual(
    mediaOf([user(image(400), pdf(400))], () => null),
    { bytes: 0, tokens: 0 },
  )
  const words: Part = { type: 'file', data: 'QQ==', mime_type: 'text/plain' }
  assert.deepEqual(
    mediaOf([user(words)], (part) => part),
    { bytes: 0, tokens: 0 },
  )
})

test('a request with a large image is estimated at what an image costs', () => {
  const data = 'A'.repeat(4_000_000)
  const body = JSON.stringify({ messages: [{ content: [{ type: 'image', data }] }] })
  const media = mediaOf([user(image(data.length))], (part) => part)
  assert.equal(estimateInput(body, media), Math.ceil((body.length - data.length) / 4) + 1_600)
})
