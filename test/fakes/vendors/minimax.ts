/** MiniMax behind its Messages API. Source: MiniMax's platform documents and reports of its users, October 2026. */
import { MESSAGES_FIELDS, MESSAGES_SENTENCES } from './anthropic.ts'
import { MessagesAnswer, type MessagesStream } from './messages-answer.ts'
import { judgeMessages, type MessagesModel, type MessagesRules } from './messages-rules.ts'
import { eventOf, type Vendor } from './vendor.ts'

const M3: MessagesModel = {
  thinking: ['adaptive', 'disabled'],
  thinksUnasked: true,
  alwaysThinks: false,
  efforts: [],
  sampling: 'free',
  forcedChoice: true,
  bound: false,
  maxTokens: 524_288,
  display: 'summarized',
}

const RULES: MessagesRules = {
  models: {
    'MiniMax-M3.1-Flash': { ...M3, alwaysThinks: true, efforts: ['low', 'medium', 'high', 'xhigh', 'max'] },
    'MiniMax-M3': M3,
  },
  fields: MESSAGES_FIELDS,
  ignoredFields: ['top_k', 'stop_sequences', 'service_tier', 'mcp_servers', 'context_management', 'container'],
  signatures: 'unread',
  callsNeedThinking: false,
  cacheMarks: 4,
  temperature: { above: 0, most: 1 },
  callIds: /^[\x21-\x7e]{1,64}$/,
  idsNameTools: false,
  propertyNames: /^/,
  typedSchemas: false,
  forms: false,
  says: {
    ...MESSAGES_SENTENCES,
    noResult: () => 'invalid params, tool call result does not follow tool call (2013)',
    noCall: (_place, id) => `invalid params, tool result's tool id(${id}) not found (2013)`,
  },
}

const STREAM: MessagesStream = {
  callId: (_tool, number) => `call_function_x${number}_1`,
  signs: true,
  interleaves: false,
  pings: true,
  countsWrites: true,
  countsThinking: false,
}

const TYPES: Readonly<Record<number, string>> = { 401: 'authentication_error', 404: 'not_found_error' }

export const minimax: Vendor = {
  provider: 'minimax',
  model: 'MiniMax-M3.1-Flash',
  otherModels: ['MiniMax-M3'],
  blindModel: null,
  basePath: '/anthropic',
  path: '/anthropic/v1/messages',
  oneCall: false,
  streamsAtOnce: Infinity,
  tells: { cacheWrite: true, reasoning: false },
  hasCallIds: true,
  refusalStatus: 400,
  judge(body, _headers, issued, judge) {
    const facts = judgeMessages(body, RULES, issued, judge)
    return (response) => new MessagesAnswer(response, facts, STREAM, issued)
  },
  error: ({ message, status }) => ({
    type: 'error',
    error: {
      type: TYPES[status] ?? 'bad_request_error',
      message: message.endsWith('(2013)') ? message : `invalid params, ${message} (2013)`,
      http_code: String(status),
    },
    request_id: '0412',
  }),
  streamErrors: {
    passing: eventOf({ type: 'error', error: { type: 'rate_limit_error', message: 'rate limit (1002)' } }, 'error'),
    final: eventOf({ type: 'error', error: { type: 'api_error', message: 'insufficient balance (1008)' } }, 'error'),
  },
}
