/** Anthropic: the Messages API at home, with every rule of its own. Source: Anthropic's API reference, November 2026. */
import type { IncomingHttpHeaders } from 'node:http'
import { isObject, type WireObject } from '../../../src/providers/wire-value.ts'
import type { Judge } from './judge.ts'
import { MessagesAnswer, type MessagesStream } from './messages-answer.ts'
import { judgeMessages, type MessagesModel, type MessagesRules, type MessagesSentences } from './messages-rules.ts'
import { eventOf, type Vendor } from './vendor.ts'

const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'] as const

const ALWAYS_BOUND: MessagesModel = {
  thinking: ['adaptive'],
  thinksUnasked: true,
  alwaysThinks: true,
  efforts: EFFORTS,
  sampling: 'none',
  forcedChoice: false,
  bound: true,
  maxTokens: 128_000,
  display: 'omitted',
}

const MODELS: Readonly<Record<string, MessagesModel>> = {
  'claude-opus-5-5': ALWAYS_BOUND,
  'claude-haiku-5-5': { ...ALWAYS_BOUND, thinking: ['adaptive', 'disabled'], alwaysThinks: false, forcedChoice: true },
  'claude-opus-5': {
    ...ALWAYS_BOUND,
    thinking: ['adaptive', 'disabled'],
    alwaysThinks: false,
    forcedChoice: true,
    bound: false,
  },
  'claude-opus-4-6': {
    thinking: ['adaptive', 'enabled', 'disabled'],
    thinksUnasked: false,
    alwaysThinks: false,
    efforts: ['low', 'medium', 'high', 'max'],
    sampling: 'one',
    forcedChoice: true,
    bound: false,
    maxTokens: 128_000,
    display: 'summarized',
  },
  'claude-sonnet-4-5': {
    thinking: ['enabled', 'disabled'],
    thinksUnasked: false,
    alwaysThinks: false,
    efforts: [],
    sampling: 'one',
    forcedChoice: true,
    bound: false,
    maxTokens: 64_000,
    display: 'summarized',
  },
}

export const MESSAGES_FIELDS = [
  'model',
  'max_tokens',
  'messages',
  'system',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'stop_sequences',
  'temperature',
  'top_p',
  'top_k',
  'stream',
  'metadata',
] as const

export const MESSAGES_SENTENCES: MessagesSentences = {
  noResult: (index, ids) =>
    `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
  noCall: (place, id) =>
    `${place}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
  thinkingMissing: (index) => `messages.${index}: thinking is missing`,
}

const RULES: MessagesRules = {
  models: MODELS,
  fields: [...MESSAGES_FIELDS, 'service_tier', 'speed', 'inference_geo', 'container', 'cache_control'],
  ignoredFields: [],
  signatures: 'verified',
  callsNeedThinking: false,
  cacheMarks: 4,
  temperature: { above: -1, most: 1 },
  callIds: /^[a-zA-Z0-9_-]{1,64}$/,
  idsNameTools: false,
  propertyNames: /^[a-zA-Z0-9_.-]{1,64}$/,
  typedSchemas: false,
  forms: true,
  says: MESSAGES_SENTENCES,
}

const STREAM: MessagesStream = {
  callId: (_tool, number) => `toolu_01${String(number).padStart(22, 'A')}`,
  signs: true,
  interleaves: true,
  pings: true,
  countsWrites: true,
  countsThinking: true,
}

const VERSIONS: readonly unknown[] = ['2023-06-01', '2026-10-21']
const BINDING_BETA = 'thinking-binding-controls-2026-08-01'

function judgeHeaders(body: WireObject, headers: IncomingHttpHeaders, judge: Judge): void {
  const { thinking } = body
  const version = headers['anthropic-version']
  if (!VERSIONS.includes(version)) judge.refuse('anthropic-version: header is required')
  const binds = isObject(thinking) && thinking['block_binding'] !== undefined
  if (binds && !String(headers['anthropic-beta']).split(',').includes(BINDING_BETA)) {
    judge.refuse('thinking.adaptive.block_binding: Extra inputs are not permitted')
  }
}

const TYPES: Readonly<Record<number, string>> = { 401: 'authentication_error', 404: 'not_found_error' }

export const anthropic: Vendor = {
  provider: 'anthropic',
  model: 'claude-opus-5-5',
  otherModels: ['claude-haiku-5-5', 'claude-opus-5', 'claude-opus-4-6', 'claude-sonnet-4-5'],
  blindModel: null,
  basePath: '',
  path: '/v1/messages',
  oneCall: false,
  streamsAtOnce: Infinity,
  tells: { cacheWrite: true, reasoning: true },
  hasCallIds: true,
  refusalStatus: 400,
  judge(body, headers, issued, judge) {
    judgeHeaders(body, headers, judge)
    const facts = judgeMessages(body, RULES, issued, judge)
    return (response) => new MessagesAnswer(response, facts, STREAM, issued)
  },
  error: ({ message, status }) => ({
    type: 'error',
    error: { type: TYPES[status] ?? 'invalid_request_error', message },
    request_id: 'req_011',
  }),
  streamErrors: {
    passing: eventOf({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }, 'error'),
    final: eventOf(
      { type: 'error', error: { type: 'billing_error', message: 'Your credit balance is too low' } },
      'error',
    ),
  },
}
