/** How each vendor is asked for an answer that fits `output.schema`, on which steps, and what follows where it refuses. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../src/contract/json.ts'
import { builtIn } from '../../src/providers/built-in.ts'
import { builtServers, builtVendors } from '../fakes/vendors/built.ts'
import { Conversation } from '../fakes/vendors/conversation.ts'
import { assertSound } from '../fakes/vendors/sound-run.ts'
import type { Turn } from '../fakes/vendors/turn.ts'
import { sharedWorld } from '../fakes/vendors/vendor-world.ts'
import { askOf, at, error, inTurn, openQuickChain, startProvider, stream, textOf, whole } from './chain.ts'
import { dialectCall, tool, type CallFacts } from './dialect-call.ts'

const world = sharedWorld()

const FLAT: JsonObject = {
  type: 'object',
  properties: { state: { type: 'string', enum: ['shipped', 'lost'] }, days: { type: 'integer' } },
  required: ['state', 'days'],
}
const CLOSED: JsonObject = { ...FLAT, additionalProperties: false }
/** Beyond every vendor's subset, and beyond a plain root. */
const ODD: JsonObject = { oneOf: [{ ...FLAT }, { type: 'object', properties: {}, maxProperties: 0 }] }
/** Beyond every subset, with a plain root. */
const LOOSE: JsonObject = { type: 'object', properties: { state: { not: { const: 'lost' } } } }
const SENTENCE = /The final answer is one JSON value/

/** The body of a request, and whether the model is told the form in words. */
function asked(facts: CallFacts): { readonly body: JsonObject; readonly told: boolean } {
  const call = dialectCall({ system: 'Be brief.', outputSchema: FLAT, ...facts })
  const dialect = builtIn.dialect(call.profile.dialect)
  assert.ok(dialect !== null)
  const { body } = dialect.request(call)
  return { body: JSON.parse(body) as JsonObject, told: SENTENCE.test(body) }
}

const withTools: CallFacts = { tools: [tool('f')] }
const lastStep: CallFacts = { ...withTools, toolChoice: 'none' }
const openai: CallFacts = { provider: 'openai', model: 'gpt-6.2-sol' }
const claude: CallFacts = { provider: 'anthropic', model: 'claude-opus-5-5' }

test('OpenAI is asked in text.format on every step, tools or none, for it is a part of what is cached', () => {
  const format = { type: 'json_schema', name: 'answer', schema: CLOSED, strict: true }
  for (const step of [{}, withTools, lastStep]) {
    const { body, told } = asked({ ...openai, ...step })
    assert.deepEqual(body['text'], { format })
    assert.equal(told, false)
  }
})

test('a schema that OpenAI cannot compile is shown to it, and one with an odd root is told in words', () => {
  const loose = asked({ ...openai, outputSchema: LOOSE })
  assert.deepEqual(loose.body['text'], {
    format: { type: 'json_schema', name: 'answer', schema: LOOSE, strict: false },
  })
  assert.equal(loose.told, false)
  const odd = asked({ ...openai, outputSchema: ODD })
  assert.equal(odd.body['text'], undefined)
  assert.equal(odd.told, true)
})

test('Anthropic is asked in output_config beside the effort, on every step', () => {
  for (const step of [{}, withTools, lastStep]) {
    const { body, told } = asked({ ...claude, ...step, params: { thinking: 'low' } })
    assert.deepEqual(body['output_config'], { effort: 'low', format: { type: 'json_schema', schema: CLOSED } })
    assert.equal(told, false)
  }
  assert.deepEqual(asked({ ...claude, model: 'claude-haiku-4-5' }).body['output_config'], {
    format: { type: 'json_schema', schema: CLOSED },
  })
})

test('what a compiled schema cannot say is told in words beside it', () => {
  const bounded = {
    ...FLAT,
    properties: { ...(FLAT['properties'] as JsonObject), days: { type: 'integer', minimum: 0 } },
  }
  const { body, told } = asked({ ...claude, outputSchema: bounded })
  assert.deepEqual((body['output_config'] as JsonObject)['format'], { type: 'json_schema', schema: CLOSED })
  assert.equal(told, true)
  assert.match(JSON.stringify(body['system']), /minimum/)
})

test('a schema that Anthropic cannot compile is told in words alone', () => {
  const { body, told } = asked({ ...claude, outputSchema: LOOSE, params: { thinking: 'low' } })
  assert.deepEqual(body['output_config'], { effort: 'low' })
  assert.equal(told, true)
})

test('DeepSeek and GLM are asked for JSON where no tool can be called, and told the schema on every step', () => {
  for (const vendor of [
    { provider: 'deepseek', model: 'deepseek-flash' },
    { provider: 'glm', model: 'glm-5.3' },
  ] as const) {
    for (const [step, native] of [
      [{}, true],
      [withTools, false],
      [lastStep, true],
    ] as const) {
      const { body, told } = asked({ ...vendor, ...step })
      assert.deepEqual(body['response_format'], native ? { type: 'json_object' } : undefined)
      assert.equal(told, true)
    }
  }
})

test('a chat server of a known name is sent the schema where no tool can be called, and only one that it compiles', () => {
  for (const server of ['vllm', 'ollama', 'lmstudio', 'openrouter', 'mistral']) {
    const { body, told } = asked({ server })
    const json_schema = { name: 'answer', schema: CLOSED, strict: true }
    assert.deepEqual(body['response_format'], { type: 'json_schema', json_schema }, server)
    assert.equal(told, true)
    assert.equal(asked({ server, ...withTools }).body['response_format'], undefined)
    assert.equal(asked({ server, outputSchema: LOOSE }).body['response_format'], undefined)
  }
})

test('a vendor that shows the schema itself, but is not asked beside tools, is told it in words on every step', () => {
  const profile: CallFacts['profile'] = (row) => ({
    ...row,
    output: { ...row.output, form: 'json_schema', shown: true, besideTools: false },
  })
  for (const step of [{}, withTools, lastStep]) assert.equal(asked({ ...step, profile }).told, true)
})

test('GigaChat is sent a schema of its own subset where no function can be called', () => {
  const vendor = { provider: 'gigachat', model: 'GigaChat-2-Max' } as const
  const { body, told } = asked(vendor)
  assert.deepEqual(body['response_format'], { type: 'json_schema', schema: FLAT, strict: true })
  assert.equal(told, true)
  assert.equal(asked({ ...vendor, ...withTools }).body['response_format'], undefined)
  assert.equal(asked({ ...vendor, outputSchema: LOOSE }).body['response_format'], undefined)
})

test('where nothing is known of a form, the model is told in words', () => {
  for (const vendor of [
    { provider: 'kimi', model: 'kimi-k3' },
    { provider: 'minimax', model: 'MiniMax-M3' },
    { provider: 'openai-compatible', model: 'x' },
    { server: 'groq' },
  ] as const) {
    const { body, told } = asked(vendor)
    assert.equal(told, true)
    assert.doesNotMatch(JSON.stringify(body), /json_schema|json_object/)
  }
})

test('without output.schema nothing of a form is said', () => {
  for (const vendor of [openai, claude, { provider: 'deepseek', model: 'deepseek-flash' } as const]) {
    const call = dialectCall({ ...vendor, system: 'Be brief.' })
    const body = builtIn.dialect(call.profile.dialect)?.request(call).body ?? ''
    assert.doesNotMatch(body, /format|JSON value/)
  }
})

test("a caller's own field of the form is sent as it is, and the schema is told in words", () => {
  const { body, told } = asked({ ...openai, params: { extra: { text: { verbosity: 'low' } } } })
  assert.deepEqual(body['text'], { verbosity: 'low' })
  assert.equal(told, true)
})

test('what stands before the conversation is the same on a step with tools, without them and on the next turn', () => {
  const heads = (facts: CallFacts) =>
    [withTools, lastStep].map((step) => {
      const { body } = asked({ ...facts, ...step })
      const messages = (body['messages'] ?? body['input']) as readonly JsonObject[]
      return JSON.stringify([
        body['system'],
        body['text'],
        body['output_config'],
        messages.filter(({ role }) => role !== 'user'),
      ])
    })
  for (const facts of [
    openai,
    claude,
    { provider: 'kimi', model: 'kimi-k3' },
    { provider: 'deepseek', model: 'deepseek-flash' },
    { provider: 'gigachat', model: 'GigaChat-2' },
    {},
  ] as const) {
    assert.equal(new Set([...heads(facts), ...heads({ ...facts, messages: dialectCall({}).ask.messages })]).size, 1)
  }
})

// ------------------------------------------------------------------------------------------------- the vendors' word

const JSON_ANSWER = '{"state":"shipped","days":2}'
const findOrder = { tool: 'find_order', args: { id: '77' } }

for (const vendor of builtVendors) {
  test(`${vendor.provider} takes every schema as it is asked for, with tools and without`, async () => {
    for (const schema of [FLAT, CLOSED, ODD, LOOSE, withEverything()]) {
      const conversation = new Conversation(await world.open())
      conversation.user('Where is order 77?')
      const turns: Turn[] = [{ thinking: 'Look.', calls: [findOrder] }, { text: JSON_ANSWER }]
      const ran = await conversation.run(vendor.provider, turns, { output: { schema } })
      assertSound(ran, { provider: vendor.provider, turns })
      assert.deepEqual(ran.result.output, JSON.parse(JSON_ANSWER))

      conversation.user('And now, in the same form?')
      const again: Turn[] = [{ text: `${JSON_ANSWER} ` }]
      assertSound(await conversation.run(vendor.provider, again, { output: { schema } }), {
        provider: vendor.provider,
        turns: again,
      })
    }
  })

  test(`an answer of ${vendor.provider} in another form is asked again, without tools, and the vendor takes that`, async () => {
    const conversation = new Conversation(await world.open())
    conversation.user('Where is order 77?')
    const ran = await conversation.run(vendor.provider, [{ text: 'It is shipped.' }, { text: JSON_ANSWER }], {
      output: { schema: FLAT },
    })
    // The draft goes back as words alone: OpenAI's mark on it, which only costs quality, is not kept for the one request.
    assert.deepEqual(
      ran.faults.filter((fault) => !fault.includes('its phase')),
      [],
    )
    assert.deepEqual(ran.result.output, JSON.parse(JSON_ANSWER))
    assert.equal(ran.received.length, 2)
  })
}

/** One of each word that some vendor refuses. */
function withEverything(): JsonObject {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: {
      state: { type: 'string', minLength: 1, maxLength: 99, pattern: '\\bship', default: 'x' },
      days: { type: 'integer', minimum: 0, maximum: 99, multipleOf: 1 },
      more: { type: 'array', items: { type: 'string' }, minItems: 2, uniqueItems: true },
    },
    required: ['state'],
  }
}

for (const vendor of builtServers) {
  test(`a server of the profile ${vendor.profile} takes the form`, async () => {
    const conversation = new Conversation(await world.open())
    conversation.tools = []
    conversation.user('Where is order 77?')
    const { faults, result } = await conversation.run('openai-compatible', [{ text: JSON_ANSWER }], {
      ...(vendor.profile === undefined ? {} : { profile: vendor.profile }),
      output: { schema: FLAT },
    })
    assert.deepEqual(faults, [])
    assert.deepEqual(result.output, JSON.parse(JSON_ANSWER))
  })
}

test('the world of the vendors ends', () => world.close())

// -------------------------------------------------------------------------------------------------------- refusals

/** A code is as good as words here: the whole body is looked at. */
const REFUSED = "Invalid schema for response_format 'answer'"

test('a form that is refused is asked for in words, by one repeat that is remembered for the run', async (t) => {
  const { port, tap } = openQuickChain(t)
  const server = await startProvider(
    t,
    inTurn(
      (response) => error(response, 400, REFUSED),
      (response) => stream(response, whole(JSON_ANSWER)),
      (response) => stream(response, whole(JSON_ANSWER)),
    ),
  )
  const ask = askOf([at(server, { profile: 'vllm' })], { outputSchema: FLAT, giveUpAt: Infinity })
  for (const step of [1, 2]) {
    assert.equal(textOf(await port({ ...ask, step }, tap, new AbortController().signal)), JSON_ANSWER)
  }
  const bodies = server.seen.map(({ body }) => JSON.parse(body) as JsonObject)
  assert.deepEqual(
    bodies.map((body) => body['response_format'] !== undefined),
    [true, false, false],
  )
  assert.match(JSON.stringify(bodies[1]?.['messages']), SENTENCE)
  assert.deepEqual(
    tap.attempts().map(({ error_code, http_status, status }) => [status, http_status, error_code]),
    [
      ['failed', 400, 'bad_request'],
      ['ok', 200, null],
      ['ok', 200, null],
    ],
  )
})

test('a refusal that names a form which was not sent is not repeated', async (t) => {
  const { ask } = openQuickChain(t)
  const server = await startProvider(t, (response) => error(response, 400, REFUSED))
  const answer = await ask(askOf([at(server)], { outputSchema: FLAT, giveUpAt: Infinity }))
  assert.equal(answer.kind, 'failed')
  assert.equal(server.seen.length, 1)
})

test('a repair that would change nothing of a request is no repeat', async (t) => {
  const { ask } = openQuickChain(t)
  const server = await startProvider(t, (response) => error(response, 400, 'unsupported field: reasoning_content'))
  assert.equal((await ask(askOf([at(server)], { giveUpAt: Infinity }))).kind, 'failed')
  assert.equal(server.seen.length, 1)
})

test('a param that a model refuses against all that is known is left out, once and for the run, with a warning', async (t) => {
  const { port, tap } = openQuickChain(t)
  const server = await startProvider(
    t,
    inTurn(
      (response) => error(response, 400, "unsupported parameter: 'max_tokens'"),
      (response) => error(response, 422, "extra inputs: 'seed'"),
      (response) => stream(response, whole('Hi.')),
    ),
  )
  const one = at(server)
  const params = { ...one.params, max_output_tokens: 9, seed: 1, temperature: 0.5 }
  const ask = askOf([{ ...one, params }], { giveUpAt: Infinity })
  for (const step of [1, 2])
    assert.equal(textOf(await port({ ...ask, step }, tap, new AbortController().signal)), 'Hi.')
  const sent = server.seen.map(({ body }) => Object.keys(JSON.parse(body) as JsonObject))
  assert.deepEqual(
    sent.map((fields) => ['max_tokens', 'seed', 'temperature'].filter((field) => fields.includes(field))),
    [['max_tokens', 'seed', 'temperature'], ['seed', 'temperature'], ['temperature'], ['temperature']],
  )
  assert.deepEqual(
    tap.told.filter(([name]) => name === 'warn').map(([, message]) => message),
    ['max_output_tokens was refused and left out (model fake-1)', 'seed was refused and left out (model fake-1)'],
  )
})

test('an address of an image that a provider refuses is replaced by words, once and for the run, with a warning', async (t) => {
  const { port, tap } = openQuickChain(t)
  const server = await startProvider(
    t,
    inTurn(
      (response) => error(response, 400, 'failed_to_download_image'),
      (response) => stream(response, whole('Hi.')),
    ),
  )
  const url = 'https://pictures.example/a.png'
  const image = { type: 'image', url, mime_type: 'image/png' } as const
  const messages = [{ role: 'user', content: [image], created_at: '2026-11-30T12:00:00.000Z' }] as const
  const ask = askOf([at(server)], { messages, giveUpAt: Infinity })
  for (const step of [1, 2])
    assert.equal(textOf(await port({ ...ask, step }, tap, new AbortController().signal)), 'Hi.')
  assert.deepEqual(
    server.seen.map(({ body }) => body.includes(url)),
    [true, false, false],
  )
  assert.match(tap.told.map(String).join('\n'), /warn,image of type image\/png was replaced by .* send it as data/)
})

test('Kimi and LM Studio are sent no address of an image, for they fetch none', () => {
  const content = [{ type: 'image', url: 'https://pictures.example/a.png', mime_type: 'image/png' } as const]
  const messages = [{ role: 'user', content, created_at: '2026-11-30T12:00:00.000Z' }] as const
  for (const vendor of [{ provider: 'kimi', model: 'kimi-k3' }, { server: 'lmstudio' }] as const) {
    const { body } = asked({ ...vendor, messages })
    assert.doesNotMatch(JSON.stringify(body), /pictures\.example/)
    assert.match(JSON.stringify(body), /given by an address, which this model does not read/)
  }
})
