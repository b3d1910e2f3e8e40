/** DeepSeek. Source: DeepSeek's API documents and the harness it publishes, October 2026. */
import { ChatAnswer, type ChatStream } from './chat-answer.ts'
import { judgeChat, type ChatModel, type ChatRules } from './chat-rules.ts'
import { CHAT_SENTENCES } from './chat-sentences.ts'
import { eventOf, type Vendor } from './vendor.ts'

const FLASH: ChatModel = {
  vision: true,
  maxTokens: 393_216,
  thinking: ['enabled', 'disabled'],
  thinksUnasked: true,
  efforts: ['low', 'high', 'max', 'minimal', 'medium', 'xhigh', 'ultra'],
}

const RULES: ChatRules = {
  models: { 'deepseek-flash': FLASH, 'deepseek-v4-pro': { ...FLASH, vision: false } },
  fields: [
    'model',
    'messages',
    'stream',
    'stream_options',
    'max_tokens',
    'temperature',
    'top_p',
    'stop',
    'tools',
    'tool_choice',
    'thinking',
    'reasoning_effort',
    'response_format',
    'user_id',
    'presence_penalty',
    'frequency_penalty',
    'logprobs',
    'top_logprobs',
  ],
  temperature: { above: -1, most: 2 },
  topP: { least: 0, most: 1 },
  temperatureWhileThinking: false,
  stops: 16,
  forms: ['text', 'json_object'],
  tools: 128,
  toolChoices: ['auto', 'none', 'required'],
  toolChoiceWhileThinking: false,
  callIds: /^.{1,64}$/s,
  strictRoles: false,
  nullContent: false,
  reasoning: 'demanded',
  says: {
    ...CHAT_SENTENCES,
    role: (index, role, allowed) =>
      `Failed to deserialize the JSON body into the target type: messages[${index}].role: unknown variant \`${role}\`, expected one of ${allowed.map((word) => `\`${word}\``).join(', ')}`,
    image: (index) =>
      `Failed to deserialize the JSON body into the target type: messages[${index}]: unknown variant \`image_url\`, expected \`text\``,
    forcedChoice: 'Thinking mode does not support this tool_choice',
    reasoningMissing: () => 'The `reasoning_content` in the thinking mode must be passed back to the API.',
    empty: 'Invalid assistant message: content or tool_calls must be set',
  },
}

const STREAM: ChatStream = {
  callId: (number, index) => `call_0${index}_${number}`,
  wholeCalls: false,
  usageAt: 'finish',
  cached: (cacheRead, rest) => ({
    prompt_cache_hit_tokens: cacheRead,
    prompt_cache_miss_tokens: rest,
    prompt_tokens_details: { cached_tokens: cacheRead },
  }),
  nulls: true,
  keepsAlive: true,
  countsThinking: true,
}

export const deepseek: Vendor = {
  provider: 'deepseek',
  model: 'deepseek-flash',
  otherModels: ['deepseek-v4-pro'],
  blindModel: 'deepseek-v4-pro',
  basePath: '',
  path: '/chat/completions',
  oneCall: false,
  streamsAtOnce: Infinity,
  tells: { cacheWrite: false, reasoning: true },
  hasCallIds: true,
  refusalStatus: 400,
  judge(body, _headers, issued, judge) {
    const facts = judgeChat(body, RULES, issued, judge)
    return (response) => new ChatAnswer(response, facts, STREAM, issued)
  },
  error: ({ message }) => ({
    error: { message, type: 'invalid_request_error', param: null, code: 'invalid_request_error' },
  }),
  streamErrors: {
    passing: eventOf({
      error: { message: 'Service is too busy', type: 'server_error', param: null, code: 'server_error' },
    }),
    final: eventOf({
      error: { message: 'Insufficient Balance', type: 'unknown_error', param: null, code: 'invalid_request_error' },
    }),
  },
}
