/**
 * GET /providers (SPEC §2.8): what the engine knows of each provider and each group of its models. The rows that requests are
 * made from are told here, nothing else: what this says of a model is what a request to it does.
 */
import { Type, type Static } from 'typebox'
import type { JsonObject } from './json.ts'
import { PROVIDERS, THINKING } from './run-request.ts'
import { anyObject, closed, nullable, oneWordOf } from './schema.ts'

const range = () => nullable(closed({ least: Type.Number(), most: Type.Number() }, 'null: it is not taken'))

const Sampling = {
  temperature: range(),
  top_p: range(),
  both: Type.Boolean({ description: 'temperature and top_p in one request' }),
}

const body = () => anyObject('the fields that are sent')

const Thinking = Type.Unsafe<Readonly<Record<(typeof THINKING)[number] | 'unsaid', JsonObject>>>(
  closed(
    Object.fromEntries([...THINKING, 'unsaid'].map((word) => [word, body()])),
    'for each word of params.thinking, and where it says nothing',
  ),
)

const Params = closed({
  ...Sampling,
  while_thinking: nullable(closed(Sampling, 'null: the same as without')),
  max_output_tokens: closed({
    default: nullable(Type.Integer({ description: 'sent where the request says none; null: nothing is sent' })),
    most: nullable(Type.Integer({ description: 'null: not known' })),
  }),
  thinking: nullable(Thinking),
  always_thinks: Type.Boolean({ description: 'params.thinking "off" is the least of it' }),
  parallel_tool_calls: Type.Boolean(),
  stop: closed({
    most: Type.Integer({ description: '0: it is not taken' }),
    bytes: nullable(Type.Integer({ description: 'of one sequence; null: not known' })),
  }),
  seed: Type.Boolean(),
})

const Models = closed({
  models: Type.Array(Type.String(), {
    description: 'ids, or their beginnings with * at the end; a lone *: every id that no other group has',
  }),
  params: Params,
  reads: Type.Array(Type.String(), { description: 'MIME types of what a user message may hold beside text' }),
  reads_urls: Type.Boolean({
    description: 'images it reads may be given by url, which the provider fetches; else the engine does',
  }),
  reasoning: closed({
    goes_back_to: oneWordOf(['family', 'model', 'nobody'], 'who is sent the reasoning that a model of it wrote'),
    stand_in: nullable(
      closed(
        { text: Type.String(), on: oneWordOf(['calls', 'all'], 'the assistant messages that it stands on') },
        'what stands where reasoning is demanded and there is none; null: nothing does',
      ),
    ),
  }),
  cache: oneWordOf(
    ['marked', 'automatic', 'unknown'],
    'marked: requests say what to cache; automatic: the provider caches by itself',
  ),
  calls_per_turn: oneWordOf(['many', 'one']),
  without_tools: oneWordOf(
    ['tool_choice_none', 'omits_tools', 'omits_tools_while_thinking'],
    'how a step without tools is asked for',
  ),
  output: closed(
    {
      form: nullable(
        oneWordOf(
          ['json_schema', 'json_object'],
          'how output.schema is asked for; null: in words, as everywhere beside',
        ),
      ),
      beside_tools: Type.Boolean({ description: 'also on a step that may use tools' }),
    },
    'the engine checks the answer in any case',
  ),
  abort_stops_billing: oneWordOf(['yes', 'no', 'unknown']),
  concurrency: nullable(Type.Integer({ description: 'requests at once for one key; null: not known' })),
})

const Provider = closed({
  provider: oneWordOf(PROVIDERS),
  profile: nullable(Type.String({ description: 'llm.profile of an openai-compatible server' })),
  dialect: oneWordOf(['anthropic', 'openai-chat', 'openai-responses', 'gigachat']),
  address: nullable(Type.String({ description: 'its own; null: base_url or address_variable says it' })),
  address_variable: nullable(Type.String({ description: 'what an operator may set instead' })),
  key_variable: nullable(
    Type.String({ description: 'where the engine finds a key; null: the request brings it, or none is needed' }),
  ),
  key_is: oneWordOf(['bearer', 'x-api-key', 'exchanged', 'none'], 'how the key travels'),
  notes: Type.Array(Type.String()),
  models: Type.Array(Models),
})
export type ProviderInfo = Static<typeof Provider>
export type ModelsInfo = ProviderInfo['models'][number]

export const ProviderList = closed({ providers: Type.Array(Provider) })
export type ProviderList = Static<typeof ProviderList>
