/**
 * The fake vendors themselves: a request of the engine that was taken is spoilt in one way after another, and sent again. What
 * a vendor refuses must be refused in its own words, and what it only takes to no good must be noted; else no test that
 * trusts them says anything.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../src/contract/json.ts'
import type { ProviderName } from '../../src/contract/run-request.ts'
import { builtVendors } from '../fakes/vendors/built.ts'
import { Conversation } from '../fakes/vendors/conversation.ts'
import { sharedWorld } from '../fakes/vendors/vendor-world.ts'
import { send } from '../conformance/http.ts'

const world = sharedWorld()

/** JSON of a request, free to be changed. */
type Body = { [field: string]: any }

interface Spoilt {
  readonly at: readonly ProviderName[]
  readonly change: (body: Body) => void
  /** What the fault says. */
  readonly says: RegExp
  /** It is answered all the same. */
  readonly taken?: true
}

const MESSAGES: readonly ProviderName[] = ['anthropic', 'kimi', 'minimax']
const CHAT: readonly ProviderName[] = ['deepseek', 'glm', 'openai-compatible']

const block = (body: Body, type: string, nth = 0) =>
  body['messages'].flatMap((message: Body) => message['content']).filter((one: Body) => one['type'] === type)[nth]
const without = (body: Body, type: string) => {
  for (const message of body['messages']) {
    message['content'] = message['content'].filter((one: Body) => one['type'] !== type)
  }
}
const answered = (body: Body) => body['messages'].find((message: Body) => message['tool_calls'] !== undefined)
const result = (body: Body) => body['messages'].findIndex((message: Body) => message['role'] === 'tool')
const item = (body: Body, type: string) => body['input'].find((one: Body) => one['type'] === type)
const place = (body: Body, type: string) => body['input'].findIndex((one: Body) => one['type'] === type)
const call = (body: Body) => body['messages'].find((message: Body) => message['function_call'] !== undefined)
const answerTo = (body: Body) => body['messages'].findIndex((message: Body) => message['role'] === 'function')

const spoilt: Readonly<Record<string, Spoilt>> = {
  // ------------------------------------------------------------------------------------------------ Messages API
  'a call without its result': {
    at: ['anthropic'],
    change: (body) => without(body, 'tool_result'),
    says: /^400 messages\.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01/,
  },
  'a call without its result, at MiniMax': {
    at: ['minimax'],
    change: (body) => without(body, 'tool_result'),
    says: /^400 invalid params, tool call result does not follow tool call \(2013\)$/,
  },
  'a result without its call': {
    at: MESSAGES,
    change: (body) =>
      body['messages'].at(-1)['content'].push({ type: 'tool_result', tool_use_id: 'nowhere', content: 'x' }),
    says: /unexpected `tool_use_id` found|tool_call_id {2}is not found|tool result's tool id\(.*\) not found \(2013\)/,
  },
  'results in another order': {
    at: MESSAGES,
    change: (body) => block(body, 'tool_result') && body['messages'][2]['content'].reverse(),
    says: /^messages\.2: results not in call order$/,
    taken: true,
  },
  'an empty text': {
    at: MESSAGES,
    change: (body) => body['messages'][0]['content'].push({ type: 'text', text: '' }),
    says: /^400 messages: text content blocks must be non-empty$/,
  },
  'a blank text': {
    at: MESSAGES,
    change: (body) => body['messages'][0]['content'].push({ type: 'text', text: ' \n' }),
    says: /^400 messages: text content blocks must contain non-whitespace text$/,
  },
  'a last word of the assistant': {
    at: MESSAGES,
    change: (body) => body['messages'].push({ role: 'assistant', content: [{ type: 'text', text: 'So' }] }),
    says: /does not support assistant message prefill/,
  },
  'one id twice': {
    at: MESSAGES,
    change: (body) => (block(body, 'tool_use', 1)['id'] = block(body, 'tool_use')['id']),
    says: /ids must be unique|tool_call_id|tool call result/,
  },
  'an id of odd characters': {
    at: ['anthropic'],
    change: (body) => (block(body, 'tool_use')['id'] = 'functions.find_order:0'),
    says: /tool_use\.id: String should match pattern/,
  },
  'an id that names no tool': {
    at: ['kimi'],
    change: (body) => {
      block(body, 'tool_use')['id'] = 'toolu_01A'
      block(body, 'tool_result')['tool_use_id'] = 'toolu_01A'
    },
    says: /id toolu_01A does not name the call functions\.find_order:0$/,
    taken: true,
  },
  'arguments that are no object': {
    at: MESSAGES,
    change: (body) => (block(body, 'tool_use')['input'] = '{}'),
    says: /tool_use\.input: Input should be a valid dictionary$/,
  },
  'a temperature for a model that takes none': {
    at: ['anthropic', 'kimi'],
    change: (body) => (body['temperature'] = 1),
    says: /^400 temperature: not supported on this model$/,
  },
  'a temperature of 0': {
    at: ['minimax'],
    change: (body) => (body['temperature'] = 0),
    says: /^400 invalid params, temperature must be in \(0, 1\] \(2013\)$/,
  },
  'a field that is ignored': {
    at: ['minimax'],
    change: (body) => (body['stop_sequences'] = ['x']),
    says: /^stop_sequences is sent and ignored$/,
    taken: true,
  },
  'a field of another API': {
    at: MESSAGES,
    change: (body) => (body['reasoning_effort'] = 'low'),
    says: /^400 reasoning_effort: Extra inputs are not permitted/,
  },
  'no bound of the answer': {
    at: MESSAGES,
    change: (body) => delete body['max_tokens'],
    says: /^400 max_tokens: Field required/,
  },
  'a bound above the model': {
    at: MESSAGES,
    change: (body) => (body['max_tokens'] = 2_000_000),
    says: /^400 max_tokens: 2000000 > \d+, which is the maximum allowed number of output tokens/,
  },
  'five cache marks': {
    at: ['anthropic'],
    change: (body) => {
      for (const one of body['messages'][0]['content']) one['cache_control'] = { type: 'ephemeral' }
      block(body, 'tool_use')['cache_control'] = { type: 'ephemeral' }
    },
    says: /^400 A maximum of 4 blocks with cache_control may be provided\. Found 5\.$/,
  },
  'a thought that was changed': {
    at: ['anthropic'],
    change: (body) => (block(body, 'thinking')['thinking'] += '.'),
    says: /blocks in the latest assistant message cannot be modified/,
  },
  'a thought that was changed, where nobody checks': {
    at: ['kimi', 'minimax'],
    change: (body) => (block(body, 'thinking')['thinking'] += '.'),
    says: /^messages\.1: 1 thoughts where its answer had 1$/,
    taken: true,
  },
  'a signature that was never given out': {
    at: ['anthropic'],
    change: (body) => (block(body, 'thinking')['signature'] = 'c2lnbmVk'),
    says: /^400 messages\.1\.content\.0: Invalid `signature` in `thinking` block$/,
  },
  'a thought that was left out': {
    at: ['anthropic', 'minimax'],
    change: (body) => without(body, 'thinking'),
    says: /^messages\.1: \d thoughts where its answer had \d$/,
    taken: true,
  },
  'a thought that was left out, where it is demanded': {
    at: ['kimi'],
    change: (body) => without(body, 'thinking'),
    says: /^400 thinking is enabled but reasoning_content is missing in assistant tool call message at index 1$/,
  },
  'a changed system text without the opt-in': {
    at: ['anthropic'],
    change: (body) => {
      body['system'][0]['text'] += ' '
      delete body['thinking']['block_binding']
    },
    says: /The block is bound to a different conversation/,
  },
  'a forced choice': {
    at: ['anthropic'],
    change: (body) => (body['tool_choice'] = { type: 'any' }),
    says: /^400 tool_choice: forced tool use is not supported on this model$/,
  },
  'a thinking budget for a model that has none': {
    at: ['anthropic', 'minimax'],
    change: (body) => (body['thinking'] = { type: 'enabled', budget_tokens: 2000 }),
    says: /"thinking\.type\.enabled" is not supported for this model/,
  },
  'an effort that is no word of the model': {
    at: MESSAGES,
    change: (body) => (body['output_config'] = { effort: 'minimal' }),
    says: /output_config\.effort: Input should be 'low'/,
  },
  'a union at the root of a schema': {
    at: MESSAGES,
    change: (body) => (body['tools'][0]['input_schema']['anyOf'] = []),
    says: /input_schema does not support oneOf, allOf, or anyOf at the top level/,
  },
  'half a surrogate pair': {
    at: [...MESSAGES, ...CHAT, 'gigachat'],
    change: (body) => (body['messages'][0]['content'] = '🙂'.slice(0, 1)),
    says: /no low surrogate in string: \.messages\.0\.content/,
  },

  // -------------------------------------------------------------------------------------------- chat completions
  'a call without its tool message': {
    at: ['deepseek', 'openai-compatible'],
    change: (body) => body['messages'].splice(result(body), 1),
    says: /^400 An assistant message with 'tool_calls' must be followed by tool messages/,
  },
  'a call without its tool message, at GLM': {
    at: ['glm'],
    change: (body) => body['messages'].splice(result(body), 1),
    says: /^400 The messages parameter is illegal/,
  },
  'a tool message behind a user message': {
    at: ['deepseek', 'openai-compatible'],
    change: (body) => body['messages'].splice(result(body), 0, { role: 'user', content: 'hurry' }),
    says: /must be followed by tool messages responding to each/,
  },
  'tool messages in another order': {
    at: CHAT,
    change: (body) => body['messages'].push(...body['messages'].splice(-2).reverse()),
    says: /results not in call order$/,
    taken: true,
  },
  'a message with calls without its reasoning': {
    at: ['deepseek'],
    change: (body) => delete answered(body)['reasoning_content'],
    says: /^400 The `reasoning_content` in the thinking mode must be passed back to the API\.$/,
  },
  'a message with calls without its reasoning, where it only helps': {
    at: ['glm', 'openai-compatible'],
    change: (body) => delete answered(body)['reasoning_content'],
    says: /its reasoning_content is not there$/,
    taken: true,
  },
  'reasoning that was changed': {
    at: CHAT,
    change: (body) => (answered(body)['reasoning_content'] += '.'),
    says: /its reasoning_content is changed$/,
    taken: true,
  },
  'a tool choice while the model thinks': {
    at: ['deepseek'],
    change: (body) => (body['tool_choice'] = 'auto'),
    says: /^400 Thinking mode does not support this tool_choice$/,
  },
  'a tool choice that is not auto': {
    at: ['glm'],
    change: (body) => (body['tool_choice'] = 'none'),
    says: /^400 The tool_choice parameter is illegal/,
  },
  'an effort for a model that does not think': {
    at: ['deepseek'],
    change: (body) => (body['thinking'] = { type: 'disabled' }),
    says: /^an effort for a model that is told not to think$/,
    taken: true,
  },
  'thinking that cannot be off': {
    at: ['glm'],
    change: (body) => (body['thinking'] = { type: 'disabled' }),
    says: /^400 The thinking\.type parameter is illegal/,
  },
  'content that is null': {
    at: ['deepseek'],
    change: (body) => (answered(body)['content'] = null),
    says: /^400 Invalid value for 'messages\[\d\]\.content': expected a string\.$/,
  },
  'the newer name of the bound': {
    at: CHAT,
    change: (body) => (body['max_completion_tokens'] = 100),
    says: /max_completion_tokens/,
  },
  'two stop sequences where one is taken': {
    at: ['glm'],
    change: (body) => (body['stop'] = ['a', 'b']),
    says: /^400 The stop parameter is illegal/,
  },
  'a role that only OpenAI has': {
    at: CHAT,
    change: (body) => (body['messages'][0]['role'] = 'developer'),
    says: /unknown variant `developer`|The role parameter is illegal|Invalid value: 'developer'/,
  },
  'a message without content and calls': {
    at: CHAT,
    change: (body) => body['messages'].splice(1, 0, { role: 'assistant', content: '' }),
    says: /content or tool_calls must be set|prompt parameter was not received/,
  },
  'a last message of the assistant': {
    at: CHAT,
    change: (body) => body['messages'].push({ role: 'assistant', content: 'So' }),
    says: /Expected last role User or Tool/,
  },
  'one call id twice': {
    at: CHAT,
    change: (body) => {
      const [first, second] = answered(body)['tool_calls']
      second['id'] = first['id']
      body['messages'][result(body) + 1]['tool_call_id'] = first['id']
    },
    says: /^400 Duplicate value for 'tool_call_id'/,
  },
  'arguments that are no JSON': {
    at: CHAT,
    change: (body) => (answered(body)['tool_calls'][0]['function']['arguments'] = ''),
    says: /^400 invalid function arguments json string/,
  },
  'an image for a model without eyes': {
    at: ['glm'],
    change: (body) =>
      (body['messages'][1]['content'] = [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } }]),
    says: /^400 The messages\.content\.type parameter is illegal/,
  },

  // ------------------------------------------------------------------------------------------------ Responses API
  'a call without its output': {
    at: ['openai'],
    change: (body) => body['input'].splice(place(body, 'function_call_output'), 1),
    says: /^400 No tool output found for function call call_\d+\.$/,
  },
  'an output without its call': {
    at: ['openai'],
    change: (body) => body['input'].splice(place(body, 'function_call'), 1),
    says: /^400 No tool call found for function call output with call_id call_\d+\.$/,
  },
  'one call_id twice': {
    at: ['openai'],
    change: (body) => body['input'].splice(place(body, 'function_call'), 0, { ...item(body, 'function_call') }),
    says: /^400 Duplicate 'call_id' 'call_\d+'\.$/,
  },
  'reasoning that was never given out': {
    at: ['openai'],
    change: (body) => (item(body, 'reasoning')['encrypted_content'] = 'gAAAAABo'),
    says: /^400 The encrypted content gAAA\.\.\.ABo could not be verified\. Reason: /,
  },
  'reasoning without a summary': {
    at: ['openai'],
    change: (body) => delete item(body, 'reasoning')['summary'],
    says: /^400 Missing required parameter: 'input\[\d\]\.summary'\.$/,
  },
  'reasoning that leads to nothing': {
    at: ['openai'],
    change: (body) => body['input'].push(item(body, 'reasoning')),
    says: /^400 Item 'rs_\d+' of type 'reasoning' was provided without its required following item\.$/,
  },
  'reasoning that was left out': {
    at: ['openai'],
    change: (body) => body['input'].splice(place(body, 'reasoning'), 1),
    says: /the reasoning of its answer is not there$/,
    taken: true,
  },
  'an item with an id': {
    at: ['openai'],
    change: (body) => (item(body, 'function_call')['id'] = 'fc_1'),
    says: /^404 Item with id 'fc_1' not found\. Items are not persisted/,
  },
  'a text without its phase': {
    at: ['openai'],
    change: (body) => delete item(body, 'message')['phase'],
    says: /its phase commentary is not there$/,
    taken: true,
  },
  'words of the assistant as input': {
    at: ['openai'],
    change: (body) => (item(body, 'message')['content'][0]['type'] = 'input_text'),
    says: /^400 Invalid value: 'input_text'\. Supported values are: 'output_text' and 'refusal'\.$/,
  },
  'a temperature for a model that always reasons': {
    at: ['openai'],
    change: (body) => (body['temperature'] = 1),
    says: /^400 Unsupported parameter: 'temperature' is not supported with this model\.$/,
  },
  'no reasoning for a model that always reasons': {
    at: ['openai'],
    change: (body) => (body['reasoning'] = { effort: 'none' }),
    says: /^400 Unsupported value: 'none' is not supported with the 'gpt-6\.2-sol' model\./,
  },
  'a parameter of chat completions': {
    at: ['openai'],
    change: (body) => (body['stop'] = ['x']),
    says: /^400 Unknown parameter: 'stop'\.$/,
  },
  'a response that is stored': {
    at: ['openai'],
    change: (body) => (body['store'] = true),
    says: /^the response is stored$/,
    taken: true,
  },
  'a tool that leaves strict open': {
    at: ['openai'],
    change: (body) => delete body['tools'][0]['strict'],
    says: /without strict false every optional argument is required$/,
    taken: true,
  },
  'a bound of 5 tokens': {
    at: ['openai'],
    change: (body) => (body['max_output_tokens'] = 5),
    says: /^400 Invalid 'max_output_tokens': integer below minimum value\./,
  },
  'a schema without a type': {
    at: ['openai'],
    change: (body) => delete body['tools'][0]['parameters']['type'],
    says: /^400 Invalid schema for function 'find_order': schema must be a JSON Schema of 'type: "object"', got 'type: "None"'\.$/,
  },

  // ------------------------------------------------------------------------------------------------------ GigaChat
  'a function call without its result': {
    at: ['gigachat'],
    change: (body) => body['messages'].splice(answerTo(body), 1),
    says: /^422 Invalid params: every assistant function call must have a result in history$/,
  },
  'a function result without its call': {
    at: ['gigachat'],
    change: (body) => delete call(body)['function_call'],
    says: /^422 Invalid params: every assistant function result must have an assistant function call in history$/,
  },
  'arguments as a string': {
    at: ['gigachat'],
    change: (body) => (call(body)['function_call']['arguments'] = '{}'),
    says: /^400 Your request contains invalid JSON syntax\.$/,
  },
  'a result that is no JSON': {
    at: ['gigachat'],
    change: (body) => (body['messages'][answerTo(body)]['content'] = 'shipped'),
    says: /^422 Invalid params: invalid function result for function json string find_order$/,
  },
  'a system message that is not the first': {
    at: ['gigachat'],
    change: (body) => body['messages'].splice(1, 0, { role: 'system', content: 'x' }),
    says: /^422 Invalid params: system message must be the first message$/,
  },
  'two messages of the user in a row': {
    at: ['gigachat'],
    change: (body) => body['messages'].splice(1, 0, { role: 'user', content: 'x' }),
    says: /^422 Invalid params: two user messages in a row$/,
  },
  'a last message of the assistant, at GigaChat': {
    at: ['gigachat'],
    change: (body) => body['messages'].push({ role: 'assistant', content: 'So' }),
    says: /functions or thinking_functions should only appeal in user, function messages/,
  },
  'tools in the words of OpenAI': {
    at: ['gigachat'],
    change: (body) => (body['tools'] = []),
    says: /^tools is sent and ignored$/,
    taken: true,
  },
  'a function without properties': {
    at: ['gigachat'],
    change: (body) => delete body['functions'][0]['parameters']['properties'],
    says: /^422 Invalid params: Field 'parameters\.properties' is missing$/,
  },
  'a union inside a schema': {
    at: ['gigachat'],
    change: (body) => (body['functions'][0]['parameters']['properties']['id'] = { anyOf: [{ type: 'string' }] }),
    says: /^422 Invalid params: Field 'parameters\.properties\.id\.anyOf' is not supported$/,
  },
  'a name that begins with a digit': {
    at: ['gigachat'],
    change: (body) => (body['functions'][0]['name'] = '2fa'),
    says: /^422 Invalid params: function name 2fa is invalid$/,
  },
  'a temperature of nothing': {
    at: ['gigachat'],
    change: (body) => (body['temperature'] = 0),
    says: /^422 Invalid params: temperature must be positive$/,
  },
}

for (const vendor of builtVendors) {
  test(`the fake of ${vendor.provider} takes what the engine sends, and nothing that is spoilt`, async () => {
    const { live } = await world.open()
    const server = live(vendor.provider)
    assert.ok(server !== undefined)
    const conversation = new Conversation(await world.open())
    conversation.user('Where is order 77?')
    const calls = [
      { tool: 'find_order', args: { id: '77' } },
      { tool: 'find_client', args: { name: 'Ann' } },
    ]
    const ran = await conversation.run(vendor.provider, [
      { thinking: 'Hm.', text: 'Looking.', calls },
      { text: 'Shipped.' },
    ])
    assert.deepEqual(ran.faults, [])
    const request = ran.received.at(-1)
    assert.ok(request !== undefined)

    const again = async (change: Spoilt['change']) => {
      server.expect(request.key, [{ text: 'Taken.' }])
      const body = JSON.parse(request.text) as Body
      change(body)
      const { connection: _c, host: _h, 'content-length': _l, ...headers } = request.headers
      const url = new URL(request.path, server.baseUrl).href
      const { status, text } = await send({ method: 'POST', url, headers, body: JSON.stringify(body) })
      return { status, text, faults: server.faults(request.key) }
    }
    const whole = await again(() => undefined)
    assert.deepEqual([whole.status, whole.faults], [200, []])
    for (const [name, { at, change, says, taken }] of Object.entries(spoilt)) {
      if (!at.includes(vendor.provider)) continue
      const { faults, status, text } = await again(change)
      assert.match(faults.join('\n'), new RegExp(says.source, 'm'), name)
      assert.equal(status === 200, taken === true, name)
      if (taken !== true) assert.equal(typeof (JSON.parse(text) as JsonObject), 'object', name)
    }
  })
}

test('the fake of GigaChat wants a token that is good, one stream at a time, and a name for its caller', async () => {
  const { live } = await world.open()
  const server = live('gigachat')
  if (server === undefined) return
  const conversation = new Conversation(await world.open())
  conversation.user('Hello?')
  const { received } = await conversation.run('gigachat', [{ text: 'Hello.' }])
  const request = received[0]
  assert.ok(request !== undefined)
  const { connection: _c, host: _h, 'content-length': _l, ...headers } = request.headers
  const url = new URL(request.path, server.baseUrl).href
  const post = (more: Record<string, string> = {}) =>
    send({ method: 'POST', url, headers: { ...headers, ...more }, body: request.text })

  server.expect(request.key, [{ text: 'One.' }, { text: 'Two.' }])
  const { 'user-agent': _agent, ...unnamed } = headers
  const nameless = await send({ method: 'POST', url, headers: unnamed, body: request.text })
  assert.deepEqual([nameless.status, nameless.text], [403, '{"status":403,"message":"Unauthorized"}'])

  server.expect(request.key, [{ text: 'Wait', hang: true }])
  const first = send({ method: 'POST', url, headers, body: request.text }).catch(() => undefined)
  await server.nth(request.key, 1)
  assert.equal((await post()).status, 429)
  server.tokens?.revoke()
  assert.equal((await post()).status, 401)
  await world.close()
  await first
})
