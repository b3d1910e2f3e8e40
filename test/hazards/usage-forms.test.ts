/**
 * AC-02 to AC-08: usage in every place and form in which it comes. What is told is counted once, running totals are not added up,
 * and what is not told, or makes no sense, is an estimate that says so. Every figure is a whole number.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Attempt, Tokens } from '../../src/contract/usage.ts'
import { builtVendors } from '../fakes/vendors/built.ts'
import { Conversation } from '../fakes/vendors/conversation.ts'
import { everyVendor } from '../fakes/vendors/every-vendor.ts'
import { goesOn } from '../fakes/vendors/next-run.ts'
import { TURN_USAGE } from '../fakes/vendors/turn.ts'
import type { Vendor } from '../fakes/vendors/vendor.ts'
import type { VendorAnswer } from '../fakes/vendors/vendor-answer.ts'
import { sharedWorld } from '../fakes/vendors/vendor-world.ts'

const world = sharedWorld()

type Family = 'messages' | 'chat' | 'responses' | 'functions'

function familyOf({ path, provider }: Vendor): Family {
  if (provider === 'gigachat') return 'functions'
  if (path.endsWith('/messages')) return 'messages'
  return path.endsWith('/responses') ? 'responses' : 'chat'
}

interface Form {
  readonly of: Family
  readonly play: (answer: VendorAnswer) => void
  /** `partly`: what was told stands, the rest is estimated. */
  readonly known: 'all' | 'partly' | 'nothing'
  readonly tokens?: Partial<Tokens>
}

/** Says something and ends with this usage, a value of the vendor's own form. */
const ending = (raw: unknown) => (answer: VendorAnswer) => {
  answer.text('It is shipped.')
  answer.finish({ usage: { raw } })
}
const silent = (answer: VendorAnswer) => {
  answer.text('It is shipped.')
  answer.finish({ usage: null })
}
const usageEvent = (usage: object) => JSON.stringify({ choices: [], usage })
const EARLY = {
  input_tokens: TURN_USAGE.input,
  cache_read_tokens: TURN_USAGE.cacheRead,
  cache_write_tokens: TURN_USAGE.cacheWrite,
}

const forms: Readonly<Record<string, Form>> = {
  'messages: only the output at the end': {
    of: 'messages',
    play: ending({ output_tokens: 31 }),
    known: 'all',
    tokens: { ...EARLY, output_tokens: 31 },
  },
  'messages: null beside the output': {
    of: 'messages',
    play: ending({ output_tokens: 31, input_tokens: null, cache_read_input_tokens: null }),
    known: 'all',
    tokens: { ...EARLY, output_tokens: 31 },
  },
  'messages: told twice, the second time in full': {
    of: 'messages',
    play: (answer) => {
      answer.text('It is shipped.')
      answer.event('{"type":"message_delta","delta":{},"usage":{"output_tokens":12}}')
      answer.finish({ usage: { raw: { input_tokens: 41, output_tokens: 31 } } })
    },
    known: 'all',
    tokens: { ...EARLY, input_tokens: 41, output_tokens: 31 },
  },
  'messages: the output never told': { of: 'messages', play: silent, known: 'partly', tokens: EARLY },
  'messages: an output below nothing': {
    of: 'messages',
    play: ending({ output_tokens: -5 }),
    known: 'partly',
    tokens: EARLY,
  },
  'messages: figures as texts': {
    of: 'messages',
    play: ending({
      input_tokens: '7',
      cache_read_input_tokens: '0',
      cache_creation_input_tokens: '0',
      output_tokens: '3',
    }),
    known: 'all',
    tokens: { input_tokens: 7, cache_read_tokens: 0, cache_write_tokens: 0, output_tokens: 3, total_tokens: 10 },
  },

  'chat: a running total in every chunk': {
    of: 'chat',
    play: (answer) => {
      for (const done of [1, 2, 3]) {
        answer.text('It is ')
        answer.event(usageEvent({ prompt_tokens: 10, completion_tokens: done, total_tokens: 10 + done }))
      }
      answer.finish({ usage: { raw: { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 } }, end: false })
      answer.event(usageEvent({ prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 }))
      answer.event('[DONE]')
    },
    known: 'all',
    tokens: { input_tokens: 10, output_tokens: 3, total_tokens: 13 },
  },
  'chat: behind the finish reason': {
    of: 'chat',
    play: (answer) => {
      answer.text('It is shipped.')
      answer.finish({ usage: null, end: false })
      answer.event(usageEvent({ prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 }))
      answer.event('[DONE]')
    },
    known: 'all',
    tokens: { input_tokens: 5, output_tokens: 1, total_tokens: 6 },
  },
  'chat: inside the choice': {
    of: 'chat',
    play: (answer) => {
      answer.text('It is shipped.')
      const usage = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 }
      answer.event(JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage }] }))
      answer.event('[DONE]')
    },
    known: 'all',
    tokens: { input_tokens: 7, output_tokens: 2, total_tokens: 9 },
  },
  'chat: in both places': {
    of: 'chat',
    play: (answer) => {
      answer.text('It is shipped.')
      const usage = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 }
      answer.event(JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage }], usage }))
      answer.event('[DONE]')
    },
    known: 'all',
    tokens: { input_tokens: 7, output_tokens: 2, total_tokens: 9 },
  },
  'chat: the cached part told at the top': {
    of: 'chat',
    play: ending({ prompt_tokens: 888, completion_tokens: 96, total_tokens: 984, cached_tokens: 768 }),
    known: 'all',
    tokens: { input_tokens: 120, cache_read_tokens: 768, output_tokens: 96, total_tokens: 984 },
  },
  'chat: the cached part told three times': {
    of: 'chat',
    play: ending({
      prompt_tokens: 100,
      completion_tokens: 1,
      total_tokens: 101,
      cached_tokens: 60,
      prompt_cache_hit_tokens: 60,
      prompt_cache_miss_tokens: 40,
      prompt_tokens_details: { cached_tokens: 60 },
    }),
    known: 'all',
    tokens: { input_tokens: 40, cache_read_tokens: 60, total_tokens: 101 },
  },
  'chat: more cached than there was': {
    of: 'chat',
    play: ending({ prompt_tokens: 10, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 12 } }),
    known: 'all',
    tokens: { input_tokens: 0, output_tokens: 1 },
  },
  'chat: reasoning inside the completion': {
    of: 'chat',
    play: ending({
      prompt_tokens: 10,
      completion_tokens: 1944,
      total_tokens: 1954,
      completion_tokens_details: { reasoning_tokens: 1360 },
    }),
    known: 'all',
    tokens: { output_tokens: 1944, reasoning_tokens: 1360, total_tokens: 1954 },
  },
  'chat: reasoning beside the completion': {
    of: 'chat',
    play: ending({
      prompt_tokens: 10,
      completion_tokens: 20,
      total_tokens: 80,
      completion_tokens_details: { reasoning_tokens: 50 },
    }),
    known: 'all',
    tokens: { output_tokens: 70, reasoning_tokens: 50, total_tokens: 80 },
  },
  'chat: figures as texts': {
    of: 'chat',
    play: ending({ prompt_tokens: '10', completion_tokens: '2' }),
    known: 'all',
    tokens: { input_tokens: 10, output_tokens: 2, total_tokens: 12 },
  },
  'chat: never told': { of: 'chat', play: silent, known: 'nothing' },
  'chat: null': { of: 'chat', play: ending(null), known: 'nothing' },
  'chat: only a total': { of: 'chat', play: ending({ total_tokens: 15 }), known: 'nothing' },
  'chat: only zeros': {
    of: 'chat',
    play: ending({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }),
    known: 'nothing',
  },
  'chat: below nothing': { of: 'chat', play: ending({ prompt_tokens: -3, completion_tokens: 2 }), known: 'nothing' },
  'chat: a fraction': { of: 'chat', play: ending({ prompt_tokens: 1.5, completion_tokens: 2 }), known: 'nothing' },
  'chat: no completion': {
    of: 'chat',
    play: ending({ prompt_tokens: 12 }),
    known: 'partly',
    tokens: { input_tokens: 12 },
  },

  'responses: without details': {
    of: 'responses',
    play: ending({ input_tokens: 20, output_tokens: 4, total_tokens: 24 }),
    known: 'all',
    tokens: { input_tokens: 20, output_tokens: 4, total_tokens: 24 },
  },
  'responses: read and written': {
    of: 'responses',
    play: ending({
      input_tokens: 9300,
      input_tokens_details: { cached_tokens: 8192, cache_write_tokens: 1024 },
      output_tokens: 140,
      output_tokens_details: { reasoning_tokens: 96 },
      total_tokens: 9440,
    }),
    known: 'all',
    tokens: {
      input_tokens: 84,
      cache_read_tokens: 8192,
      cache_write_tokens: 1024,
      output_tokens: 140,
      reasoning_tokens: 96,
      total_tokens: 9440,
    },
  },
  'responses: never told': { of: 'responses', play: silent, known: 'nothing' },
  'responses: no output': {
    of: 'responses',
    play: ending({ input_tokens: 12 }),
    known: 'partly',
    tokens: { input_tokens: 12 },
  },

  'functions: what was cached stands beside the prompt': {
    of: 'functions',
    play: ending({ prompt_tokens: 56, completion_tokens: 31, total_tokens: 87, precached_prompt_tokens: 3 }),
    known: 'all',
    tokens: { input_tokens: 56, cache_read_tokens: 3, output_tokens: 31, total_tokens: 90 },
  },
  'functions: never told': { of: 'functions', play: silent, known: 'nothing' },
  'functions: only zeros': {
    of: 'functions',
    play: ending({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, precached_prompt_tokens: 0 }),
    known: 'nothing',
  },
}

const COUNTS = [
  'input_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'output_tokens',
  'reasoning_tokens',
  'total_tokens',
] as const satisfies readonly (keyof Tokens)[]

function assertWholeNumbers(attempt: Attempt): void {
  for (const count of COUNTS) {
    assert.ok(Number.isSafeInteger(attempt[count]) && attempt[count] >= 0, `${count} is ${attempt[count]}`)
  }
  const { cache_read_tokens: read, cache_write_tokens: write, input_tokens: input, output_tokens: output } = attempt
  assert.equal(attempt.total_tokens, input + read + write + output)
  assert.ok(attempt.reasoning_tokens <= output)
}

for (const [name, { known, of, play, tokens = {} }] of Object.entries(forms)) {
  test(`usage of ${name}`, async () => {
    const vendors = builtVendors.filter((vendor) => familyOf(vendor) === of)
    await everyVendor(async ({ provider }) => {
      const conversation = new Conversation(await world.open())
      conversation.user('Where is order 77?')
      const { faults, result } = await conversation.run(provider, [play])
      assert.deepEqual([faults, result.status], [[], 'completed'])
      const [attempt, ...others] = result.usage.attempts
      assert.ok(attempt !== undefined && others.length === 0)
      assertWholeNumbers(attempt)
      const told = known === 'all'
      assert.deepEqual([attempt.status, attempt.estimated], told ? ['ok', false] : ['unknown', true])
      assert.equal(result.usage.complete, told)
      for (const [count, value] of Object.entries(tokens)) assert.equal(attempt[count as keyof Tokens], value, count)
      if (!told) assert.ok(attempt.output_tokens > 0, 'an estimate of what was said')
      if (known === 'nothing') assert.ok(attempt.input_tokens > 0, 'an estimate of what was asked')
      assert.equal(result.usage.total_tokens, attempt.total_tokens)
      await goesOn(conversation, provider)
    }, vendors)
  })
}

test('the engine and the fake vendors end with nothing under way', async () => {
  const { live } = await world.open()
  for (const { provider } of builtVendors) await live(provider)?.quiet()
  await world.close()
})
