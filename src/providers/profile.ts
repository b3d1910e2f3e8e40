/**
 * Profiles: what differs between vendors and model families that speak one dialect, as data. A row says what a request may
 * hold and how an answer is to be read; no dialect asks for a vendor's name. The same rows are what GET /providers tells.
 *
 * A new vendor is a new row here; a dialect is touched only where a vendor needs a rule that none has yet.
 */
import type { JsonObject } from '../contract/json.ts'
import type { ProviderName, Target, Thinking } from '../contract/run-request.ts'
import { claudeFamily } from './claude-family.ts'
import { compatibleServers } from './compatible-servers.ts'
import { deepseekRow } from './deepseek.ts'
import type { Dialect } from './dialect.ts'
import { gigachatModel } from './gigachat/row.ts'
import { glmRow } from './glm.ts'
import { kimiRow } from './kimi.ts'
import { minimaxRow } from './minimax.ts'
import { openaiModel } from './openai-models.ts'
import type { OutputRules } from './output-form.ts'
import { ANTHROPIC_STRICT, OPENAI_STRICT } from './schema-subsets.ts'

export interface Profile extends ParamRules {
  readonly provider: ProviderName
  readonly dialect: Dialect['name']
  /** Without a slash at its end; null: the request must say `base_url`. */
  readonly baseUrl: string | null
  readonly auth: 'bearer' | 'x-api-key' | 'none'
  /** The key itself is not sent: it is exchanged for an access token (`credentials.ts`). */
  readonly exchangesKey: boolean
  /** Requests at once that the vendor lets one key have; null: not known, the key's window finds out. */
  readonly concurrency: number | null
  /** Stamped on every `provider_data`: material with another stamp is foreign and never goes back. */
  readonly family: string
  /** Own reasoning goes back to every model of the family, only to the one that wrote it, or to none. */
  readonly reasoningGoesTo: 'family' | 'model' | 'nobody'
  /** Stands where the family demands reasoning on an assistant message that has none of its own. */
  readonly reasoningFill: { readonly text: string; readonly on: 'calls' | 'all' } | null
  /** Native call ids that may go back as they are; null: all of them. */
  readonly nativeCallIds: RegExp | null
  /** Form of the ids made for calls without a native one: see `call-id.ts`. */
  readonly madeCallIds: 'short' | 'nine' | 'numbered'
  /** MIME types of what a user message may hold beside text; `[]`: none. `image/*` stands for every image. */
  readonly reads: readonly string[]
  /**
   * Of those what may be given by its address, which the vendor then fetches; the rest is fetched by the engine
   * (`sent-part.ts`).
   */
  readonly readsByUrl: readonly string[]
  /** A step without tools says `none`, or leaves the tools out where `none` is not known or not taken. */
  readonly toolChoiceNone: 'send' | 'omit_tools' | 'omit_tools_while_thinking'
  /** A tool's schema with a node that has no type is refused. */
  readonly typedSchemas: boolean
  /** How an answer that must fit a schema is asked for. */
  readonly output: OutputRules
  /** Fields of every request. */
  readonly extraBody: JsonObject
  readonly anthropic: AnthropicRules
  readonly chat: ChatRules
  readonly facts: Facts
}

/** What is told of a model and changes no request. */
export interface Facts {
  /** `marked`: the requests mark what is to be cached; `automatic`: the vendor caches by itself. */
  readonly cache: 'marked' | 'automatic' | 'unknown'
  /** Calls in one answer. */
  readonly callsPerTurn: 'many' | 'one'
  /** Whether closing the connection ends what is billed. */
  readonly abortStopsBilling: 'yes' | 'no' | 'unknown'
  /** One sentence each, for whoever sets the provider up. */
  readonly notes: readonly string[]
}

/** What a model takes of `params`; what it does not take is left out with a warning. */
export interface ParamRules {
  readonly sampling: SamplingRules
  /** null: the same as without. */
  readonly samplingWhileThinking: SamplingRules | null
  /** At most so many stop sequences; 0: the field is not taken. */
  readonly stops: number
  /** Of one stop sequence, UTF-8; null: not known. */
  readonly stopBytes: number | null
  readonly seed: boolean
  readonly parallelToolCalls: boolean
  /** null: the field is not taken. */
  readonly thinking: ThinkingRules | null
  /** Where `params.max_output_tokens` says nothing: null leaves the field out. */
  readonly maxTokens: number | null
  /** More than this is refused; null: not known. */
  readonly maxTokensMost: number | null
}

/** Values outside a range are brought to its border; null: the field is not taken. */
export interface SamplingRules {
  readonly temperature: Range | null
  readonly top_p: Range | null
  /** Both in one request. */
  readonly together: boolean
}

export interface Range {
  readonly least: number
  readonly most: number
}

/** What is sent for each word of `params.thinking`, and where it says nothing. */
export type ThinkingRules = Readonly<Record<Thinking | 'unsaid', ThinkingRule>>

export interface ThinkingRule {
  readonly body: JsonObject
  /** The model thinks with this body, so that `samplingWhileThinking` holds. */
  readonly thinks: boolean
}

interface AnthropicRules {
  /** Sent as `anthropic-beta`. */
  readonly betas: readonly string[]
  readonly cacheControl: boolean
  /** A thinking block may go back with an empty signature; else it is left out. */
  readonly emptySignature: boolean
  /** Names that a tool's argument may have; others are replaced on the way. null: any. */
  readonly propertyNames: RegExp | null
  /** Arguments may come wrapped as one text into a field that no tool declares. */
  readonly wrapsArguments: boolean
}

export interface ChatRules {
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens'
  /** Asks for usage by `stream_options`. */
  readonly streamOptions: boolean
  /** `content` of an assistant message that only calls tools. */
  readonly emptyContent: null | ''
  /** Adjacent messages of one role are merged: for servers that demand alternation. */
  readonly alternates: boolean
  /** Words of the assistant where a user's would follow a tool's, for servers that refuse that; null: none. */
  readonly afterTools: string | null
  /** Reasoning may stand in the content between `<think>` tags. */
  readonly thinkTags: boolean
  /** A piece of `reasoning_details` may hold the whole text so far. */
  readonly repeatsDetails: boolean
  readonly seedField: 'seed' | 'random_seed'
  /** Fields of every request with tools. */
  readonly withTools: JsonObject
}

/** What a row says beside what holds for any compatible server. */
export type ProfileRow = Partial<Omit<Profile, 'anthropic' | 'chat' | 'facts' | 'output'>> & {
  readonly output?: Partial<OutputRules>
  readonly anthropic?: Partial<AnthropicRules>
  readonly chat?: Partial<ChatRules>
  readonly facts?: Partial<Facts>
}

/** Any server that speaks OpenAI's chat completions: the smallest request, the most tolerant reading. */
const COMPATIBLE: Profile = {
  provider: 'openai-compatible',
  dialect: 'openai-chat',
  baseUrl: null,
  auth: 'bearer',
  exchangesKey: false,
  concurrency: null,
  family: 'openai-compatible',
  reasoningGoesTo: 'model',
  reasoningFill: null,
  nativeCallIds: null,
  madeCallIds: 'short',
  reads: ['image/*'],
  readsByUrl: ['image/*'],
  toolChoiceNone: 'send',
  typedSchemas: false,
  output: { form: null, subset: OPENAI_STRICT, loose: false, besideTools: false, shown: false },
  extraBody: {},
  sampling: { temperature: { least: 0, most: 2 }, top_p: { least: 0, most: 1 }, together: true },
  samplingWhileThinking: null,
  stops: 4,
  stopBytes: null,
  seed: true,
  parallelToolCalls: true,
  thinking: null,
  maxTokens: null,
  maxTokensMost: null,
  anthropic: { betas: [], cacheControl: false, emptySignature: false, propertyNames: null, wrapsArguments: false },
  chat: {
    maxTokensField: 'max_tokens',
    streamOptions: true,
    emptyContent: null,
    alternates: false,
    afterTools: null,
    thinkTags: false,
    repeatsDetails: false,
    seedField: 'seed',
    withTools: {},
  },
  facts: { cache: 'unknown', callsPerTurn: 'many', abortStopsBilling: 'unknown', notes: [] },
}

type Rower = (target: Pick<Target, 'model' | 'profile'>) => ProfileRow

const rows: { readonly [P in ProviderName]?: Rower } = {
  anthropic: ({ model }) => ({
    provider: 'anthropic',
    dialect: 'anthropic',
    baseUrl: 'https://api.anthropic.com',
    auth: 'x-api-key',
    family: 'anthropic',
    nativeCallIds: /^[a-zA-Z0-9_-]{1,64}$/,
    reads: ['image/jpeg', 'image/png', 'image/gif', 'image/webp', 'application/pdf', 'text/*'],
    readsByUrl: ['image/*', 'application/pdf'],
    stops: 16,
    seed: false,
    output: { form: 'json_schema', subset: ANTHROPIC_STRICT, besideTools: true, shown: true },
    facts: { cache: 'marked' },
    ...claudeFamily(model),
  }),
  openai: ({ model }) => ({
    provider: 'openai',
    dialect: 'openai-responses',
    baseUrl: 'https://api.openai.com/v1',
    family: 'openai',
    nativeCallIds: /^[\x21-\x7e]{1,64}$/,
    reads: ['image/jpeg', 'image/png', 'image/gif', 'image/webp', 'application/pdf'],
    readsByUrl: ['image/*', 'application/pdf'],
    stops: 0,
    seed: false,
    // A part of the cached prefix: on one step alone it would cost the cache and the reasoning before it.
    output: { form: 'json_schema', loose: true, besideTools: true, shown: true },
    facts: { cache: 'automatic' },
    ...openaiModel(model),
  }),
  deepseek: ({ model }) => deepseekRow(model),
  glm: ({ model }) => glmRow(model),
  kimi: ({ model }) => kimiRow(model),
  minimax: ({ model }) => minimaxRow(model),
  gigachat: ({ model }) => ({
    ...gigachatModel(model),
    reasoningGoesTo: 'nobody',
    facts: { cache: 'automatic', callsPerTurn: 'one' },
  }),
  'openai-compatible': ({ model, profile }) =>
    (profile === null ? {} : compatibleServers.get(profile)?.row(model)) ?? {},
  scripted: () => ({ provider: 'scripted', auth: 'none', family: 'scripted' }),
}

/** True where this version has a row for the provider and for the `profile` that the target names, if any. */
export function hasProfile({ provider, profile }: Pick<Target, 'provider' | 'profile'>): boolean {
  if (profile !== null) return provider === 'openai-compatible' && compatibleServers.has(profile)
  return rows[provider] !== undefined
}

/**
 * The row of one model of a run's chain. Where `hasProfile` is false it is that of any compatible server, under the provider's
 * own name.
 */
export function profileFor(target: Pick<Target, 'provider' | 'model' | 'profile'>): Profile {
  const { provider } = target
  const row = rows[provider]?.(target) ?? { provider, family: provider }
  return {
    ...COMPATIBLE,
    ...row,
    anthropic: { ...COMPATIBLE.anthropic, ...row.anthropic },
    chat: { ...COMPATIBLE.chat, ...row.chat },
    output: { ...COMPATIBLE.output, ...row.output },
    facts: { ...COMPATIBLE.facts, ...row.facts },
  }
}
