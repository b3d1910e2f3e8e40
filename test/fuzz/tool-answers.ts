/** Answers of tools made wrong, through a whole call; and arguments made wrong, against schemas made wrong. */
import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import type { Egress } from '../../src/egress/egress.ts'
import { toolResultText } from '../../src/contract/tool-result-text.ts'
import type { CallOutcome } from '../../src/engine/ports.ts'
import { checkArguments } from '../../src/tools/arguments.ts'
import { callTool } from '../../src/tools/call.ts'
import { createLateResults } from '../../src/tools/late-results.ts'
import { callOrder, readTool, response } from '../tools/tool-order.ts'
import { leftOut, type Quarry } from './hunt.ts'
import { mutatedBytes, mutatedJson, type Value } from './mutate.ts'
import type { Random } from './random.ts'

export interface WrongTool {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: Buffer
  readonly effect: 'read' | 'write'
  readonly maxResultBytes: number
  readonly schema: Value
  readonly args: Value
}

const ANSWERS: readonly Value[] = [
  { status: 'ok', result: { orders: [{ id: 1, sum: '12.50', note: 'Привет 🙂' }, { id: 2 }] } },
  { status: 'ok', result: 'x'.repeat(700) },
  { status: 'ok', result: [] },
  { status: 'error', error: 'there is no such order' },
  { status: 'deferred', operation_id: 'op_1' },
]
const SCHEMAS: readonly Value[] = [
  {
    type: 'object',
    properties: { id: { type: 'integer', minimum: 1 }, name: { type: 'string', pattern: '^(a+)+$', maxLength: 9 } },
    required: ['id'],
    additionalProperties: false,
  },
  {
    type: 'object',
    properties: {
      items: { type: 'array', items: { $ref: '#/$defs/item' }, uniqueItems: true, contains: { const: 1 } },
    },
    $defs: { item: { anyOf: [{ type: 'number' }, { $ref: '#/$defs/item' }] } },
  },
  {
    type: 'object',
    unevaluatedProperties: false,
    dependentSchemas: { a: { properties: { a: { enum: [1, 'x', null] } } } },
    oneOf: [{ required: ['a'] }, { not: { minProperties: 2 } }],
    patternProperties: { '^x-': { format: 'date-time' } },
  },
]
const ARGS: readonly Value[] = [
  { id: 7, name: 'aaaa' },
  { items: [1, 1, 2, { a: 1 }] },
  { a: 'x', 'x-1': '2026-11-30T12:00:00Z' },
]
const STATUSES = [200, 200, 200, 200, 201, 204, 302, 400, 404, 408, 422, 429, 500, 599]
const ENCODINGS = ['', '', '', '', 'gzip', 'br', 'deflate', 'identity', 'x-unheard-of', 'gzip, gzip']
const TYPES = ['application/json', 'text/html', '', 'application/json; charset="', `a/${'b'.repeat(300)}`]

function make(random: Random): WrongTool {
  const answer = random.pick(ANSWERS)
  const text = Buffer.from(JSON.stringify(random.chance(0.7) ? mutatedJson(random, answer) : answer))
  const encoding = random.pick(ENCODINGS)
  const packed = encoding === 'gzip' && random.chance(0.7) ? gzipSync(text, { level: 1 }) : text
  const headers: Record<string, string> = { 'content-type': random.pick(TYPES) }
  if (encoding !== '') headers['content-encoding'] = encoding
  if (random.chance(0.2)) headers['retry-after'] = random.pick(['0', '1', '-1', '1e9', 'soon', '99999999999'])
  return {
    status: random.pick(STATUSES),
    headers,
    body: random.chance(0.3) ? mutatedBytes(random, packed) : packed,
    effect: random.chance(0.3) ? 'write' : 'read',
    maxResultBytes: random.pick([256, 257, 300, 1024, 32_768]),
    schema: mutatedJson(random, random.pick(SCHEMAS)),
    args: mutatedJson(random, random.pick(ARGS)),
  }
}

/** So short that no second attempt fits; long enough for the first, which is there at once. */
const TIMEOUT_MS = 200

async function bear(input: WrongTool): Promise<void> {
  const { body, effect, headers, maxResultBytes, status } = input
  const egress: Egress = {
    request: async () => response(status, body, headers),
    judge: () => null,
    close: async () => {},
  }
  const lateResults = createLateResults({ now: () => 0, onRecord: () => undefined })
  const parts = { egress, lateResults, resultUrl: () => 'http://127.0.0.1:1/', now: () => 0, random: () => 0.5 }
  const order = callOrder({ deadlineAt: TIMEOUT_MS, maxResultBytes }, { effect, timeout_ms: TIMEOUT_MS })
  assertSound(await callTool(parts, order, async () => undefined, new AbortController().signal), input)
  checkArgs(input)
}

const KINDS: ReadonlySet<CallOutcome['kind']> = new Set([
  'ok',
  'error',
  'deferred',
  'not_deferred',
  'unknown',
  'not_sent',
])

function assertSound(outcome: CallOutcome, { effect, maxResultBytes, status }: WrongTool): void {
  assert.ok(KINDS.has(outcome.kind), outcome.kind)
  assert.ok(outcome.attempts === 1 && outcome.durationMs >= 0 && outcome.resultBytes >= 0)
  assert.ok(outcome.kind !== 'ok' || (effect === 'read' && status < 300), 'ok where it cannot be')
  assert.ok(outcome.kind !== 'deferred' || status < 300, 'deferred with an error status')
  if (outcome.kind === 'ok') assertFits(toolResultText(outcome), maxResultBytes)
  if (outcome.kind === 'error') assertFits(toolResultText({ is_error: true, error: outcome.error }), maxResultBytes)
}

/** What the model is given is within the bound. */
function assertFits(text: string, maxBytes: number): void {
  assert.ok(text !== '' && text.isWellFormed())
  assert.ok(Buffer.byteLength(text) <= maxBytes, `${Buffer.byteLength(text)} bytes of ${maxBytes}`)
}

function checkArgs({ args, schema }: WrongTool): void {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return
  const sentences = checkArguments(readTool({ input_schema: schema }), args)
  assert.ok(sentences.every((sentence) => typeof sentence === 'string' && sentence !== '' && sentence.length < 5000))
}

export const toolAnswers: Quarry<WrongTool> = {
  name: 'answers of tools',
  make,
  bear,
  *smaller(input) {
    const { body } = input
    yield* leftOut(body.length, (from, to) => ({
      ...input,
      body: Buffer.concat([body.subarray(0, from), body.subarray(to)]),
    }))
  },
  show: ({ body, ...input }) => `${JSON.stringify(input)}\n${JSON.stringify(body.toString('latin1'))} (latin1)`,
}
