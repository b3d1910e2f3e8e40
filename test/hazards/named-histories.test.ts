/**
 * Named histories, word for word, as a harness posts them, at every vendor: what is refused is refused before anybody is asked, and
 * what is taken reaches the vendor in an order and a form that it has nothing against, with nothing lost and nothing twice.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../src/contract/json.ts'
import { isObject, list, text as textOf } from '../../src/providers/wire-value.ts'
import { errorOf, runBody, user } from '../conformance/engine-client.ts'
import { builtVendors } from '../fakes/vendors/built.ts'
import { Conversation } from '../fakes/vendors/conversation.ts'
import { everyVendor } from '../fakes/vendors/every-vendor.ts'
import { goesOn } from '../fakes/vendors/next-run.ts'
import type { Vendor } from '../fakes/vendors/vendor.ts'
import type { Received } from '../fakes/vendors/vendor-request.ts'
import { sharedWorld } from '../fakes/vendors/vendor-world.ts'

const world = sharedWorld()

/** One pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const text = (words: string): JsonObject => ({ type: 'text', text: words })
const call = (call_id: string, more: JsonObject = {}): JsonObject => ({
  type: 'tool_call',
  call_id,
  tool: 'find_order',
  args: { id: call_id },
  ...more,
})
const says = (...content: JsonObject[]): JsonObject => ({ role: 'assistant', content })
const answers = (call_id: string, result: JsonObject['result'] = `RESULT-${call_id}`): JsonObject => ({
  role: 'tool',
  call_id,
  tool: 'find_order',
  result: result ?? null,
})
const superseded = (call_id: string): JsonObject => ({
  role: 'tool',
  call_id,
  tool: 'find_order',
  is_error: true,
  error: 'superseded',
})

const refused: Readonly<
  Record<string, readonly [messages: readonly JsonObject[], faults: Readonly<Record<string, RegExp>>]>
> = {
  'HI-01: a call without a result': [
    [user('Where is it?'), says(call('call_1')), user('still there?')],
    { 'messages[1].content[0]': /"call_1".*before messages\[2\].*superseded/ },
  ],
  'HI-02: a result without its call': [
    [user('Where is it?'), answers('call_9'), says(text('So.')), user('And?')],
    { 'messages[1].call_id': /"call_9"/ },
  ],
  'HI-02: a result before its call': [
    [user('Where is it?'), answers('call_1'), says(call('call_1')), user('And?')],
    { 'messages[1].call_id': /"call_1"/, 'messages[2].content[0]': /"call_1".*before messages\[3\]/ },
  ],
  'HI-02: results without calls at the beginning, in the middle and at the end, several at once': [
    [answers('r1'), user('A'), says(call('c1')), answers('c1'), answers('r2'), answers('c1'), user('B'), answers('r3')],
    {
      'messages[0].call_id': /"r1"/,
      'messages[4].call_id': /"r2"/,
      'messages[5].call_id': /"c1" a second time/,
      'messages[7].call_id': /"r3"/,
    },
  ],
  'HI-14: a result behind what the user said meanwhile': [
    [user('Both.'), says(call('a'), call('b')), answers('a'), user('hurry'), answers('b')],
    { 'messages[1].content[1]': /"b".*before messages\[3\]/, 'messages[4].call_id': /"b"/ },
  ],
  'HI-16: a new question while a call is pending': [
    [user('Refund it.'), says(call('w1')), user('forget it')],
    { 'messages[1].content[0]': /"w1".*"error": "superseded"/ },
  ],
}

for (const [name, [messages, faults]] of Object.entries(refused)) {
  test(`${name} is a 400 that names it, whichever the provider, and nobody is asked`, async () => {
    await everyVendor(async ({ provider }) => {
      const { engine, live } = await world.open()
      const { key, llm } = new Conversation(await world.open()).target(provider, [{ text: 'Never.' }])
      const { details = [] } = errorOf(await engine.post(runBody({ llm, messages })), 400, 'invalid_request')
      assert.deepEqual(
        details.map(({ path }) => path),
        Object.keys(faults),
      )
      for (const { message, path } of details) assert.match(message, faults[path] ?? /^$/)
      assert.equal(live(provider)?.received(key).length, 0)
    })
  })
}

interface Taken {
  readonly messages: (vendor: Vendor) => readonly JsonObject[]
  /** Words that the vendor is sent, each once, in this order. */
  readonly sent: readonly string[]
  readonly notSent?: readonly string[]
}

/** Somebody else than this vendor. */
const writer = ({ provider }: Vendor) =>
  provider === 'glm' ? { provider: 'minimax', model: 'MiniMax-M3' } : { provider: 'glm', model: 'glm-5' }

const taken: Readonly<Record<string, Taken>> = {
  'HI-03: results of parallel calls in another order': {
    messages: () => [user('BOTH?'), says(call('a'), call('b')), answers('b'), answers('a'), user('AND?')],
    sent: ['BOTH?', 'RESULT-a', 'RESULT-b', 'AND?'],
  },
  'HI-03: four results in another order, one of them an error': {
    messages: () => [
      user('ALL?'),
      says(text('LOOKING'), ...['a', 'b', 'c', 'd'].map((id) => call(id))),
      answers('d'),
      superseded('b'),
      answers('a'),
      answers('c'),
    ],
    sent: ['ALL?', 'LOOKING', 'RESULT-a', 'superseded', 'RESULT-c', 'RESULT-d'],
  },
  'HI-04: one role twice in a row': {
    messages: () => [
      user('FIRST'),
      user('SECOND'),
      says({ type: 'reasoning', text: 'THOUGHT' }),
      says(text('LOOKING'), call('a')),
      answers('a'),
    ],
    sent: ['FIRST', 'SECOND', 'LOOKING', 'RESULT-a'],
    notSent: ['THOUGHT'],
  },
  'HI-05: a thought that another provider signed': {
    messages: (vendor) => {
      const { model, provider } = writer(vendor)
      const signed = { family: provider, type: 'thinking', signature: 'FOREIGN-SIGNATURE', field: 'reasoning_content' }
      const content = [
        { type: 'reasoning', text: 'FOREIGN-THOUGHT', provider_data: signed },
        text('LOOKING'),
        call('a', { provider_data: { family: provider, id: 'FOREIGN-ID' } }),
      ]
      return [user('WHERE?'), { ...says(...content), provider, model }, answers('a'), user('AND?')]
    },
    sent: ['WHERE?', 'LOOKING', 'RESULT-a', 'AND?'],
    notSent: ['FOREIGN-THOUGHT', 'FOREIGN-SIGNATURE', 'FOREIGN-ID'],
  },
  'HI-09: empty texts beside a call, beside a question and as a result': {
    messages: () => [
      user('WHERE?'),
      says(text(''), call('a'), text('')),
      answers('a', ''),
      { ...user(''), content: [text('  '), text('STILL?'), text('')] },
    ],
    sent: ['WHERE?', 'STILL?'],
  },
  'HI-11: one id on every turn': {
    messages: () =>
      [1, 2, 3, 4].flatMap((turn) => [user(`TURN-${turn}`), says(call('call_0')), answers('call_0', `GOT-${turn}`)]),
    sent: [1, 2, 3, 4].flatMap((turn) => [`TURN-${turn}`, `GOT-${turn}`]),
  },
  'HI-16: a pending call that was closed before the new question': {
    messages: () => [user('REFUND'), says(call('w1')), superseded('w1'), user('FORGET')],
    sent: ['REFUND', 'superseded', 'FORGET'],
  },
}

for (const [name, { messages, notSent = [], sent }] of Object.entries(taken)) {
  test(`${name}: every vendor is sent all of it, once and in order, and the conversation goes on`, async () => {
    await everyVendor(async (vendor) => {
      const conversation = new Conversation(await world.open())
      conversation.messages.push(...messages(vendor))
      const before = structuredClone(conversation.messages)
      const { faults, received, result } = await conversation.run(vendor.provider, [{ text: `Done: ${name}.` }])
      assert.deepEqual([faults, result.status, received.length], [[], 'completed', 1])
      const request = received[0]?.text ?? ''
      const places = sent.map((words) => request.indexOf(words))
      assert.ok(!places.includes(-1), `${sent[places.indexOf(-1)]} is not there`)
      assert.deepEqual(
        places,
        places.toSorted((left, right) => left - right),
      )
      for (const words of sent) assert.equal(request.split(words).length, 2, `${words} more than once`)
      for (const words of notSent) assert.ok(!request.includes(words), words)
      assert.deepEqual(conversation.messages.slice(0, before.length), before)
      await goesOn(conversation, vendor.provider)
    })
  })
}

test('HI-13: a picture three turns ago, and one inside a result, end no conversation with a model without eyes', async () => {
  await everyVendor(
    async ({ blindModel, provider }) => {
      const conversation = new Conversation(await world.open())
      conversation.user([text('LOOK'), { type: 'image', data: PNG, mime_type: 'image/png' }])
      conversation.messages.push(says(text('A dot.')))
      for (const turn of [1, 2]) {
        conversation.user(`TURN-${turn}`)
        conversation.messages.push(says(text(`Answer ${turn}.`)))
      }
      conversation.user('AND?')
      conversation.messages.push(says(call('a')), answers('a', { type: 'image', data: PNG, mime_type: 'image/png' }))
      const facts = { model: blindModel ?? '' }
      const { faults, received, result } = await conversation.run(provider, [{ text: 'I see nothing.' }], facts)
      assert.deepEqual([faults, result.status, received.length], [[], 'completed', 1])
      const request = received[0]?.text ?? ''
      // The one that stands is words inside the result: a result is JSON, and no picture.
      assert.equal(request.split(PNG).length, 2)
      assert.ok(request.indexOf('[image omitted: ') < request.indexOf('TURN-1'))
      assert.deepEqual(
        result.warnings.map(({ code, path }) => [code, path]),
        [['part_replaced', 'messages[0].content[1]']],
      )
      await goesOn(conversation, provider, facts)
    },
    builtVendors.filter(({ blindModel }) => blindModel !== null),
  )
})

const blocks = ({ body }: Received): readonly JsonObject[] =>
  list(body['messages']).flatMap((message) =>
    isObject(message) ? (list(message['content']).filter(isObject) as unknown as JsonObject[]) : [],
  )

const tamper = (part: unknown) =>
  (isObject(part) && part['type'] === 'reasoning'
    ? { ...part, text: `${textOf(part['text'])} Tampered.` }
    : part) as JsonObject

test('HI-05, HI-18: a signature that is refused is left out in one repeat, which differs, and of the rest of the run', async () => {
  const conversation = new Conversation(await world.open())
  conversation.user('Where is order 77?')
  const find = { tool: 'find_order', args: { id: '77' } }
  await conversation.run('anthropic', [
    { thinking: 'A thought to tamper with.', calls: [find] },
    { thinking: 'Another.', text: 'It is shipped, tampered.' },
  ])
  const tampered = conversation.messages.map(({ content, ...message }) => ({
    ...message,
    ...(content === undefined ? {} : { content: list(content).map(tamper) }),
  }))
  conversation.messages.splice(0, Infinity, ...tampered)
  const before = structuredClone(conversation.messages)
  conversation.user('And now?')
  const { received, result } = await conversation.run('anthropic', [
    { thinking: 'New.', calls: [find] },
    { text: 'Still shipped, untampered.' },
  ])
  assert.deepEqual(
    result.usage.attempts.map(({ error_code, step }) => [step, error_code]),
    [
      [1, 'bad_request'],
      [1, null],
      [2, null],
    ],
  )
  const thoughts = received.slice(-3).map((request) => blocks(request).filter(({ type }) => type === 'thinking').length)
  assert.deepEqual(thoughts.slice(0, 2), [2, 0])
  assert.ok(!received.at(-1)?.text.includes('Tampered.'))
  assert.equal(result.status, 'completed')
  assert.ok(result.warnings.some(({ code }) => code === 'reasoning_dropped'))
  assert.deepEqual(conversation.messages.slice(0, before.length), before)
})

test('HI-19: ids of another provider become ids that name their tools, the same on the next turn, and meet no native one', async () => {
  const conversation = new Conversation(await world.open())
  const native = (id: string) => ({ provider_data: { family: 'anthropic', id } })
  conversation.user('Where is it, and who is she?')
  conversation.messages.push(
    {
      ...says(call('call_A', native('toolu_01A')), { ...call('call_B', native('toolu_01B')), tool: 'find_client' }),
      provider: 'anthropic',
      model: 'claude-opus-5-5',
    },
    { ...answers('call_B'), tool: 'find_client' },
    answers('call_A'),
  )
  const before = structuredClone(conversation.messages)
  const ids = (request: Received | undefined) =>
    request === undefined
      ? []
      : blocks(request).flatMap(({ id, tool_use_id }) => ((id ?? tool_use_id) as string | undefined) ?? [])
  const ran = await conversation.run('kimi', [
    (answer) => {
      // Its own count begins anew: what it calls 0 is made already.
      answer.call('find_order', { id: '78' }, 'functions.find_order:0')
      answer.finish()
    },
    { text: 'Here they are.' },
  ])
  assert.deepEqual([ran.faults, ran.result.status], [[], 'completed'])
  const made = ['functions.find_order:0', 'functions.find_client:1']
  assert.deepEqual(ids(ran.received[0]), [...made, ...made])
  const second = ids(ran.received[1])
  assert.deepEqual(second.slice(0, 4), [...made, ...made])
  const [own, answered] = second.slice(4)
  assert.ok(own !== undefined && own === answered && !made.includes(own))
  conversation.user('And now?')
  const next = await conversation.run('kimi', [{ text: 'Nothing new.' }])
  assert.deepEqual([next.faults, ids(next.received[0])], [[], second])
  // The harness sees none of them.
  assert.deepEqual(conversation.messages.slice(0, before.length), before)
  for (const { call_id } of ran.result.tool_calls) assert.match(call_id, /^call_[0-9A-Z]{26}$/)
})

test('the engine and the fake vendors end with nothing under way', async () => {
  const { live } = await world.open()
  for (const { provider } of builtVendors) await live(provider)?.quiet()
  await world.close()
})
