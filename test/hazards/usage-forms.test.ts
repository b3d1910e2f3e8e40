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
/** 400 units: a hundred tokens, and surely more than a few. */
const MUCH = 'word '.repeat(80)
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
  'messages: only zeros for what was counted': {
    of: 'messages',
    play: ending({ input_tokens: 0, output_tokens: 0 }),
    known: 'partly',
    tokens: EARLY,
  },
  'messages: a zero for the input that was counted': {
    of: 'messages',
    play: ending({ input_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0, output_tokens: 31 }),
    known: 'all',
    tokens: { ...EARLY, output_tokens: 31 },
  },
  'messages: an input that makes no sense beside the output': {
    of: 'messages',
    play: ending({ input_tokens: 'x', cache_read_input_tokens: -1, output_tokens: 31 }),
    known: 'all',
    tokens: { ...EARLY, output_tokens: 31 },
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
  'chat: too early, and much said behind it': {
    of: 'chat',
    play: (answer) => {
      answer.text('It is ')
      answer.event(usageEvent({ prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 }))
      answer.text(MUCH)
      answer.finish({ usage: null })
    },
    known: 'partly',
    tokens: { input_tokens: 10 },
  },
  'chat: early, and enough for all': {
    of: 'chat',
    play: (answer) => {
      answer.text('It is ')
      answer.event(usageEvent({ prompt_tokens: 10, completion_tokens: 90, total_tokens: 100 }))
      answer.text(MUCH)
      answer.finish({ usage: null })
    },
    known: 'all',
    tokens: { input_tokens: 10, output_tokens: 90 },
  },
  'chat: half of it at the beginning, half at the end': {
    of: 'chat',
    play: (answer) => {
      answer.event(usageEvent({ prompt_tokens: 10, prompt_tokens_details: { cached_tokens: 4 } }))
      answer.text('It is shipped.')
      answer.finish({ usage: { raw: { completion_tokens: 4 } } })
    },
    known: 'all',
    tokens: { input_tokens: 6, cache_read_tokens: 4, output_tokens: 4, total_tokens: 14 },
  },
  'chat: in full, then twice with less': {
    of: 'chat',
    play: (answer) => {
      answer.text('It is shipped.')
      answer.finish({ usage: { raw: { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 } }, end: false })
      answer.event(usageEvent({ total_tokens: 13 }))
      answer.event(usageEvent({ prompt_tokens: -1, completion_tokens: null }))
      answer.event('[DONE]')
    },
    known: 'all',
    tokens: { input_tokens: 10, output_tokens: 3, total_tokens: 13 },
  },
  'chat: twice, with other figures': {
    of: 'chat',
    play: (answer) => {
      answer.text('It is shipped.')
      answer.finish({ usage: { raw: { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 } }, end: false })
      answer.event(usageEvent({ prompt_tokens: 12, completion_tokens: 4, total_tokens: 16 }))
      answer.event('[DONE]')
    },
    known: 'all',
    tokens: { input_tokens: 12, output_tokens: 4, total_tokens: 16 },
  },
  'chat: behind the end mark': {
    of: 'chat',
    play: (answer) => {
      answer.text('It is shipped.')
      answer.finish({ usage: null, end: false })
      answer.event('[DONE]')
      answer.event(usageEvent({ prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 }))
    },
    known: 'nothing',
  },
  'chat: the cached part beside the prompt, as the total says': {
    of: 'chat',
    play: ending({
      prompt_tokens: 3,
      completion_tokens: 5,
      total_tokens: 1008,
      prompt_tokens_details: { cached_tokens: 1000 },
    }),
    known: 'all',
    tokens: { input_tokens: 3, cache_read_tokens: 1000, output_tokens: 5, total_tokens: 1008 },
  },
  'chat: more reasoning than there is completion, and no total': {
    of: 'chat',
    play: ending({ prompt_tokens: 10, completion_tokens: 5, completion_tokens_details: { reasoning_tokens: 50 } }),
    known: 'all',
    tokens: { output_tokens: 55, reasoning_tokens: 50, total_tokens: 65 },
  },
  'chat: more reasoning than the total leaves room for': {
    of: 'chat',
    play: ending({
      prompt_tokens: 10,
      completion_tokens: 10,
      total_tokens: 20,
      completion_tokens_details: { reasoning_tokens: 11 },
    }),
    known: 'all',
    tokens: { output_tokens: 10, reasoning_tokens: 10, total_tokens: 20 },
  },
  'chat: figures as texts with a fraction of nothing': {
    of: 'chat',
    play: ending({ prompt_tokens: '10.0', completion_tokens: '2.0' }),
    known: 'all',
    tokens: { input_tokens: 10, output_tokens: 2, total_tokens: 12 },
  },
  'chat: beyond all sense': {
    of: 'chat',
    play: ending({ prompt_tokens: 1e15, completion_tokens: 2 }),
    known: 'nothing',
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
  'responses: the cached part beside the input, as the total says': {
    of: 'responses',
    play: ending({
      input_tokens: 3,
      input_tokens_details: { cached_tokens: 1000 },
      output_tokens: 5,
      total_tokens: 1008,
    }),
    known: 'all',
    tokens: { input_tokens: 3, cache_read_tokens: 1000, output_tokens: 5, total_tokens: 1008 },
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
  'functions: a share in each chunk': {
    of: 'functions',
    play: (answer) => {
      answer.text('It is ')
      answer.event(usageEvent({ prompt_tokens: 64, completion_tokens: 23, total_tokens: 87 }))
      answer.text('shipped.')
      answer.finish({ usage: { raw: { prompt_tokens: 0, completion_tokens: 8, total_tokens: 8 } } })
    },
    known: 'all',
    tokens: { input_tokens: 64, output_tokens: 31, total_tokens: 95 },
  },
  'functions: a running total in every chunk': {
    of: 'functions',
    play: (answer) => {
      answer.text('It is ')
      answer.event(usageEvent({ prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 }))
      answer.text('shipped.')
      answer.finish({ usage: { raw: { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 } } })
    },
    known: 'all',
    tokens: { input_tokens: 10, output_tokens: 3, total_tokens: 13 },
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

test('a running total is no count of an answer that was cut behind it: the input stands, the output is an estimate', async () => {
  const vendors = builtVendors.filter((vendor) => familyOf(vendor) !== 'responses')
  await everyVendor(async (vendor) => {
    const running = {
      messages: { type: 'message_delta', delta: {}, usage: { output_tokens: 2 } },
      functions: { choices: [], usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 } },
    }
    const family = familyOf(vendor)
    const conversation = new Conversation(await world.open())
    conversation.user('Where is order 77?')
    const { faults, result } = await conversation.run(vendor.provider, [
      (answer) => {
        answer.text('It is ')
        answer.event(JSON.stringify(family === 'messages' ? running.messages : running.functions))
        answer.text(MUCH)
        answer.cut()
      },
      { text: 'It is shipped.' },
    ])
    assert.deepEqual([faults, result.status, result.text], [[], 'completed', 'It is shipped.'])
    const [cut] = result.usage.attempts
    assert.deepEqual([cut?.status, cut?.estimated, cut?.error_code], ['unknown', true, 'interrupted'])
    assert.equal(cut?.input_tokens, family === 'messages' ? EARLY.input_tokens : 10)
    assert.ok((cut?.output_tokens ?? 0) >= MUCH.length / 4, `${cut?.output_tokens}`)
    assert.equal(result.usage.complete, false)
  }, vendors)
})

test('the engine and the fake vendors end with nothing under way', async () => {
  const { live } = await world.open()
  for (const { provider } of builtVendors) await live(provider)?.quiet()
  await world.close()
})
