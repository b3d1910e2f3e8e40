/** Servers that `llm.profile` names: what each is sent beyond any compatible server, and what is read of its answers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { AssistantMessage, StoredMessage } from '../../src/contract/message.ts'
import { dialectCall, read, tool, user } from './dialect-call.ts'
import { FOREIGN, result, sent, stored, TOOLS } from './vendor-history.ts'

const text = (content: string) => ({ choices: [{ index: 0, delta: { content } }] })
const end = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }

test('Mistral: ids of nine letters and digits, a seed under its own name, and nothing that it refuses', () => {
  const { url, body } = sent({
    server: 'mistral',
    model: 'mistral-medium-latest',
    tools: TOOLS,
    params: { seed: 7, thinking: 'off' },
    messages: FOREIGN.slice(0, 4),
  })
  assert.equal(url, 'https://api.mistral.ai/v1/chat/completions')
  const { messages, tools: _, ...fields } = body
  assert.deepEqual(fields, {
    model: 'mistral-medium-latest',
    stream: true,
    reasoning_effort: 'none',
    random_seed: 7,
  })
  const calls = messages[1]?.['tool_calls'] as readonly { readonly id: string }[]
  const ids = calls.map(({ id }) => id)
  for (const id of ids) assert.match(id, /^[a-zA-Z0-9]{9}$/)
  assert.deepEqual(
    messages.slice(2).map((message) => message['tool_call_id']),
    ids,
  )
  const own = { ...FOREIGN[1], content: [callWithId('dnEN4JsJy')] } as AssistantMessage
  const native = sent({ server: 'mistral', messages: [user('x'), own, result('c', 'find_order', 'y')] }).body.messages
  assert.equal(native[2]?.['tool_call_id'], 'dnEN4JsJy')
  // One that a gateway before it made up is refused, and is made anew.
  const odd = { ...FOREIGN[1], content: [callWithId('call_0fy')] } as AssistantMessage
  const made = sent({ server: 'mistral', messages: [user('x'), odd, result('c', 'find_order', 'y')] }).body.messages
  assert.match(String(made[2]?.['tool_call_id']), /^[a-zA-Z0-9]{9}$/)
})

function callWithId(id: string) {
  const provider_data = { family: 'mistral', id }
  return { type: 'tool_call', call_id: 'c', tool: 'find_order', args: {}, provider_data } as const
}

test('Mistral: words of the assistant stand where a user’s would follow a tool’s, the note of a last step too', () => {
  const messages: StoredMessage[] = [...FOREIGN.slice(0, 4), user('Never mind.')]
  const roles = (facts: { readonly note?: string; readonly messages: readonly StoredMessage[] }) =>
    sent({ server: 'mistral', ...facts }).body.messages.map(({ role }) => role)
  assert.deepEqual(roles({ messages }), ['user', 'assistant', 'tool', 'tool', 'assistant', 'user'])
  assert.deepEqual(roles({ messages: FOREIGN.slice(0, 4), note: 'Answer now.' }), [
    'user',
    'assistant',
    'tool',
    'tool',
    'assistant',
    'user',
  ])
  assert.deepEqual(sent({ server: 'mistral', messages }).body.messages[4], {
    role: 'assistant',
    content: 'Understood.',
  })
})

test('Mistral: no conversation has a user directly after a tool, or one role twice save for tools', () => {
  const round = fc.constantFrom<StoredMessage[]>(
    [user('u')],
    [{ role: 'assistant', content: [{ type: 'text', text: 't' }] }],
    [{ role: 'assistant', content: [callWithId('a1b2c3d4e')] }, result('c', 'find_order', 'r')],
  )
  fc.assert(
    fc.property(fc.array(round, { maxLength: 8 }), fc.option(fc.constant('note')), (rounds, note) => {
      const messages = [user('u'), ...rounds.flat()]
      const roles = sent({ server: 'mistral', messages, note }).body.messages.map(({ role }) => role)
      for (const [index, role] of roles.entries()) {
        const before = roles[index - 1]
        assert.notDeepEqual([before, role], ['tool', 'user'])
        if (role !== 'tool') assert.notEqual(before, role)
      }
    }),
  )
})

test('Mistral: thoughts that came as parts of the content go back as such', () => {
  const thinking = { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }
  const call = dialectCall({ server: 'mistral', model: 'magistral-medium-latest' })
  const reading = read(call, [{ choices: [{ index: 0, delta: { content: [thinking] } }] }, text('Hi'), end])
  assert.deepEqual([reading.heard.thought(), reading.heard.shown()], ['hm', 'Hi'])
  const message = stored(reading, 'openai-compatible', 'magistral-medium-latest')
  const { body } = sent({
    server: 'mistral',
    model: 'magistral-medium-latest',
    messages: [user('x'), message, user('y')],
  })
  assert.deepEqual(body.messages[1]?.['content'], [thinking, { type: 'text', text: 'Hi' }])
})

test('xAI: reasoning tokens that stand beside the output are counted into it; a model that reasons takes no stop', () => {
  const usage = {
    prompt_tokens: 12,
    completion_tokens: 2,
    total_tokens: 354,
    prompt_tokens_details: { cached_tokens: 11 },
    completion_tokens_details: { reasoning_tokens: 340 },
  }
  const reading = read(dialectCall({ server: 'xai', model: 'grok-3-mini' }), [
    text('Grok'),
    end,
    { choices: [], usage },
  ])
  assert.deepEqual(reading.usage?.tokens, {
    input_tokens: 1,
    cache_read_tokens: 11,
    cache_write_tokens: 0,
    output_tokens: 342,
    reasoning_tokens: 340,
    total_tokens: 354,
  })
  const stop = (model: string) => sent({ server: 'xai', model, params: { stop: ['END'] } }).body['stop']
  assert.deepEqual(['grok-4.5', 'grok-3-mini', 'grok-4.20-non-reasoning', 'grok-3'].map(stop), [
    undefined,
    undefined,
    ['END'],
    ['END'],
  ])
})

test('Groq: its reasoning field goes back under its name, and usage in its own corner is found', () => {
  const call = dialectCall({ server: 'groq', model: 'openai/gpt-oss-120b' })
  const reading = read(call, [
    { choices: [{ index: 0, delta: { reasoning: 'Need it.' } }] },
    text('Hi'),
    { ...end, x_groq: { id: 'req_1', usage: { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 } } },
  ])
  assert.equal(reading.usage?.tokens.total_tokens, 13)
  const message = stored(reading, 'openai-compatible', 'openai/gpt-oss-120b')
  const { url, body } = sent({
    server: 'groq',
    model: 'openai/gpt-oss-120b',
    params: { max_output_tokens: 100, thinking: 'max' },
    messages: [user('x'), message, user('y')],
  })
  assert.equal(url, 'https://api.groq.com/openai/v1/chat/completions')
  assert.deepEqual(
    [body['max_completion_tokens'], body['max_tokens'], body['reasoning_effort']],
    [100, undefined, 'high'],
  )
  assert.deepEqual(body.messages[1], { role: 'assistant', content: 'Hi', reasoning: 'Need it.' })
})

test('OpenRouter: structured reasoning goes back whole, encrypted parts too; Claude is asked to be cached', () => {
  const details = (detail: object) => ({ choices: [{ index: 0, delta: { content: '', reasoning_details: [detail] } }] })
  const call = dialectCall({ server: 'openrouter', model: 'anthropic/claude-sonnet-5.5' })
  const reading = read(call, [
    details({ type: 'reasoning.text', text: 'Let ', index: 0, format: 'anthropic-claude-v1' }),
    details({ type: 'reasoning.text', text: 'me see', index: 0, signature: 'SIG' }),
    details({ type: 'reasoning.encrypted', data: 'XX', index: 1 }),
    text('Hi'),
    end,
  ])
  assert.equal(reading.heard.thought(), 'Let me see')
  const message = stored(reading, 'openai-compatible', 'anthropic/claude-sonnet-5.5')
  const { url, body } = sent({
    server: 'openrouter',
    model: 'anthropic/claude-sonnet-5.5',
    params: { thinking: 'max' },
    messages: [user('x'), message, user('y')],
  })
  assert.equal(url, 'https://openrouter.ai/api/v1/chat/completions')
  assert.deepEqual(body['cache_control'], { type: 'ephemeral' })
  assert.deepEqual(body['reasoning'], { effort: 'xhigh' })
  assert.deepEqual(body.messages[1], {
    role: 'assistant',
    content: 'Hi',
    reasoning_details: [
      { type: 'reasoning.text', text: 'Let me see', index: 0, format: 'anthropic-claude-v1', signature: 'SIG' },
      { type: 'reasoning.encrypted', data: 'XX', index: 1 },
    ],
  })
  assert.equal(sent({ server: 'openrouter', model: 'z-ai/glm-5.3' }).body['cache_control'], undefined)
})

test('PS-38: servers that anybody runs may write thoughts between tags; they are no text', () => {
  for (const server of ['vllm', 'llama.cpp', 'ollama', 'lmstudio', 'groq', 'together']) {
    const { heard } = read(dialectCall({ server }), [text('<think>hm</think>Hi'), end])
    assert.deepEqual([heard.thought(), heard.shown()], ['hm', 'Hi'], server)
    const plain = read(dialectCall({ server }), [text('2 < 3 and <think> is a word'), end])
    assert.equal(plain.heard.shown(), '2 < 3 and <think> is a word', server)
  }
})

test('what a named server wrote is foreign to another one, and to any compatible server', () => {
  const reading = read(dialectCall({ server: 'vllm', model: 'qwen3' }), [
    { choices: [{ index: 0, delta: { reasoning: 'hm' } }] },
    text('Hi'),
    end,
  ])
  const messages = [user('x'), stored(reading, 'openai-compatible', 'qwen3'), user('y')]
  const reasoning = (server?: string) =>
    sent({ model: 'qwen3', messages, ...(server === undefined ? {} : { server }) }).body.messages[1]?.['reasoning']
  assert.deepEqual([reasoning('vllm'), reasoning('ollama'), reasoning()], ['hm', undefined, undefined])
})

test('a request to a named server without anything asked for is as small as to any other', () => {
  for (const server of ['vllm', 'llama.cpp', 'ollama', 'lmstudio', 'openrouter', 'groq', 'together', 'xai']) {
    assert.deepEqual(
      sent({ server, model: 'm' }).body,
      {
        model: 'm',
        stream: true,
        stream_options: { include_usage: true },
        messages: [{ role: 'user', content: 'hello' }],
      },
      server,
    )
  }
  const withTools = sent({ server: 'xai', tools: [tool('f')] }).body
  assert.deepEqual(Object.keys(withTools), ['model', 'stream', 'stream_options', 'tools', 'messages'])
})
