/**
 * Servers that speak chat completions and whose habits are known, by the name that `llm.profile` gives them: what each takes
 * beyond the least of any such server, and where it is. Sources: the servers' own documentation, November 2026, and where
 * it says nothing what clients of theirs send; docs/providers.md tells which is which.
 *
 * A server that is a company's has its one address here, and its key comes with the request. One that anybody runs has none.
 */
import type { JsonObject } from '../contract/json.ts'
import { type ModelTable, patternsOf, rulesFor } from './model-table.ts'
import { minimaxChatRow, minimaxModels } from './minimax.ts'
import type { ProfileRow, ThinkingRule, ThinkingRules } from './profile.ts'

export interface CompatibleServer {
  row(model: string): ProfileRow
  /** Patterns of models with rules of their own. */
  readonly models: readonly string[]
}

function thinks(body: JsonObject): ThinkingRule {
  return { body, thinks: true }
}

const OWN: ThinkingRule = { body: {}, thinks: true }

/** @param off null: the model cannot be kept from thinking, and thinks the least it can */
function levels(off: JsonObject | null, of: (level: 'low' | 'medium' | 'high' | 'max') => JsonObject): ThinkingRules {
  const low = thinks(of('low'))
  return {
    off: off === null ? low : { body: off, thinks: false },
    low,
    medium: thinks(of('medium')),
    high: thinks(of('high')),
    max: thinks(of('max')),
    unsaid: OWN,
  }
}

const capped = (level: string) => (level === 'max' ? 'high' : level)
const EFFORTS = levels({ reasoning_effort: 'none' }, (level) => ({ reasoning_effort: capped(level) }))
const EFFORTS_ALWAYS = levels(null, (level) => ({ reasoning_effort: capped(level) }))

/** The switch is an argument of the model's own chat template, the level a field that templates with levels read. */
const TEMPLATE = levels({ chat_template_kwargs: { enable_thinking: false } }, (level) => ({
  chat_template_kwargs: { enable_thinking: true },
  reasoning_effort: capped(level),
}))

const RUNS_ANYWHERE =
  'anybody runs it: base_url says where, or OPENAI_COMPATIBLE_BASE_URL; a key only where it asks for one'
const LLAMA_CPP = 'tools need the server to be started with --jinja'
const OLLAMA = 'a conversation longer than its num_ctx is cut without a word'
const OWN_KEY = 'its key comes with the request: the environment has none for it'

/** Where tools can be called too a grammar may keep the model from calling them. */
const SCHEMA = { form: 'json_schema' } as const

/** Tags are looked for at the beginning of an answer, and mean nothing anywhere else. */
const local: ProfileRow = { stops: 16, chat: { thinkTags: true } }

const GROQ: ModelTable<ProfileRow> = {
  groups: [
    { models: ['openai/gpt-oss*'], rules: { thinking: EFFORTS_ALWAYS } },
    {
      models: ['qwen/*'],
      rules: { thinking: levels({ reasoning_effort: 'none' }, () => ({ reasoning_effort: 'default' })) },
    },
  ],
  others: {},
}

const MISTRAL: ModelTable<ProfileRow> = {
  groups: [{ models: ['magistral*'], rules: { thinking: null } }],
  others: { thinking: levels({ reasoning_effort: 'none' }, () => ({ reasoning_effort: 'high' })) },
}

const PLAIN_GROK: ProfileRow = { stops: 4, thinking: null }
const XAI: ModelTable<ProfileRow> = {
  groups: [
    {
      models: ['grok-3-mini*'],
      rules: { thinking: levels(null, (level) => ({ reasoning_effort: level === 'low' ? 'low' : 'high' })) },
    },
    { models: ['grok-3*', 'grok-4-fast-non-reasoning*', 'grok-4-1-fast-non-reasoning*'], rules: PLAIN_GROK },
    { models: ['grok-4.20-non-reasoning*', 'grok-4.20-0309-non-reasoning*'], rules: PLAIN_GROK },
    { models: ['grok-4', 'grok-4-*', 'grok-4.20*', 'grok-code*'], rules: { thinking: null } },
    { models: ['grok-4.3*'], rules: { thinking: EFFORTS } },
  ],
  others: { thinking: EFFORTS_ALWAYS },
}

const OPENROUTER: ModelTable<ProfileRow> = {
  groups: [
    {
      models: ['anthropic/*'],
      // One mark for the whole request: the service moves it along with the end of the conversation.
      rules: { extraBody: { cache_control: { type: 'ephemeral' } }, facts: { cache: 'marked' } },
    },
  ],
  others: {},
}

export const compatibleServers: ReadonlyMap<string, CompatibleServer> = new Map<string, CompatibleServer>([
  ['vllm', { models: [], row: () => localServer('vllm', { thinking: TEMPLATE, output: SCHEMA }) }],
  ['llama.cpp', { models: [], row: () => localServer('llama.cpp', { thinking: TEMPLATE }, LLAMA_CPP) }],
  ['ollama', { models: [], row: () => localServer('ollama', { thinking: EFFORTS, output: SCHEMA }, OLLAMA) }],
  ['lmstudio', { models: [], row: () => localServer('lmstudio', { output: SCHEMA, readsByUrl: [] }) }],
  [
    'openrouter',
    {
      models: patternsOf(OPENROUTER),
      row: (model) => ({
        baseUrl: 'https://openrouter.ai/api/v1',
        family: 'openrouter',
        output: SCHEMA,
        thinking: levels({ reasoning: { effort: 'none' } }, (level) => ({
          reasoning: { effort: level === 'max' ? 'xhigh' : level },
        })),
        ...rulesFor(OPENROUTER, model),
        facts: {
          cache: 'automatic',
          ...rulesFor(OPENROUTER, model).facts,
          notes: [OWN_KEY, 'whether an abort stops the billing is up to the provider that it asks'],
        },
      }),
    },
  ],
  [
    'groq',
    {
      models: patternsOf(GROQ),
      row: (model) => ({
        baseUrl: 'https://api.groq.com/openai/v1',
        family: 'groq',
        chat: { maxTokensField: 'max_completion_tokens', thinkTags: true },
        facts: { notes: [OWN_KEY] },
        ...rulesFor(GROQ, model),
      }),
    },
  ],
  [
    'together',
    {
      models: [],
      row: () => ({
        baseUrl: 'https://api.together.xyz/v1',
        family: 'together',
        thinking: levels({ reasoning: { enabled: false } }, (level) => ({
          reasoning: { enabled: true },
          reasoning_effort: capped(level),
        })),
        chat: { thinkTags: true },
        facts: { notes: [OWN_KEY] },
      }),
    },
  ],
  [
    'mistral',
    {
      models: patternsOf(MISTRAL),
      row: (model) => ({
        baseUrl: 'https://api.mistral.ai/v1',
        family: 'mistral',
        output: SCHEMA,
        nativeCallIds: /^[a-zA-Z0-9]{9}$/,
        madeCallIds: 'nine',
        // Fields that it does not know are refused; usage comes unasked.
        chat: { streamOptions: false, seedField: 'random_seed', alternates: true, afterTools: 'Understood.' },
        facts: { notes: [OWN_KEY] },
        ...rulesFor(MISTRAL, model),
      }),
    },
  ],
  [
    'xai',
    {
      models: patternsOf(XAI),
      row: (model) => ({
        baseUrl: 'https://api.x.ai/v1',
        family: 'xai',
        // A model that reasons refuses them.
        stops: 0,
        facts: {
          cache: 'automatic',
          notes: [OWN_KEY, 'its reasoning comes back encrypted over another API only, so that it is not kept here'],
        },
        ...rulesFor(XAI, model),
      }),
    },
  ],
  ['minimax', { models: minimaxModels, row: withOwnKey(minimaxChatRow) }],
])

function localServer(family: string, row: ProfileRow, ...notes: readonly string[]): ProfileRow {
  return { ...local, family, ...row, facts: { notes: [RUNS_ANYWHERE, ...notes] } }
}

function withOwnKey(row: (model: string) => ProfileRow): CompatibleServer['row'] {
  return (model) => {
    const { facts, ...rest } = row(model)
    return { ...rest, facts: { ...facts, notes: [OWN_KEY, ...(facts?.notes ?? [])] } }
  }
}
