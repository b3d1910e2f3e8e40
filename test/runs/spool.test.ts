/** What is written to STATE_DIR, byte by byte: what is torn, moved, damaged or sealed with another secret, and what is read of it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { callId, runId } from '../../src/contract/ids.ts'
import { parseJson } from '../../src/contract/json.ts'
import { NO_TOKENS, type Attempt } from '../../src/contract/usage.ts'
import { openRecord, type RunRecord } from '../../src/engine/record.ts'
import { keptRequest, requestOf } from '../../src/runs/kept-request.ts'
import { createSealer } from '../../src/runs/sealer.ts'
import { newFrames, scanFrames } from '../../src/runs/spool-frames.ts'
import {
  decode,
  encode,
  progressOf,
  recordOf,
  toldAtFirst,
  type Accepted,
  type Progress,
} from '../../src/runs/spool-record.ts'
import { runRequest, tool } from '../fakes/run-request.ts'

const sealer = createSealer(['the-first-secret', 'the-other-secret'])
const id = runId('01M8NVRYK2NQ8QRWHDSXEDPFH8')
const key = { key: 'k', runId: id, fingerprint: 'f', expiresAt: 1 }

/** A file of these frames, and where each of them ends. */
function fileOf(contents: readonly string[], by = sealer) {
  const maker = newFrames(by, 'a.run')
  const parts = [maker.head, ...contents.map((content) => Buffer.concat(maker.frame(content)))]
  let end = 0
  const ends = parts.map((part) => (end += part.length))
  return { bytes: Buffer.concat(parts), ends }
}

function textsOf(bytes: Buffer, by = sealer): string[] | string {
  const scan = scanFrames(bytes, by)
  return scan.kind === 'read' ? scan.frames.map(String) : scan.kind
}

test('a file is read as it was written, with any of the secrets', () => {
  const { bytes } = fileOf(['one', 'two', ''])
  assert.deepEqual(textsOf(bytes), ['one', 'two', ''])
  assert.deepEqual(textsOf(bytes, createSealer(['a-new-secret', 'the-first-secret'])), ['one', 'two', ''])
  assert.equal(textsOf(bytes, createSealer(['a-new-secret'])), 'unreadable')
})

test('a file cut at any byte gives every frame that is whole before it, and never throws', () => {
  const { bytes, ends } = fileOf(['one', 'the second', 'three'])
  for (let length = 0; length <= bytes.length; length += 1) {
    const whole = ['one', 'the second', 'three'].slice(0, ends.slice(1).filter((end) => end <= length).length)
    assert.deepEqual(textsOf(bytes.subarray(0, length)), whole.length === 0 ? 'empty' : whole, `cut at ${length}`)
  }
})

test('a file with any byte changed gives the frames before it, or is unreadable', () => {
  const contents = ['one', 'the second', 'three']
  const { bytes, ends } = fileOf(contents)
  const [head = 0] = ends
  for (let index = 0; index < bytes.length; index += 1) {
    const damaged = Buffer.from(bytes)
    damaged.writeUInt8(damaged.readUInt8(index) ^ 0x41, index)
    const texts = textsOf(damaged)
    if (index < head) assert.equal(texts, 'unreadable')
    else if (Array.isArray(texts))
      assert.deepEqual(texts, contents.slice(0, ends.slice(1).filter((end) => end <= index).length))
    else assert.ok(index < (ends[1] ?? 0), `byte ${index}: ${texts}`)
  }
})

test('any bytes at all are read without a throw', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.boolean(), (noise, behindHead) => {
      const bytes = Buffer.concat([behindHead ? fileOf([]).bytes : Buffer.alloc(0), noise])
      assert.notEqual(scanFrames(bytes, sealer).kind, 'read')
    }),
  )
})

test('a frame cannot be moved: to another file, another place, or under another title', () => {
  const { bytes, ends } = fileOf(['one', 'two', 'six'])
  const [head = 0, first = 0, second = 0] = ends
  const renamed = Buffer.from(bytes)
  renamed.write('b', bytes.indexOf('a.run'))
  assert.equal(textsOf(renamed), 'unreadable')
  const swapped = Buffer.concat([bytes.subarray(0, head), bytes.subarray(first, second), bytes.subarray(head, first)])
  assert.equal(textsOf(swapped), 'unreadable')
  const doubled = Buffer.concat([bytes.subarray(0, first), bytes.subarray(head, first)])
  assert.deepEqual(textsOf(doubled), ['one'])
  const other = fileOf(['uno', 'dos'])
  assert.deepEqual(textsOf(Buffer.concat([bytes.subarray(0, first), other.bytes.subarray(other.ends[1])])), ['one'])
})

test('no nonce is used twice under a key: not within a file, not in another, not by whoever takes a file up again', () => {
  const one = createSealer(['the-first-secret'])
  const nonceOf = (frame: readonly Buffer[]) => Buffer.concat(frame).toString('hex', 4, 16)
  const nonces: string[] = []
  const filled = Array.from({ length: 3 }, () => {
    const maker = newFrames(one, 'a.run')
    const parts = [maker.head]
    for (let index = 0; index < 300; index += 1) {
      const frame = Buffer.concat(maker.frame('text'))
      nonces.push(nonceOf([frame]))
      parts.push(frame)
    }
    return Buffer.concat(parts)
  })
  for (const bytes of [...filled, ...filled]) {
    const scan = scanFrames(bytes, one)
    assert.ok(scan.kind === 'read')
    for (let index = 0; index < 3; index += 1) nonces.push(nonceOf(scan.maker.frame('text')))
  }
  assert.equal(new Set(nonces).size, 918)
})

test('what is sealed shows nothing of its content, and no two files the same', () => {
  const one = fileOf(['a very secret text'])
  assert.ok(!one.bytes.includes('secret'))
  assert.notDeepEqual(one.bytes, fileOf(['a very secret text']).bytes)
})

test('a key serves many files and not all of them, and each file is read whatever key it has', () => {
  const one = createSealer(['the-first-secret'])
  const files = Array.from({ length: 1025 }, () => fileOf(['text'], one).bytes)
  assert.ok(files.every((bytes) => String(textsOf(bytes)) === 'text'))
  const keySalts = files.map((bytes) => bytes.toString('hex', 8, 24))
  assert.equal(new Set(keySalts.slice(0, 1024)).size, 1)
  assert.equal(new Set(keySalts).size, 2)
  assert.equal(new Set(files.map((bytes) => bytes.toString('hex', 24, 40))).size, 1025)
})

test('a frame never passes for that of another file of the same key and name', () => {
  const one = createSealer(['the-first-secret'])
  const [left, right] = [fileOf(['one', 'two'], one), fileOf(['uno', 'dos'], one)]
  assert.deepEqual(left.bytes.subarray(8, 24), right.bytes.subarray(8, 24))
  const mixed = Buffer.concat([left.bytes.subarray(0, left.ends[1]), right.bytes.subarray(right.ends[1])])
  assert.deepEqual(textsOf(mixed), ['one'])
  const headless = Buffer.concat([left.bytes.subarray(0, left.ends[0]), right.bytes.subarray(right.ends[0])])
  assert.equal(textsOf(headless), 'unreadable')
})

test('a file that was torn goes on behind its last whole frame', () => {
  const { bytes, ends } = fileOf(['one', 'two'])
  const scan = scanFrames(bytes.subarray(0, (ends[2] ?? 0) - 1), sealer)
  assert.ok(scan.kind === 'read')
  assert.equal(scan.length, ends[1])
  const mended = Buffer.concat([bytes.subarray(0, scan.length), ...scan.maker.frame('anew')])
  assert.deepEqual(textsOf(mended), ['one', 'anew'])
})

test('digits, keys and broken surrogates of a request outlast the way to the disk', () => {
  const parsed = parseJson('{"big":12345678901234567890,"__proto__":{"x":1},"half":"\\ud83d"}')
  assert.ok(parsed.ok)
  const request = runRequest({ meta: parsed.value })
  const accepted: Accepted = { kind: 'accepted', at: 1000, key, request: keptRequest(request), warnings: [] }
  const read = decode(encode(accepted))
  assert.ok(read?.kind === 'accepted')
  assert.equal(JSON.stringify(read.request), JSON.stringify(accepted.request))
  assert.equal(JSON.stringify(read.request.meta), JSON.stringify(request.meta))
})

const attempt: Attempt = {
  step: 1,
  attempt: 1,
  provider: 'scripted',
  model: 'm',
  status: 'ok',
  ...NO_TOKENS,
  estimated: false,
  cost: null,
  http_status: 200,
  error_code: null,
  provider_request_id: null,
  queued_ms: 0,
  first_token_ms: 1,
  duration_ms: 2,
}

/** What a loop does to its record, in any order. */
const moves: readonly ((record: RunRecord) => void)[] = [
  (record) => void (record.steps += 1),
  (record) => void (record.attempting = { attempt: 1, target: 0 }),
  (record) => {
    record.attempting = null
    record.attempts.push(attempt)
  },
  (record) => void record.warnings.push({ code: 'loop_protection', message: 'm', path: null }),
  (record) =>
    void record.messages.push({
      role: 'assistant',
      content: [{ type: 'text', text: 'x' }],
      provider: null,
      model: null,
      stop_reason: 'end_turn',
      created_at: '2026-11-30T12:00:00.000Z',
      run_id: id,
      seq: record.messages.length,
    }),
  (record) => {
    const call = {
      tool: 't',
      args: {},
      argsHash: 'h',
      effect: 'read' as const,
      decision: { kind: 'send' as const },
      attempts: 0,
      outcome: null,
    }
    record.batch = {
      step: record.steps,
      calls: [
        { ...call, callId: callId('a') },
        { ...call, callId: callId('b') },
      ],
    }
  },
  (record) => {
    const call = record.batch?.calls.find(({ outcome }) => outcome === null)
    if (call !== undefined) call.attempts += 1
  },
  (record) => {
    const call = record.batch?.calls.find(({ outcome, attempts }) => outcome === null && attempts > 0)
    if (call !== undefined) call.outcome = { kind: 'not_sent', attempts: 0, durationMs: 0, resultBytes: 0 }
  },
  (record) => void (record.batch = null),
]

test('a record is the same after it was told in pieces, whenever it was told, and each piece tells only what is new', () => {
  const kept = keptRequest(runRequest({ tools: [tool('t')] }))
  const request = requestOf(kept)
  const accepted: Accepted = { kind: 'accepted', at: 1000, key, request: kept, warnings: [] }
  const move = fc.record({ move: fc.nat(moves.length - 1), commit: fc.boolean() })
  fc.assert(
    fc.property(fc.array(move, { maxLength: 40 }), (steps) => {
      const record = openRecord(id, request, [], 1000)
      const told = toldAtFirst(accepted)
      const progresses: Progress[] = []
      const commit = () => {
        const progress = progressOf(record, told)
        if (progress !== null) progresses.push(decode(encode(progress)) as Progress)
      }
      for (const step of steps) {
        moves[step.move]?.(record)
        if (step.commit) commit()
      }
      commit()
      assert.deepEqual(recordOf(id, accepted, progresses), record)
      assert.equal(progresses.flatMap(({ messages = [] }) => messages).length, record.messages.length)
      assert.equal(progressOf(record, told), null)
    }),
  )
})
