/**
 * Mistral, which is asked as `openai-compatible` with a profile: the strictest server of chat completions that is known. Source:
 * Mistral's API reference and reports of its users, November 2026.
 */
import { ChatAnswer, type ChatStream } from './chat-answer.ts'
import { judgeChat, type ChatRules } from './chat-rules.ts'
import { CHAT_SENTENCES } from './chat-sentences.ts'
import { openaiCompatible } from './openai-compatible.ts'
import type { Vendor } from './vendor.ts'

const RULES: ChatRules = {
  models: {
    '*': {
      vision: true,
      maxTokens: 131_072,
      thinking: [],
      thinksUnasked: true,
      efforts: ['none', 'high'],
    },
  },
  fields: [
    'model',
    'messages',
    'stream',
    'max_tokens',
    'temperature',
    'top_p',
    'stop',
    'random_seed',
    'tools',
    'tool_choice',
    'parallel_tool_calls',
    'reasoning_effort',
    'response_format',
  ],
  temperature: { above: -1, most: 1.5 },
  topP: { least: 0, most: 1 },
  temperatureWhileThinking: true,
  stops: 4,
  forms: ['text', 'json_object', 'json_schema'],
  tools: 128,
  toolChoices: ['auto', 'none', 'any', 'required'],
  toolChoiceWhileThinking: true,
  callIds: /^[a-zA-Z0-9]{9}$/,
  strictRoles: true,
  nullContent: true,
  reasoning: 'kept',
  says: {
    ...CHAT_SENTENCES,
    unknownField: (field) => `Extra inputs are not permitted: body.${field}`,
    empty: 'Assistant message must have either content or tool_calls, but not none.',
    noResults: () => 'Not the same number of function calls and responses',
    badId: (id) => `Tool call id was ${id} but must be a-z, A-Z, 0-9, with a length of 9.`,
  },
}

const STREAM: ChatStream = {
  callId: (number) => `m${String(number).padStart(8, '0')}`,
  wholeCalls: true,
  usageAt: 'finish',
  cached: (cacheRead) => ({ prompt_tokens_details: { cached_tokens: cacheRead } }),
  nulls: false,
  keepsAlive: false,
  countsThinking: true,
}

export const mistral: Vendor = {
  ...openaiCompatible,
  profile: 'mistral',
  model: 'mistral-large-latest',
  judge(body, _headers, issued, judge) {
    const facts = judgeChat(body, RULES, issued, judge)
    return (response) => new ChatAnswer(response, facts, STREAM, issued)
  },
  error: ({ message, status }) => ({ object: 'error', message, type: 'invalid_request_error', code: String(status) }),
}
