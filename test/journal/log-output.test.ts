/** Log lines before a reader that is slow, stuck or gone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Writable } from 'node:stream'
import { createLogOutput } from '../../src/journal/log-output.ts'

/** A stream whose reader takes a line only when it is told to. */
function slowReader(highWaterMark = 1) {
  const taken: string[] = []
  const waiting: (() => void)[] = []
  const stream = new Writable({
    decodeStrings: false,
    highWaterMark,
    write(line: string, _encoding, done) {
      taken.push(line)
      waiting.push(done)
    },
  })
  const take = async () => {
    for (let done = waiting.shift(); done !== undefined; done = waiting.shift()) {
      done()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return { stream, taken, take }
}

test('a stuck reader delays nobody: lines wait up to a bound, and those that were lost are told once there is room', async () => {
  const { stream, taken, take } = slowReader()
  const output = createLogOutput(stream, 100)
  for (let n = 0; n < 50; n += 1) output.write(`line ${n} of ten\n`)
  assert.ok(stream.writableLength <= 120)
  const before = taken.length
  assert.equal(before, 1)
  await take()
  const kept = taken.length
  assert.ok(kept < 10)
  output.write('one more\n')
  await take()
  const told = JSON.parse(taken[kept] ?? '') as { lost: number; level: number }
  assert.deepEqual([told.lost, told.level], [50 - kept, 40])
  assert.equal(taken.at(-1), 'one more\n')
})

test('the end goes on when the last line is taken, however little waits', async () => {
  const { stream, taken, take } = slowReader(16_384)
  const output = createLogOutput(stream)
  output.write('one\n')
  output.write('two\n')
  let ended = false
  const flushed = output.flush(60_000).then(() => (ended = true))
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(ended, false)
  await take()
  await flushed
  assert.deepEqual(taken.slice(0, 2), ['one\n', 'two\n'])
})

test('the end waits for a reader that reads, and not for one that is stuck', async () => {
  const { stream, take } = slowReader()
  const output = createLogOutput(stream)
  await output.flush(60_000)
  output.write('last words\n')
  const flushed = output.flush(60_000)
  await take()
  await flushed
  output.write('nobody takes this\n')
  await output.flush(5)
})

test('a reader that has gone is no fault', async () => {
  const stream = new Writable({ write: (_line, _encoding, done) => done(new Error('EPIPE')) })
  const output = createLogOutput(stream)
  output.write('to nobody\n')
  await new Promise((resolve) => setImmediate(resolve))
  output.write('to nobody either\n')
  await output.flush(5)
})
