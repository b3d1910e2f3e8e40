/**
 * SPEC §2.7: what is listed as changed, held against the very request that is shown, for histories of every vendor on their way
 * to every other: what is listed happens, and nothing else of its kind does.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { JsonObject } from '../src/contract/json.ts'
import { profileFor } from '../src/providers/profile.ts'
import { text as word } from '../src/providers/wire-value.ts'
import {
  assistant,
  body,
  called,
  elementsOf,
  pathsOf,
  result,
  shown,
  thought,
  user,
  validate,
  type Shown,
} from './validation-parts.ts'
import { cpuMs } from './cpu-time.ts'

const MODELS: readonly JsonObject[] = [
  { provider: 'anthropic', model: 'claude-opus-5-5' },
  { provider: 'openai', model: 'gpt-5.5' },
  { provider: 'deepseek', model: 'deepseek-chat' },
  { provider: 'glm', model: 'glm-5' },
  { provider: 'kimi', model: 'kimi-k3' },
  { provider: 'minimax', model: 'MiniMax-M3' },
  { provider: 'gigachat', model: 'GigaChat-3' },
  { provider: 'openai-compatible', model: 'some-model' },
  { provider: 'openai-compatible', model: 'mistral-large', profile: 'mistral', api_key: 'KEY-x' },
  { provider: 'openai-compatible', model: 'some-model', profile: 'openrouter', api_key: 'KEY-x' },
  { provider: 'scripted', model: 'play' },
]

/** Thoughts as a family may leave them, one form a message; `n` tells one from the other. */
const FORMS: readonly ((family: string, n: string) => JsonObject)[] = [
  (family, n) =>
    thought(`THOUGHT ${n}`, { family, type: 'thinking', signature: `SIG ${n}`, field: 'reasoning_content' }),
  (family, n) => thought(`THOUGHT ${n}`, { family, type: 'thinking', signature: '', field: 'content' }),
  (family, n) => thought('', { family, type: 'redacted_thinking', data: `DATA ${n}` }),
  (family, n) =>
    thought('', { family, item: { type: 'reasoning', id: n, summary: [], encrypted_content: `ENCRYPTED ${n}` } }),
  (family, n) => thought(`THOUGHT ${n}`, { family, field: 'tags', item: null }),
  (family, n) => thought(`THOUGHT ${n}`, { family, details: [{ type: 'reasoning.text', text: `THOUGHT ${n}` }] }),
  (_family, n) => thought(`THOUGHT ${n}`, {}),
]

/** The model that left a thought, and the stamp of its family. */
function writerOf(seed: number): { readonly model: string; readonly family: string } {
  const { model, profile, provider } = MODELS[seed % MODELS.length] as { [name: string]: string }
  const family = profileFor({ provider, model, profile: profile ?? null } as Parameters<typeof profileFor>[0]).family
  return { model: model ?? '', family }
}

const PNG: JsonObject = { type: 'image', data: 'aGVsbG8=', mime_type: 'image/png' }
const PDF: JsonObject = { type: 'file', data: 'aGVsbG8=', mime_type: 'application/pdf' }

/** A history whose every word, id and argument is its own. */
interface Round {
  readonly texts: readonly ('said' | 'blank' | 'empty' | 'image' | 'file')[]
  readonly again: boolean
  readonly answer: readonly ('said' | 'blank' | 'empty' | 'thought' | 'call' | 'odd call')[]
  readonly order: boolean
  readonly twice: boolean
}

const roundOf: fc.Arbitrary<Round> = fc.record({
  texts: fc.array(fc.constantFrom('said', 'blank', 'empty', 'image', 'file'), { maxLength: 3 }),
  again: fc.boolean(),
  answer: fc.array(fc.constantFrom('said', 'blank', 'empty', 'thought', 'thought', 'call', 'odd call'), {
    maxLength: 5,
  }),
  order: fc.boolean(),
  twice: fc.boolean(),
})

function historyOf(rounds: readonly Round[], models: readonly number[]): JsonObject[] {
  let made = 0
  const next = () => `no${(made += 1)}.`
  return rounds.flatMap((round, at): JsonObject[] => {
    const seed = models[at % models.length] ?? 0
    const { family, model } = writerOf(seed)
    const parts = round.answer.map((part) => answerPart(part, { family, form: seed >> 4 }, next()))
    const own = { model }
    const users = [user(`ASKED ${next()}`, ...round.texts.map((text) => userPart(text, next())))]
    if (round.again) users.push(user(`AGAIN ${next()}`))
    if (!parts.some(({ text, type }) => type !== 'text' || word(text).trim() !== '')) return users
    const calls = parts.filter(({ type }) => type === 'tool_call')
    const results = calls.map(({ call_id, tool }) => result(word(call_id), word(tool)))
    const answers = [assistant(own, ...parts)]
    if (calls.length === 0 && round.twice) answers.push(assistant(own, `TWICE ${next()}`))
    return [...users, ...answers, ...(round.order ? results : results.toReversed())]
  })
}

function userPart(kind: Round['texts'][number], n: string): string | JsonObject {
  const parts = { said: `SAID ${n}`, blank: ' \n', empty: '', image: PNG, file: PDF }
  return parts[kind]
}

function answerPart(
  kind: Round['answer'][number],
  { family, form }: { readonly family: string; readonly form: number },
  n: string,
): JsonObject {
  switch (kind) {
    case 'thought':
      return FORMS[form % FORMS.length]?.(family, n) ?? {}
    case 'call':
      return called(`call_${n.replace('.', '')}`, 'find_order', {
        provider_data: { family, id: `toolu_${n.replace('.', '')}` },
      })
    case 'odd call':
      return called(`odd ${n}`, 'an odd name', { provider_data: { family: 'kimi', id: `functions.f:${n}` } })
    default:
      return { type: 'text', text: kind === 'said' ? `SAID ${n}` : kind === 'blank' ? ' ' : '' }
  }
}

const historyArbitrary = fc
  .tuple(fc.array(roundOf, { minLength: 1, maxLength: 4 }), fc.array(fc.nat({ max: 255 }), { minLength: 1 }))
  .map(([rounds, models]) => [...historyOf(rounds, models), user('LAST')])

function contentOf(message: JsonObject | undefined): readonly JsonObject[] {
  return (message?.['content'] ?? []) as readonly JsonObject[]
}

/** The history without one part of one message. */
function withoutPart(messages: readonly JsonObject[], index: number, place: number): JsonObject[] {
  return messages.map((message, at) =>
    at === index ? { ...message, content: contentOf(message).filter((_part, one) => one !== place) } : message,
  )
}

test('a thought or a blank text is listed as dropped exactly where the request would be the same without it', () => {
  fc.assert(
    fc.property(historyArbitrary, fc.constantFrom(...MODELS), (messages, llm) => {
      const answer = shown(body(llm, messages))
      const listed = new Set(pathsOf(answer, 'reasoning_dropped', 'text_dropped'))
      for (const [index, message] of messages.entries()) {
        for (const [place, { text, type }] of message['role'] === 'tool' ? [] : contentOf(message).entries()) {
          const path = `messages[${index}].content[${place}]`
          if (type !== 'reasoning' && (type !== 'text' || word(text).trim() !== '')) {
            assert.equal(listed.has(path), false, path)
            continue
          }
          const left = withoutPart(messages, index, place)
          const rest = contentOf(left[index])
          // Nothing may be left empty: then the message goes as a whole, and is told of so.
          if (!rest.some((part) => part['type'] !== 'text' || word(part['text']).trim() !== '')) continue
          const same = JSON.stringify(shown(body(llm, left)).request.body) === JSON.stringify(answer.request.body)
          assert.equal(listed.has(path), same, `${path} of ${JSON.stringify(message)} at ${word(llm['provider'])}`)
        }
      }
    }),
    { numRuns: 300 },
  )
})

test('what concerns the history is listed in its order', () => {
  fc.assert(
    fc.property(historyArbitrary, fc.constantFrom(...MODELS), (messages, llm) => {
      const indexes = shown(body(llm, messages)).changes.flatMap(({ path }) => /^messages\[(\d+)/.exec(path)?.[1] ?? [])
      const numbers = indexes.map(Number)
      assert.deepEqual(
        numbers,
        numbers.toSorted((one, other) => one - other),
      )
    }),
  )
})

test('what is listed of calls and results is what the request holds', () => {
  fc.assert(
    fc.property(historyArbitrary, fc.constantFrom(...MODELS), (messages, llm) => {
      const answer = shown(body(llm, messages))
      const sent = JSON.stringify(answer.request.body)
      const rewritten = new Map(answer.changes.map(({ kind, message, path }) => [`${kind} ${path}`, message]))
      for (const [index, message] of messages.entries()) {
        for (const [place, part] of message['role'] === 'assistant' ? contentOf(message).entries() : []) {
          if (part['type'] !== 'tool_call') continue
          const path = `messages[${index}].content[${place}]`
          const id = word(part['call_id'])
          const own = word((part['provider_data'] as JsonObject)['id'])
          // In arguments and results the id stands beside other words.
          const holds = (one: string) =>
            sent.includes(`:${JSON.stringify(one)}`) && sent.split(JSON.stringify(one)).length > 2
          const now = /under the id "(.*)"$/.exec(rewritten.get(`call_id_rewritten ${path}.call_id`) ?? '')?.[1]
          if (now !== undefined) assert.ok(holds(now) && now !== id && now !== own, `${path}: ${now}`)
          else if (!rewritten.has(`call_id_dropped ${path}.call_id`))
            assert.ok(holds(id) || holds(own), `${path}: ${id}`)
          const renamed = rewritten.has(`name_rewritten ${path}.tool`)
          assert.equal(renamed, part['tool'] === 'an odd name')
        }
      }
      const spoken = [...sent.matchAll(/RESULT of (call_no\d+|odd no\d+\.)/g)].map(([, id]) => id)
      const stored = messages.filter(({ role }) => role === 'tool').map(({ call_id }) => call_id)
      const moved = stored.flatMap((id, at) => (spoken.indexOf(word(id)) === at ? [] : [id]))
      const listed = pathsOf(answer, 'results_reordered').map(
        (path) => messages[Number(/\d+/.exec(path)?.[0])]?.['call_id'],
      )
      assert.deepEqual(new Set(listed), new Set(moved))
    }),
    { numRuns: 300 },
  )
})

/** Which message of the request holds these words; -1: none. */
function placeOf(answer: Shown, words: string): number {
  return elementsOf(answer).findIndex((element) => JSON.stringify(element).includes(words))
}

/** The words by which a message is known in a request; null: it has none that are sent. */
function wordsOf(message: JsonObject): string | null {
  if (message['role'] === 'tool') return word(message['result'])
  for (const part of contentOf(message)) {
    if (part['type'] === 'text' && word(part['text']).trim() !== '') return word(part['text'])
    // An id stands in the arguments of its call, whatever the provider knows it by.
    if (part['type'] === 'tool_call') return `of\\\\?":\\\\?"${word(part['call_id'])}`
  }
  return null
}

/** Of words that end in a number: the whole number. */
function patternOf(words: string): RegExp {
  return new RegExp(`${words.replaceAll('.', '\\.')}(?!\\d)`)
}

test('messages are listed as merged exactly where two of them stand in one message of the request', () => {
  fc.assert(
    fc.property(historyArbitrary, fc.constantFrom(...MODELS), (messages, llm) => {
      const answer = shown(body(llm, messages))
      const elements = elementsOf(answer).map((element) => JSON.stringify(element))
      const turns: { readonly index: number; readonly first: number; readonly last: number; readonly tool: boolean }[] =
        []
      for (const [index, message] of messages.entries()) {
        const words = wordsOf(message)
        if (words === null) continue
        const pattern = patternOf(words)
        const at = elements.flatMap((element, place) => (pattern.test(element) ? [place] : []))
        assert.ok(at.length > 0, `${words} is in the request`)
        turns.push({ index, first: at[0] ?? -1, last: at.at(-1) ?? -1, tool: message['role'] === 'tool' })
      }
      const merged = turns.flatMap((turn, at) => {
        const before = turns[at - 1]
        return before === undefined || turn.tool || before.last !== turn.first ? [] : [`messages[${turn.index}]`]
      })
      assert.deepEqual(pathsOf(answer, 'messages_merged'), merged, JSON.stringify(elements, null, 1))
      const words = messages.flatMap((message) => wordsOf(message) ?? [])
      const bare = elementsOf(answer).filter(
        (element) =>
          !['system', 'developer'].includes(word(element['role'])) &&
          !['reasoning', 'function_call', 'function_call_output'].includes(word(element['type'])) &&
          !words.some((one) => patternOf(one).test(JSON.stringify(element))) &&
          !/SAID|ASKED|THOUGHT|call_no|odd no/.test(JSON.stringify(element)),
      )
      assert.equal(pathsOf(answer, 'message_added').length, bare.length, JSON.stringify(bare))
    }),
    { numRuns: 300 },
  )
})

test('a part is listed as replaced exactly where its data is not in the request', () => {
  for (const llm of MODELS) {
    const messages = [user(PNG), assistant({}, 'Seen.'), user('And this?', { ...PDF, data: 'd29ybGQ=' })]
    const answer = shown(body(llm, messages))
    const sent = JSON.stringify(answer.request.body)
    const missing = [
      ...(sent.includes('aGVsbG8=') ? [] : ['messages[0].content[0]']),
      ...(sent.includes('d29ybGQ=') ? [] : ['messages[2].content[1]']),
    ]
    assert.deepEqual(pathsOf(answer, 'part_replaced'), missing, word(llm['provider']))
    const warned = answer.warnings.filter(({ code }) => code === 'part_replaced').map(({ path }) => path)
    assert.deepEqual(warned, missing)
  }
})

test('a history that its own provider left is sent back with nothing changed', () => {
  const own = { provider: 'anthropic', model: 'claude-opus-5-5' }
  const messages = [
    user('Where is it?'),
    assistant(
      own,
      thought('Look.', { family: 'anthropic', type: 'thinking', signature: 'S' }),
      called('call_1', 'find_order', { provider_data: { family: 'anthropic', id: 'toolu_1' } }),
      called('call_2', 'find_order', { provider_data: { family: 'anthropic', id: 'toolu_2' } }),
    ),
    result('call_1', 'find_order'),
    result('call_2', 'find_order'),
    assistant(own, 'Here.'),
    user('Thanks.'),
  ]
  assert.deepEqual(shown(body(own, messages)).changes, [])
})

test('calls that stand side by side are split for a provider that takes one at a time, and nowhere else', () => {
  const messages = [
    user('Both?'),
    assistant({}, called('a', 'f'), called('b', 'f')),
    result('a', 'f'),
    result('b', 'f'),
  ]
  for (const llm of MODELS) {
    const splits = pathsOf(shown(body(llm, messages)), 'calls_split')
    assert.deepEqual(splits, llm['provider'] === 'gigachat' ? ['messages[1]'] : [], word(llm['provider']))
  }
})

test('a message of which nothing can be sent is told of as a whole', () => {
  const messages = [user('One?'), assistant({}, thought('Hm.', { family: 'kimi' })), user('Two?')]
  for (const llm of MODELS) {
    const answer = shown(body(llm, messages))
    assert.equal(placeOf(answer, 'Hm.'), -1)
    assert.deepEqual(pathsOf(answer, 'message_dropped'), ['messages[1]'], word(llm['provider']))
    assert.deepEqual(pathsOf(answer, 'reasoning_dropped'), ['messages[1].content[0]'])
  }
})

test('halves of surrogate pairs are told of where they are replaced', () => {
  const messages = [
    user('\ud83d half'),
    assistant({}, called('a', 'f', { args: { deep: ['x\udc00'] } }), 'whole 🙂'),
    { role: 'tool', call_id: 'a', tool: 'f', result: { '\ud800': 1 } },
  ]
  const facts = { system: 'h\udc00', tools: [{ ...tool('f', PLAIN), description: '\ud800' }] }
  const answer = shown(body({ provider: 'deepseek', model: 'deepseek-chat' }, messages, facts))
  assert.deepEqual(pathsOf(answer, 'characters_replaced'), [
    'tools[0].description',
    'system',
    'messages[0].content[0]',
    'messages[1].content[0]',
    'messages[2]',
  ])
  assert.equal(/\\ud[89a-f]/.test(JSON.stringify(answer.request.body)), false)
})

const tool = (name: string, input_schema: JsonObject): JsonObject => ({
  name,
  input_schema,
  url: 'https://t.example/x',
})
const PLAIN: JsonObject = { type: 'object', properties: { id: { type: 'string' } } }
const UNION: JsonObject = { anyOf: [PLAIN, { type: 'object', properties: { n: { type: 'integer' } } }] }

test('a schema or a name of a tool is listed exactly where the request holds another one', () => {
  const tools = [tool('find', PLAIN), tool('2nd', UNION), tool('web_search', { ...PLAIN, additionalProperties: false })]
  for (const llm of MODELS) {
    const answer = shown(body(llm, [user('Hi')], { tools }))
    const sent = JSON.stringify(answer.request.body)
    const expected = tools.flatMap(({ input_schema, name }, index) => [
      ...(sent.includes(`"name":${JSON.stringify(name)}`) ? [] : [`tools[${index}].name`]),
      ...(sent.includes(JSON.stringify(input_schema)) ? [] : [`tools[${index}].input_schema`]),
    ])
    assert.deepEqual(pathsOf(answer, 'schema_rewritten', 'name_rewritten'), expected, word(llm['provider']))
  }
})

test('params that are not sent as they came, and headers that are not sent, are told of', () => {
  const llm = { provider: 'anthropic', model: 'claude-opus-5-5', params: { seed: 1, max_output_tokens: 1000 } }
  const tools = [{ ...tool('find', PLAIN), headers: { Cookie: 'x', 'X-Shop': '1' } }]
  const answer = shown(body(llm, [user('Hi')], { tools }))
  assert.deepEqual(
    answer.changes.map(({ kind, path }) => [kind, path]),
    [
      ['header_dropped', 'tools[0].headers.Cookie'],
      ['param_dropped', 'llm.params.seed'],
    ],
  )
  assert.equal(answer.request.body['seed'], undefined)
  assert.deepEqual(
    answer.warnings.map(({ code }) => code),
    ['header_dropped', 'param_dropped'],
  )
})

test('a field of the caller that is laid over one of the engine is told of, and what it hides is not', () => {
  const llm = { provider: 'deepseek', model: 'deepseek-chat', params: { extra: { stream_options: null, other: 1 } } }
  const answer = shown(body(llm, [user('Hi')]))
  assert.deepEqual(
    answer.changes.map(({ kind, path }) => [kind, path]),
    [['field_replaced', 'llm.params.extra.stream_options']],
  )
  assert.deepEqual([answer.request.body['stream_options'], answer.request.body['other']], [null, 1])
})

test('a field of the caller that would replace what the engine answers for is left out, and that is told', () => {
  const extra = {
    stream: false,
    store: true,
    messages: [],
    input: [],
    model: 'm',
    tools: [],
    functions: [],
    system: '',
  }
  for (const llm of MODELS) {
    const plain = shown(body(llm, [user('Hi')], { tools: [tool('find', PLAIN)] }))
    const mine = { ...llm, params: { extra } }
    const answer = shown(body(mine, [user('Hi')], { tools: [tool('find', PLAIN)] }))
    assert.deepEqual(answer.request.body, plain.request.body, word(llm['provider']))
    assert.deepEqual(
      answer.changes.filter(({ path }) => path.includes('.extra.')).map(({ kind, path }) => [kind, path]),
      Object.keys(extra).map((field) => ['param_dropped', `llm.params.extra.${field}`]),
    )
    assert.equal(answer.warnings.filter(({ message }) => message.startsWith('extra.')).length, 8)
  }
})

test('tools that a step may not use are told of where the request leaves them out', () => {
  const facts = { tools: [tool('find', PLAIN)], limits: { max_steps: 0 } }
  for (const llm of MODELS) {
    const answer = shown(body(llm, [user('Hi')], facts))
    const sent = JSON.stringify(answer.request.body).includes('"find"')
    assert.deepEqual(pathsOf(answer, 'tools_left_out'), sent ? [] : ['tools'], word(llm['provider']))
  }
})

test('more changes than are listed are counted, and a long history takes linear time', () => {
  const rounds = (count: number) => [
    ...Array.from({ length: count }, (_none, n) => [
      user(`Q${n}`),
      assistant({ model: 'm' }, thought('T', { family: 'kimi' }), thought('U', { family: 'anthropic' }), 'A'),
    ]).flat(),
    user('Last'),
  ]
  const answer = validate(body({ provider: 'glm', model: 'glm-5' }, rounds(2000)))
  assert.equal(answer.changes.length, 1000)
  assert.equal(answer.changes_left_off, 3000)
  const thoughts = Array.from({ length: 20_000 }, (_none, n) =>
    thought(`T${n}`, { family: 'anthropic', signature: 's' }),
  )
  const many = [user('Q'), assistant({ model: 'claude-opus-5-5' }, ...thoughts, 'A'), user('Last')]
  const started = cpuMs()
  assert.deepEqual(validate(body({ provider: 'anthropic', model: 'claude-opus-5-5' }, many)).changes, [])
  assert.ok(cpuMs() - started < 10_000)
})

test('a message that the engine puts before a conversation is told of', () => {
  const messages = [assistant({}, 'Hello.'), user('Hi')]
  const answer = shown(body({ provider: 'anthropic', model: 'claude-opus-5-5' }, messages))
  assert.deepEqual(pathsOf(answer, 'message_added'), ['messages[0]'])
  assert.equal(elementsOf(answer).length, 3)
})

test('words of the engine in the place of reasoning are told of, for each message that has them', () => {
  const messages = [
    user('One?'),
    assistant({}, called('a', 'f')),
    result('a', 'f'),
    assistant({}, 'So.'),
    user('Two?'),
    assistant({ model: 'deepseek-chat' }, thought('Hm.', { family: 'deepseek', field: 'reasoning_content' }), 'Yes.'),
    user('Three?'),
  ]
  const listed = (llm: JsonObject) => pathsOf(shown(body(llm, messages)), 'reasoning_added')
  const deepseek = { provider: 'deepseek', model: 'deepseek-chat' }
  const filled = elementsOf(shown(body(deepseek, messages))).filter((element) => element['reasoning_content'] === '')
  assert.equal(filled.length, 2)
  assert.deepEqual(listed(deepseek), ['messages[1]', 'messages[3]'])
  assert.deepEqual(listed({ provider: 'kimi', model: 'kimi-k3' }), ['messages[1]'])
  assert.deepEqual(listed({ provider: 'glm', model: 'glm-5' }), [])
})
