/** OpenAI's Responses API, without a store. Source: OpenAI's API reference and guides, November 2026. */
import { ResponsesAnswer } from './responses-answer.ts'
import { judgeResponses, type ResponsesModel } from './responses-rules.ts'
import { eventOf, type Vendor } from './vendor.ts'

const MODELS: Readonly<Record<string, ResponsesModel>> = {
  'gpt-6.2-sol': {
    efforts: ['low', 'medium', 'high', 'xhigh', 'max'],
    sampling: 'never',
    bound: true,
    maxTokens: 128_000,
  },
  'gpt-5.5': {
    efforts: ['none', 'low', 'medium', 'high', 'xhigh'],
    sampling: 'at_rest',
    bound: false,
    maxTokens: 128_000,
  },
  'gpt-4.1': { efforts: [], sampling: 'always', bound: false, maxTokens: 32_768 },
}

export const openai: Vendor = {
  provider: 'openai',
  model: 'gpt-6.2-sol',
  otherModels: ['gpt-5.5', 'gpt-4.1'],
  blindModel: null,
  basePath: '/v1',
  path: '/v1/responses',
  oneCall: false,
  streamsAtOnce: Infinity,
  tells: { cacheWrite: true, reasoning: true },
  hasCallIds: true,
  refusalStatus: 400,
  judge(body, _headers, issued, judge) {
    const facts = judgeResponses(body, MODELS, issued, judge)
    return (response) => new ResponsesAnswer(response, facts, issued)
  },
  error: ({ code, message, param, status }) => ({
    error: {
      message,
      type: 'invalid_request_error',
      param: param === '' ? null : param,
      code: status === 401 ? 'invalid_api_key' : code === '' ? null : code,
    },
  }),
  streamErrors: {
    passing: eventOf(
      {
        type: 'response.failed',
        sequence_number: 9,
        response: {
          id: 'resp_failed',
          object: 'response',
          status: 'failed',
          output: [],
          usage: null,
          error: { code: 'server_error', message: 'An error occurred while processing your request.' },
        },
      },
      'response.failed',
    ),
    // Nested, as it really comes, and not flat as it is documented.
    final: eventOf(
      {
        type: 'error',
        sequence_number: 2,
        error: {
          type: 'insufficient_quota',
          code: 'insufficient_quota',
          message: 'You exceeded your current quota, please check your plan and billing details.',
          param: null,
        },
      },
      'error',
    ),
  },
}
