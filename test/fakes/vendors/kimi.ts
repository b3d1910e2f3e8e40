/** Kimi (Moonshot) behind its Messages API. Source: Moonshot's platform documents and reports of its users, October 2026. */
import { MESSAGES_FIELDS, MESSAGES_SENTENCES } from './anthropic.ts'
import { MessagesAnswer, type MessagesStream } from './messages-answer.ts'
import { judgeMessages, type MessagesModel, type MessagesRules } from './messages-rules.ts'
import { eventOf, type Vendor } from './vendor.ts'

const K3: MessagesModel = {
  thinking: ['enabled'],
  thinksUnasked: true,
  alwaysThinks: true,
  efforts: ['low', 'high', 'max'],
  sampling: 'none',
  forcedChoice: true,
  bound: false,
  maxTokens: 1_048_576,
  display: 'summarized',
}

const RULES: MessagesRules = {
  models: {
    'kimi-k3.1-pro': K3,
    'kimi-k3': K3,
    'kimi-k2.6': { ...K3, thinking: ['enabled', 'disabled'], alwaysThinks: false, efforts: [], maxTokens: 262_144 },
  },
  fields: MESSAGES_FIELDS,
  ignoredFields: [],
  signatures: 'unread',
  callsNeedThinking: true,
  cacheMarks: Infinity,
  temperature: { above: -1, most: 1 },
  callIds: /^.{1,64}$/,
  idsNameTools: true,
  propertyNames: /^/,
  typedSchemas: true,
  forms: false,
  says: {
    ...MESSAGES_SENTENCES,
    noResult: (_index, ids) => `Invalid request: tool_call_ids did not have response messages: ${ids.join(', ')}`,
    noCall: () => 'Invalid request: tool_call_id  is not found',
    thinkingMissing: (index) =>
      `thinking is enabled but reasoning_content is missing in assistant tool call message at index ${index}`,
  },
}

const STREAM: MessagesStream = {
  callId: (tool, number) => `${tool}:${number}`,
  signs: false,
  interleaves: false,
  pings: true,
  countsWrites: true,
  countsThinking: false,
}

const TYPES: Readonly<Record<number, string>> = {
  401: 'invalid_authentication_error',
  404: 'resource_not_found_error',
}

export const kimi: Vendor = {
  provider: 'kimi',
  model: 'kimi-k3.1-pro',
  otherModels: ['kimi-k3', 'kimi-k2.6'],
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
    error: { type: TYPES[status] ?? 'invalid_request_error', message },
  }),
  streamErrors: {
    passing: eventOf(
      {
        type: 'error',
        error: {
          type: 'overloaded_error',
          message: 'The engine is currently overloaded, please try again later',
        },
      },
      'error',
    ),
    final: eventOf(
      {
        type: 'error',
        error: {
          type: 'exceeded_current_quota_error',
          message: 'You exceeded your current token quota, please check your account balance',
        },
      },
      'error',
    ),
  },
}
