import assert from 'node:assert/strict'
import { test } from 'node:test'
import zlib from 'node:zlib'
import { BodyBroken } from '../../src/egress/body.ts'
import type { EgressResponse } from '../../src/egress/egress.ts'
import { readBody, type ReadBody } from '../../src/tools/read-body.ts'

class Watched implements EgressResponse {
  readonly status = 200
  /** Bytes that were asked for. */
  taken = 0
  /** The reader left before the end, or destroyed. */
  left = false
  readonly headers: Record<string, string>
  readonly body: AsyncIterable<Uint8Array>

  constructor(chunks: Iterable<Uint8Array>, headers: Record<string, string> = {}) {
    this.headers = headers
    this.body = this.#read(chunks)
  }

  async *#read(chunks: Iterable<Uint8Array>) {
    this.left = true
    for (const chunk of chunks) {
      this.taken += chunk.length
      yield chunk
    }
    this.left = false
  }

  destroy(): void {
    this.left = true
  }
}

function* endless(): Iterable<Uint8Array> {
  for (;;) yield new Uint8Array(1000)
}

function read(bytes: Uint8Array, encoding: string, maxBytes = 1000): Promise<ReadBody> {
  return readBody(new Watched([bytes], { 'content-encoding': encoding }), maxBytes)
}

test('chunks become one text, characters may be split between them', async () => {
  const bytes = Buffer.from('\ufeffжук 🙂')
  const chunks = Array.from(bytes, (byte) => Uint8Array.of(byte))
  assert.deepEqual(await readBody(new Watched(chunks), 100), { kind: 'text', text: 'жук 🙂' })
})

test('TH-09: the cap is exact, and reading stops at it', async () => {
  assert.equal((await readBody(new Watched([new Uint8Array(600), new Uint8Array(400)]), 1000)).kind, 'text')
  assert.deepEqual(await readBody(new Watched([new Uint8Array(600), new Uint8Array(401)]), 1000), {
    kind: 'too_large',
    maxBytes: 1000,
  })
  const response = new Watched(endless())
  assert.deepEqual(await readBody(response, 5000), { kind: 'too_large', maxBytes: 5000 })
  assert.equal(response.taken, 6000)
  assert.equal(response.left, true)
})

test('one known encoding is read though none was asked for', async () => {
  const text = Buffer.from('{"status":"ok"}')
  assert.deepEqual(await read(zlib.gzipSync(text), 'gzip'), { kind: 'text', text: '{"status":"ok"}' })
  assert.deepEqual(await read(zlib.gzipSync(text), ' X-GZIP '), { kind: 'text', text: '{"status":"ok"}' })
  assert.deepEqual(await read(zlib.deflateSync(text), 'deflate'), { kind: 'text', text: '{"status":"ok"}' })
  assert.deepEqual(await read(zlib.brotliCompressSync(text), 'br'), { kind: 'text', text: '{"status":"ok"}' })
  assert.deepEqual(await read(text, 'identity'), { kind: 'text', text: '{"status":"ok"}' })
  assert.deepEqual(await read(new Uint8Array(0), 'gzip'), { kind: 'text', text: '' })
  // Said for nothing, it changes nothing.
  assert.deepEqual(await read(text, 'identity, identity'), { kind: 'text', text: '{"status":"ok"}' })
  assert.deepEqual(await read(zlib.gzipSync(text), 'gzip, identity'), { kind: 'text', text: '{"status":"ok"}' })
})

test('TH-08: the cap counts what comes out of the encoding, to the byte', async () => {
  assert.equal((await read(zlib.gzipSync(Buffer.alloc(1000, 0x20)), 'gzip')).kind, 'text')
  for (const [encoding, pack] of [
    ['gzip', zlib.gzipSync],
    ['br', zlib.brotliCompressSync],
    ['deflate', zlib.deflateSync],
  ] as const) {
    assert.deepEqual(await read(pack(Buffer.alloc(1001, 0x20)), encoding), { kind: 'too_large', maxBytes: 1000 })
    assert.deepEqual(await read(pack(Buffer.alloc(10_000_000, 0x20)), encoding, 100_000), {
      kind: 'too_large',
      maxBytes: 100_000,
    })
  }
})

test('TH-08: nested and unknown encodings are refused unread', async () => {
  for (const encoding of ['gzip, gzip', 'gzip,br', 'zstd', 'compress', 'constructor']) {
    const response = new Watched(endless(), { 'content-encoding': encoding })
    assert.deepEqual(await readBody(response, 1000), { kind: 'encoded' })
    assert.deepEqual([response.taken, response.left], [0, true])
  }
})

test('bytes that are not in the encoding they claim are refused', async () => {
  assert.deepEqual(await read(Buffer.from('{"status":"ok"}'), 'gzip'), { kind: 'encoded' })
  assert.deepEqual(await read(zlib.gzipSync(Buffer.alloc(500, 1)).subarray(0, 15), 'gzip'), { kind: 'encoded' })
})

test('a text that is not UTF-8 is refused', async () => {
  assert.deepEqual(await readBody(new Watched([Uint8Array.of(0x22, 0xff, 0x22)]), 1000), { kind: 'not_utf8' })
})

test('a body that breaks off tells how', async () => {
  const fault = { kind: 'reset', message: 'the connection to h broke off' } as const
  const breaking = async function* () {
    yield new Uint8Array(5)
    throw new BodyBroken(fault)
  }
  const response = { status: 200, headers: {}, body: breaking(), destroy: () => {} }
  assert.deepEqual(await readBody(response, 1000), { kind: 'broken', fault })
})
