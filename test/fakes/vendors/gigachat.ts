/** GigaChat's v1 API with functions. Source: the vendor's API reference and the notes of its users, October 2026. */
import { FunctionsAnswer } from './functions-answer.ts'
import { judgeFunctions, type FunctionsModel } from './functions-rules.ts'
import { eventOf, type Vendor } from './vendor.ts'

const MODELS: Readonly<Record<string, FunctionsModel>> = {
  'GigaChat-2-Max': { maxTokens: 8192 },
  'GigaChat-3-Ultra': { maxTokens: 8192 },
}

export const gigachat: Vendor = {
  provider: 'gigachat',
  model: 'GigaChat-2-Max',
  otherModels: ['GigaChat-3-Ultra'],
  // Images are taken by the id of an upload only.
  blindModel: 'GigaChat-2-Max',
  basePath: '/v1',
  path: '/v1/chat/completions',
  oneCall: true,
  // Persons have one stream a key.
  streamsAtOnce: 1,
  tells: { cacheWrite: false, reasoning: false },
  hasCallIds: false,
  refusalStatus: 422,
  judge(body, headers, issued, judge) {
    if (headers['user-agent'] === undefined) judge.refuse('Unauthorized', { status: 403 })
    const facts = judgeFunctions(body, MODELS, issued, judge)
    return (response) => new FunctionsAnswer(response, facts, issued)
  },
  error: ({ message, status }) => ({ status, message }),
  streamErrors: {
    passing: eventOf({ status: 500, message: 'Internal Server Error' }),
    final: eventOf({ status: 402, message: 'Payment Required' }),
  },
}
