/** GLM (Z.ai). Source: Z.ai's API reference and error codes, October 2026. */
import { ChatAnswer, type ChatStream } from './chat-answer.ts'
import { judgeChat, type ChatModel, type ChatRules } from './chat-rules.ts'
import { CHAT_SENTENCES } from './chat-sentences.ts'
import { eventOf, type Vendor } from './vendor.ts'

const GLM_5_3: ChatModel = {
  vision: false,
  maxTokens: 131_072,
  thinking: ['enabled'],
  thinksUnasked: true,
  efforts: ['low', 'high', 'max'],
}

const RULES: ChatRules = {
  models: {
    'glm-5.3': GLM_5_3,
    'glm-5.3-flash': { ...GLM_5_3, vision: true },
    'glm-5.2': {
      ...GLM_5_3,
      thinking: ['enabled', 'disabled'],
      efforts: ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
    },
    'glm-4.6': { ...GLM_5_3, thinking: ['enabled', 'disabled'], efforts: [] },
    'glm-4.5-air': { ...GLM_5_3, thinking: ['enabled', 'disabled'], efforts: [], maxTokens: 98_304 },
  },
  fields: [
    'model',
    'messages',
    'stream',
    'stream_options',
    'max_tokens',
    'temperature',
    'top_p',
    'do_sample',
    'stop',
    'tools',
    'tool_choice',
    'tool_stream',
    'thinking',
    'reasoning_effort',
    'response_format',
    'request_id',
    'user_id',
  ],
  temperature: { above: 0, most: 1 },
  topP: { least: 0.01, most: 1 },
  temperatureWhileThinking: true,
  stops: 1,
  forms: ['text', 'json_object'],
  tools: 128,
  toolChoices: ['auto'],
  toolChoiceWhileThinking: true,
  callIds: /^.{1,64}$/s,
  strictRoles: false,
  nullContent: true,
  reasoning: 'in_loop',
  says: {
    ...CHAT_SENTENCES,
    unknownField: (field) => `The ${field} parameter is illegal. Please check the documentation.`,
    role: () => 'The role parameter is illegal. Please check the documentation.',
    image: () => 'The messages.content.type parameter is illegal. Please check the documentation.',
    badParam: (field) => `The ${field} parameter is illegal. Please check the documentation.`,
    forcedChoice: 'The tool_choice parameter is illegal. Please check the documentation.',
    empty: 'The prompt parameter was not received normally.',
    noResults: () => 'The messages parameter is illegal. Please check the documentation.',
    noCall: () => 'The messages parameter is illegal. Please check the documentation.',
  },
}

const STREAM: ChatStream = {
  callId: (number) => `call_81${number}`,
  wholeCalls: true,
  usageAt: 'finish',
  cached: (cacheRead) => ({ prompt_tokens_details: { cached_tokens: cacheRead } }),
  nulls: false,
  keepsAlive: false,
  countsThinking: true,
}

const CODES: Readonly<Record<number, string>> = { 401: '1001', 404: '1211' }

export const glm: Vendor = {
  provider: 'glm',
  model: 'glm-5.3',
  otherModels: ['glm-5.3-flash', 'glm-5.2', 'glm-4.6', 'glm-4.5-air'],
  blindModel: 'glm-5.3',
  basePath: '/api/paas/v4',
  path: '/api/paas/v4/chat/completions',
  oneCall: false,
  streamsAtOnce: Infinity,
  tells: { cacheWrite: false, reasoning: true },
  hasCallIds: true,
  refusalStatus: 400,
  judge(body, _headers, issued, judge) {
    const facts = judgeChat(body, RULES, issued, judge)
    return (response) => new ChatAnswer(response, facts, STREAM, issued)
  },
  error: ({ message, status }) => ({ error: { code: CODES[status] ?? '1214', message } }),
  streamErrors: {
    passing: eventOf({ error: { code: '1305', message: 'The API has triggered a rate limit.' } }),
    final: eventOf({ error: { code: '1113', message: 'Your account is in arrears, please recharge and try again.' } }),
  },
}
