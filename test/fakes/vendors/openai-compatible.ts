/**
 * A server of nobody in particular that speaks chat completions and takes nothing but their plainest fields: what the engine
 * sends where it knows nothing of a server.
 */
import { ChatAnswer, type ChatStream } from './chat-answer.ts'
import { judgeChat, type ChatRules } from './chat-rules.ts'
import { CHAT_SENTENCES } from './chat-sentences.ts'
import { eventOf, type Vendor } from './vendor.ts'

const RULES: ChatRules = {
  models: { '*': { vision: true, maxTokens: 65_536, thinking: [], thinksUnasked: true, efforts: [] } },
  fields: [
    'model',
    'messages',
    'stream',
    'stream_options',
    'max_tokens',
    'temperature',
    'top_p',
    'stop',
    'seed',
    'tools',
    'tool_choice',
    'parallel_tool_calls',
  ],
  temperature: { above: -1, most: 2 },
  topP: { least: 0, most: 1 },
  temperatureWhileThinking: true,
  stops: 4,
  forms: [],
  tools: 128,
  toolChoices: ['auto', 'none'],
  toolChoiceWhileThinking: true,
  callIds: /^.{1,40}$/s,
  strictRoles: false,
  nullContent: true,
  reasoning: 'kept',
  says: CHAT_SENTENCES,
}

const STREAM: ChatStream = {
  callId: (number) => `chatcmpl-tool-${number}`,
  wholeCalls: false,
  usageAt: 'own_chunk',
  cached: (cacheRead) => ({ prompt_tokens_details: { cached_tokens: cacheRead } }),
  nulls: false,
  keepsAlive: false,
  countsThinking: true,
}

export const openaiCompatible: Vendor = {
  provider: 'openai-compatible',
  model: 'some-model',
  otherModels: [],
  blindModel: null,
  basePath: '/v1',
  path: '/v1/chat/completions',
  oneCall: false,
  streamsAtOnce: Infinity,
  tells: { cacheWrite: false, reasoning: true },
  hasCallIds: true,
  refusalStatus: 400,
  judge(body, _headers, issued, judge) {
    const facts = judgeChat(body, RULES, issued, judge)
    return (response) => new ChatAnswer(response, facts, STREAM, issued)
  },
  error: ({ message, status }) => ({ error: { message, type: 'BadRequestError', param: null, code: status } }),
  streamErrors: {
    passing: eventOf({ error: { message: 'Upstream is overloaded', type: 'server_error', code: 503 } }),
    final: eventOf({
      error: { message: 'You exceeded your current quota', type: 'insufficient_quota', code: 'insufficient_quota' },
    }),
  },
}
