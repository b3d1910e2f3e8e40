/** What the tests of the dialects share: an attempt to be written down, and an answer read from events. */
import type { StoredMessage } from '../../src/contract/message.ts'
import { NO_PARAMS, type Params, type Target, type Tool } from '../../src/contract/run-request.ts'
import type { RunId } from '../../src/contract/ids.ts'
import { anthropic } from '../../src/providers/anthropic/dialect.ts'
import type { Dialect, DialectCall, Reader, Reading } from '../../src/providers/dialect.ts'
import { openaiChat } from '../../src/providers/openai-chat/dialect.ts'
import { profileFor, type Profile } from '../../src/providers/profile.ts'
import type { Ask } from '../../src/engine/ports.ts'

export interface CallFacts {
  readonly provider?: Target['provider']
  /** `llm.profile`. */
  readonly server?: string
  readonly model?: string
  readonly params?: Partial<Params>
  readonly messages?: readonly StoredMessage[]
  readonly system?: string
  readonly tools?: readonly Tool[]
  readonly toolChoice?: 'auto' | 'none'
  readonly note?: string | null
  readonly outputSchema?: Ask['outputSchema']
  readonly cacheKey?: string | null
  readonly repairs?: DialectCall['repairs']
  readonly profile?: (profile: Profile) => Profile
  readonly baseUrl?: string
  readonly apiKey?: string | null
}

export function dialectCall(facts: CallFacts): DialectCall {
  const target: Target = {
    provider: facts.provider ?? 'openai-compatible',
    model: facts.model ?? 'some-model',
    api_key: null,
    base_url: null,
    profile: facts.server ?? null,
    params: { ...NO_PARAMS, ...facts.params },
    pricing: null,
  }
  const ask: Ask = {
    runId: 'run_01J00000000000000000000000' as RunId,
    step: 1,
    targets: [target],
    firstTarget: 0,
    system: facts.system ?? '',
    messages: facts.messages ?? [user('hello')],
    tools: facts.tools ?? [],
    toolChoice: facts.toolChoice ?? 'auto',
    outputSchema: facts.outputSchema ?? null,
    note: facts.note ?? null,
    cacheKey: facts.cacheKey ?? null,
    deadlineAt: 0,
    giveUpAt: 0,
  }
  const row = profileFor(target)
  const profile = facts.profile === undefined ? row : facts.profile(row)
  return {
    ask,
    target,
    profile,
    apiKey: facts.apiKey === undefined ? 'sk-test' : facts.apiKey,
    baseUrl: facts.baseUrl ?? profile.baseUrl ?? 'https://llm.example/v1',
    repairs: facts.repairs ?? new Set(),
  }
}

export function user(text: string): StoredMessage {
  return { role: 'user', content: [{ type: 'text', text }], created_at: '2026-11-30T10:00:00.000Z' }
}

export function tool(name: string, input_schema: Tool['input_schema'] = { type: 'object', properties: {} }): Tool {
  return {
    name,
    description: '',
    input_schema,
    url: 'https://tools.example/x',
    headers: {},
    effect: 'read',
    timeout_ms: 1000,
    label: null,
    repeatable: false,
  }
}

export interface Heard {
  readonly reader: Reader
  readonly shown: () => string
  readonly thought: () => string
  readonly pieces: readonly string[]
}

/** A reader with a sink that remembers. */
export function listen(call: DialectCall): Heard {
  const pieces: string[] = []
  const thoughts: string[] = []
  const dialect: Dialect = call.profile.dialect === 'anthropic' ? anthropic : openaiChat
  const reader = dialect.reader(
    { text: (text) => void pieces.push(text), reasoning: (text) => void thoughts.push(text) },
    call,
  )
  return { reader, pieces, shown: () => pieces.join(''), thought: () => thoughts.join('') }
}

/** Reads events, each an object or the very text of its data, to the end. */
export function read(call: DialectCall, events: readonly unknown[]): Reading & { readonly heard: Heard } {
  const heard = listen(call)
  for (const event of events) heard.reader.event(undefined, typeof event === 'string' ? event : JSON.stringify(event))
  return { ...heard.reader.end(), heard }
}
