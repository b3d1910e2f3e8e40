/**
 * Every recorded answer of a real provider, read through the feed of an attempt to every fact that is known of it: whole, byte by
 * byte, with every multi-byte character torn, in any chunks, and cut at any place. What no reading tells, and where one says
 * otherwise on purpose, is listed with its reason, and the lists are checked both ways.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { sized, WAYS } from './cuts.ts'
import { blocksOf, placesIn } from './cut-stream.ts'
import { differences, flattened, NOT_TOLD, type Difference } from './facts.ts'
import { readChunks, wireOf, type Read } from './reading.ts'
import { bytesOf, perProvider, recordings, skipped, type Recording } from './recordings.ts'

const streams = recordings.filter(({ kind }) => kind === 'stream')
const documents = recordings.filter(({ kind }) => kind === 'json')
const answers = [...streams, ...documents]

/** Where a reading says otherwise than the recording's facts, on purpose. */
const DIFFERS: readonly (readonly [file: string, fact: string, reason: string])[] = [
  [
    'openrouter/pyd-minimax-error-in-chunk.sse',
    'complete',
    'said to be complete because `[DONE]` came; an error member inside one of its chunks makes it a failed attempt',
  ],
  [
    'openai/ai-error-insufficient-quota.sse',
    'complete',
    'the error event fails the attempt at once; response.failed, which only repeats it, is not waited for',
  ],
  ['openai/ai-error-insufficient-quota.sse', 'stop_reason', 'the same'],
  [
    'openai/ai-copilot-id-rotation.sse',
    'reasoning.summary_len',
    'its reasoning came without encrypted content and cannot go back, so that the words are kept and not the item',
  ],
]

const facts = new Map(answers.map((recording) => [recording.file, flattened(recording.expected)]))

function check(recording: Recording, bytes: Buffer, read: Read): void {
  const { file } = recording
  assert.equal(read.fault, null, `${file}: unreadable`)
  const found = differences(facts.get(file) ?? {}, { ...read, wire: wireOf(bytes) }, isDeepStrictEqual)
  const onPurpose = new Set(DIFFERS.flatMap(([of, fact]) => (of === file ? [fact] : [])))
  assert.deepEqual(
    found.filter(({ fact }) => !onPurpose.has(fact)).map(quoted),
    [],
    `${file} is read otherwise than its facts say`,
  )
  for (const { fact } of found) onPurpose.delete(fact)
  assert.deepEqual([...onPurpose], [], `${file} is listed as differing, and does not`)
  const { reading } = read
  assert.equal(read.shown(), textOf(read, 'text'), `${file}: what was shown is the text`)
  assert.equal(read.thought(), textOf(read, 'reasoning'), `${file}: what was shown is the reasoning`)
  if (reading.complete && reading.rawUsage !== null && !isZero(reading.rawUsage))
    assert.equal(reading.usage?.known, 'all', `${file}: the counts of its usage`)
  if (reading.complete) assert.notEqual(read.progress, 'open', `${file}: more was waited for`)
}

function textOf({ reading }: Read, type: 'text' | 'reasoning'): string {
  return reading.parts.map((part) => (part.type === type ? part.text : '')).join('')
}

/** Programmatic tool calling reports no usage but zeros. */
function isZero(usage: object): boolean {
  return Object.values(usage).every((count) => typeof count !== 'number' || count === 0)
}

function quoted({ expected, fact, told }: Difference): string {
  return `${fact}: ${JSON.stringify(told)?.slice(0, 200)} where ${JSON.stringify(expected)?.slice(0, 200)} was recorded`
}

test('every recording is read, and nothing is listed that is not recorded', { skip: skipped }, (t) => {
  t.diagnostic(
    `read to their facts: ${perProvider(answers)}; errors classed: ${perProvider(recordings.filter(({ kind }) => kind === 'error'))}`,
  )
  const files = new Set(recordings.map(({ file }) => file))
  assert.deepEqual(
    DIFFERS.filter(([file]) => !files.has(file)),
    [],
  )
  const recorded = new Set([...facts.values()].flatMap((of) => Object.keys(of)))
  assert.deepEqual(
    Object.keys(NOT_TOLD).filter((fact) => !recorded.has(fact)),
    [],
  )
  for (const [reason, of] of Map.groupBy(Object.entries(NOT_TOLD), ([, why]) => why))
    t.diagnostic(`not told: ${of.map(([fact]) => fact).join(', ')}: ${reason}`)
  for (const [file, fact, reason] of DIFFERS) t.diagnostic(`differs: ${file}: ${fact}: ${reason}`)
})

for (const [way, cut] of WAYS) {
  test(`recorded answers are read exactly, ${way}`, { skip: skipped }, () => {
    for (const recording of answers) {
      const bytes = bytesOf(recording)
      check(recording, bytes, readChunks(recording, cut(bytes)))
    }
  })
}

test('any chunking of any recording gives the same reading', { skip: skipped }, () => {
  const small = answers.map((of) => [of, bytesOf(of)] as const).filter(([, bytes]) => bytes.length < 30_000)
  fc.assert(
    fc.property(
      fc.constantFrom(...small),
      fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1 }),
      ([recording, bytes], sizes) => check(recording, bytes, readChunks(recording, sized(bytes, sizes))),
    ),
    { numRuns: 200 },
  )
})

/** A call of a cut answer is marked as cut, or is the very call of the whole answer. */
function checkPrefix(where: string, { reading, shown, thought }: Read, whole: Read): void {
  assert.ok(whole.shown().startsWith(shown()), `${where}: text that is not the beginning of the whole`)
  assert.ok(whole.thought().startsWith(thought()), `${where}: reasoning that is not the beginning of the whole`)
  const calls = whole.reading.parts.filter((part) => part.type === 'tool_call')
  for (const part of reading.parts) {
    if (part.type !== 'tool_call' || part.fault === 'cut') continue
    assert.ok(
      calls.some((call) => call.tool === part.tool && call.argsText === part.argsText),
      `${where}: half of ${part.tool} looks whole`,
    )
  }
}

test(
  'a stream cut at any place is no answer before its end, shows a beginning and runs no half call',
  { skip: skipped },
  () => {
    for (const recording of streams) {
      const bytes = bytesOf(recording)
      const blocks = blocksOf(recording.api, bytes)
      const end = blocks.find(({ ends }) => ends)
      const whole = readChunks(recording, [bytes])
      for (const place of placesIn(bytes, blocks)) {
        const where = `${recording.file} cut at byte ${place}`
        const read = readChunks(recording, [bytes.subarray(0, place)], false)
        checkPrefix(where, read, whole)
        if (end === undefined || place <= end.from) {
          assert.equal(read.reading.complete, false, `${where}: complete before its end`)
          assert.equal(read.reading.usage?.known === 'all' && recording.api === 'openai-responses', false, where)
        } else if (place >= end.to && whole.reading.complete) {
          assert.equal(read.reading.complete, true, `${where}: not complete after its end`)
        }
      }
    }
  },
)

test('half a document is no answer', { skip: skipped }, () => {
  for (const recording of documents) {
    const bytes = bytesOf(recording)
    const half = bytes.subarray(0, Math.floor(bytes.length / 2))
    assert.equal(readChunks(recording, [half], false).reading.complete, false, recording.file)
    assert.match(readChunks(recording, [half]).fault ?? '', /no whole JSON document/, recording.file)
  }
})
