/**
 * Random histories that no run of the engine left: written by hand, by another engine, or shortened. Whatever passes the check of
 * POST /runs, every vendor takes, with nothing to say against it. The seed is told.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Faults } from '../../src/contract/check.ts'
import type { Json, JsonObject } from '../../src/contract/json.ts'
import type {
  AssistantMessage,
  AssistantPart,
  StoredMessage,
  ToolMessage,
  UserPart,
} from '../../src/contract/message.ts'
import { checkHistory } from '../../src/engine/history-rules.ts'
import { VendorWorld, vendorsOfWorld } from './vendor-runs.ts'

/** One pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const texts = fc.constantFrom(
  'Hello',
  'a',
  '',
  '  ',
  '\n',
  '\u200b',
  '\ufeff',
  '\u0000',
  '\u001c',
  '\u0085',
  '  around  ',
  'half \ud83d of it',
  '<tool_call>{"name":"x"}</tool_call>',
  '[Mon 2026-11-30 09:15 +00:00] Hi',
  '{"result":1}',
  '\u202eback',
)
const ids = fc.constantFrom(
  'call_0',
  'call_1',
  'toolu_01A',
  'functions.find_order:0',
  'functions.read:1',
  'ид-ü',
  'x y',
  '0',
  '{"}',
  '\u0000',
  'a'.repeat(200),
  `call_${'z'.repeat(60)}`,
  'fc_1|call_2',
  'chatcmpl-tool-abc',
  '__proto__',
  '\ud83d',
)
const names = fc.constantFrom(
  'read',
  'write',
  'gone.tool',
  'gone tool',
  'Ünï',
  'x.y',
  'x_y',
  '__proto__',
  'constructor',
  '1abc',
  '-a',
  'multi_tool_use.parallel',
  'parallel',
  'functions.x',
)

interface Round {
  readonly users: readonly (readonly UserPart[])[]
  readonly parts: readonly AssistantPart[]
  readonly answers: readonly Answer[]
  readonly writer: Pick<AssistantMessage, 'provider' | 'model' | 'stop_reason'>
  readonly order: number
}

const textPart = texts.map((text): UserPart & AssistantPart => ({ type: 'text', text }))

const images = fc.constantFrom('image/png', 'IMAGE/PNG', 'image/jpg', 'image/svg+xml', 'image/bmp', 'png')
const files = fc.constantFrom('application/pdf', 'text/plain; charset=utf-8', 'application/zip', 'image/png')
const userParts: fc.Arbitrary<UserPart> = fc.oneof(
  { weight: 4, arbitrary: textPart },
  { weight: 1, arbitrary: images.map((mime_type): UserPart => ({ type: 'image', data: PNG, mime_type })) },
  {
    weight: 1,
    arbitrary: files.map((mime_type): UserPart => ({ type: 'file', data: PNG, mime_type, name: 'ü \ud83d.pdf' })),
  },
)

/** Of nobody that the vendors know: what is their own goes back to them as it came. */
const foreign = fc.constantFrom(
  undefined,
  null,
  {},
  { family: 'nobody', id: 'toolu_9', signature: 'x' },
  { signature: 5 },
)

const thoughts = fc
  .tuple(texts, foreign)
  .map(([text, provider_data]): AssistantPart => ({ type: 'reasoning', text, ...stamped(provider_data) }))
const someArgs = fc.constantFrom<JsonObject>(
  {},
  { id: '77' },
  { 'order id': 1, '': [null] },
  { a: { b: ['half \ud83d'] } },
)
const calls = fc.tuple(ids, names, someArgs, foreign).map(([call_id, tool, args, provider_data]): AssistantPart => ({
  type: 'tool_call',
  call_id,
  tool,
  args,
  ...stamped(provider_data),
}))
const assistantParts: fc.Arbitrary<AssistantPart> = fc.oneof(
  { weight: 1, arbitrary: textPart },
  { weight: 1, arbitrary: thoughts },
  { weight: 3, arbitrary: calls },
)

function stamped(provider_data: JsonObject | null | undefined) {
  return provider_data === undefined ? {} : { provider_data }
}

type Answer = Pick<ToolMessage, 'result' | 'is_error' | 'error' | 'note'>
const results = fc.constantFrom<Json>(
  null,
  '',
  0,
  false,
  [],
  {},
  { a: 1 },
  'half \ud83d',
  { '\ud83d': 1 },
  'x'.repeat(5000),
)
const said = texts.filter((text) => text !== '')
const answers: fc.Arbitrary<Answer> = fc.oneof(
  { weight: 3, arbitrary: results.map((result): Answer => ({ result })) },
  { weight: 1, arbitrary: said.map((error): Answer => ({ is_error: true, error })) },
  { weight: 1, arbitrary: said.map((note): Answer => ({ result: [], note })) },
)

const rounds: fc.Arbitrary<Round> = fc.record({
  users: fc.array(fc.array(userParts, { minLength: 1, maxLength: 3 }), { maxLength: 2 }),
  parts: fc.array(assistantParts, { maxLength: 5 }),
  answers: fc.array(answers, { minLength: 5, maxLength: 5 }),
  writer: fc.constantFrom(
    {},
    { provider: 'elsewhere', model: 'unknown' },
    { provider: 'anthropic', model: 'claude-opus-5-5', stop_reason: 'cancelled' } as const,
    { provider: null, model: null, stop_reason: null },
  ),
  order: fc.nat(),
})

const LAST: StoredMessage = {
  role: 'user',
  content: [{ type: 'text', text: 'And?' }],
  created_at: '2026-11-30T09:16:00.000Z',
}

/** An id stands once in a message, and each call has its answer, in whatever order. */
function messagesOf({ answers, order, parts, users, writer }: Round): StoredMessage[] {
  const seen = new Set<string>()
  const content = parts.filter(
    (part) => part.type !== 'tool_call' || (!seen.has(part.call_id) && seen.add(part.call_id)),
  )
  const calls = content.filter((part) => part.type === 'tool_call')
  const results = calls.map(({ call_id, tool }, at): StoredMessage => ({ role: 'tool', call_id, tool, ...answers[at] }))
  const turned =
    results.length === 0 ? [] : [...results.slice(order % results.length), ...results.slice(0, order % results.length)]
  return [
    ...users.map((one): StoredMessage => ({ role: 'user', content: one, created_at: '2026-11-30T09:15:01.870Z' })),
    ...(content.length === 0 ? [] : [{ role: 'assistant' as const, content, ...writer }]),
    ...turned,
  ]
}

test('whatever history passes the check, every vendor takes', (t) => {
  const seed = Math.floor(Math.random() * 2 ** 31)
  t.diagnostic(`seed ${seed}`)
  const world = new VendorWorld()
  let taken = 0
  try {
    fc.assert(
      fc.property(fc.array(rounds, { minLength: 1, maxLength: 5 }), (drawn) => {
        const history = drawn.flatMap(messagesOf)
        if (history.at(-1)?.role === 'assistant') history.push(LAST)
        const faults = new Faults()
        checkHistory(history, faults)
        if (faults.list.length > 0) return
        taken += 1
        for (const vendor of vendorsOfWorld) {
          assert.equal(world.refusalOf(vendor, history), '', vendor.profile ?? vendor.provider)
        }
      }),
      { seed, numRuns: 600 },
    )
  } finally {
    world.close()
  }
  t.diagnostic(`${taken} histories`)
  assert.ok(taken > 100, `only ${taken} were histories`)
})
