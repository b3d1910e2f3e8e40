/** Bodies of requests: read into one piece, bounded, and given back at once, however they end. */
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import fc from 'fast-check'
import { BodyBytes, readBodyBytes } from '../../src/server/body-bytes.ts'
import { JSON_HEADERS, post, startServer } from './start-server.ts'

const MB = 1_048_576

/** Memory of its own, as Node gives each piece of a body. */
const piece = (size: number, fill = 0x20) => new Uint8Array(size).fill(fill)

/** A request as it arrives, as far as its body goes. */
function arriving(length?: number) {
  const stream = new PassThrough({ highWaterMark: 64 * MB })
  const headers = length === undefined ? {} : { 'content-length': String(length) }
  return { stream, request: Object.assign(stream, { headers }) as unknown as IncomingMessage }
}

const codeOf = (error: unknown) => error as { readonly code?: string; readonly statusCode?: number }

test('whatever pieces a body comes in, its bytes are the same', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 300_000 }), { maxLength: 6 }), (pieces) => {
      const whole = Buffer.concat(pieces)
      const body = new BodyBytes(whole.length)
      for (const one of pieces) body.add(one.slice())
      assert.ok(Buffer.from(body.bytes()).equals(whole))
      body.release()
      body.release()
      assert.deepEqual([body.size, body.bytes().length], [0, 0])
    }),
    { numRuns: 50 },
  )
})

test('a piece is taken over, unless it is a part of something that others may hold', () => {
  const body = new BodyBytes(100)
  const own = piece(10, 1)
  const shared = piece(20, 2)
  body.add(own)
  body.add(shared.subarray(0, 10))
  assert.deepEqual([own.length, shared.length], [0, 20])
  assert.deepEqual([...body.bytes()], [...piece(10, 1), ...piece(10, 2)])
})

test('a body that is read, breaks off or is too large leaves nothing to be collected', async () => {
  const held = () => process.memoryUsage().arrayBuffers
  const pour = (stream: PassThrough) => {
    for (let sent = 0; sent < 20; sent += 1) stream.write(piece(MB))
  }
  const full = async (stream: PassThrough, before: number) => {
    while (stream.readableLength > 0) await new Promise(setImmediate)
    assert.ok(held() - before > 15 * MB, 'it is held as long as it is needed')
  }
  const clean = (before: number) => assert.ok(held() - before < 2 * MB, `${held() - before} bytes are held`)

  const read = arriving(20 * MB)
  let before = held()
  const whole = readBodyBytes(read.request, 32 * MB)
  pour(read.stream)
  await full(read.stream, before)
  read.stream.end()
  const body = await whole
  assert.equal(body.size, 20 * MB)
  body.release()
  clean(before)

  const broken = arriving(32 * MB)
  before = held()
  const cut = readBodyBytes(broken.request, 32 * MB)
  cut.catch(() => {})
  pour(broken.stream)
  await full(broken.stream, before)
  broken.stream.destroy(new Error('aborted'))
  await assert.rejects(cut, (error) => codeOf(error).statusCode === 400)
  clean(before)

  const large = arriving()
  before = held()
  const most = readBodyBytes(large.request, 20 * MB + 5)
  most.catch(() => {})
  pour(large.stream)
  await full(large.stream, before)
  large.stream.write(piece(6))
  await assert.rejects(most, (error) => codeOf(error).code === 'FST_ERR_CTP_BODY_TOO_LARGE')
  clean(before)
  // What still comes is read away by whoever answers.
  assert.equal(large.stream.destroyed, false)
  large.stream.destroy()
})

test('a body that is said to be too large is turned down before any of it is read', async () => {
  const { request, stream } = arriving(11)
  stream.write(piece(5))
  await assert.rejects(readBodyBytes(request, 10), (error) => codeOf(error).code === 'FST_ERR_CTP_BODY_TOO_LARGE')
  assert.equal(stream.readableLength, 5)
  stream.destroy()
})

test('a chunked body of any size up to the bound is read, and one byte more is 413', async (t) => {
  const { port, bodies, runs } = await startServer(t, { maxBodyBytes: 600_000 })
  runs.add()
  const text = (size: number) => JSON.stringify({ a: 'x'.repeat(size - 8) })
  for (const size of [9, 262_144, 262_145, 600_000]) {
    const answer = await post(port, '/runs', text(size), { ...JSON_HEADERS, 'transfer-encoding': 'chunked' })
    assert.equal(answer.status, 202, String(size))
    assert.equal(JSON.stringify(bodies.at(-1)), text(size))
  }
  const answer = await post(port, '/runs', text(600_001), { ...JSON_HEADERS, 'transfer-encoding': 'chunked' })
  assert.equal(answer.status, 413)
})
