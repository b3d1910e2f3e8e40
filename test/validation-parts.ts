/** What the tests of POST /validate share: the real verdict over a real provider table, without a server or a socket. */
import assert from 'node:assert/strict'
import { createJudge } from '../src/admission.ts'
import type { Json, JsonObject } from '../src/contract/json.ts'
import type { ChangeKind, ShownRequest, Validation } from '../src/contract/validation.ts'
import { builtIn } from '../src/providers/built-in.ts'
import type { KeySettings } from '../src/providers/keys.ts'
import { targetFaults } from '../src/providers/target-faults.ts'
import { createValidation } from '../src/validation.ts'

export const AT = '2026-11-30T09:15:00.000Z'

/** Keys of the environment for every vendor. */
const KEYS: KeySettings = {
  keys: {
    anthropic: 'KEY-a',
    openai: 'KEY-o',
    deepseek: 'KEY-d',
    glm: 'KEY-g',
    kimi: 'KEY-k',
    minimax: 'KEY-m',
    gigachat: 'KEY-s',
  },
  baseUrls: { 'openai-compatible': 'https://llm.example/v1' },
}

const judge = createJudge({
  defaultTimezone: 'UTC',
  tokens: ['engine-token-0001'],
  hasCallbackSecret: true,
  judge: () => null,
  targetFaults: (targets) => targetFaults(targets, { keys: KEYS, table: builtIn, judge: () => null }),
})

/** Nothing is sent: there is no gate to send it through. */
export const validate = createValidation({
  judge,
  egress: {} as never,
  table: builtIn,
  keys: KEYS,
  now: () => Date.parse(AT),
})

export function user(...content: readonly (string | JsonObject)[]): JsonObject {
  return { role: 'user', content: content.map(partOf), created_at: AT }
}

function partOf(part: string | JsonObject): JsonObject {
  return typeof part === 'string' ? { type: 'text', text: part } : part
}

export function assistant(facts: JsonObject, ...content: readonly (string | JsonObject)[]): JsonObject {
  return { role: 'assistant', ...facts, content: content.map(partOf) }
}

export function called(call_id: string, tool: string, facts: JsonObject = {}): JsonObject {
  return { type: 'tool_call', call_id, tool, args: { of: call_id }, ...facts }
}

export function result(call_id: string, tool: string): JsonObject {
  return { role: 'tool', call_id, tool, result: `RESULT of ${call_id}` }
}

export function thought(text: string, provider_data: JsonObject): JsonObject {
  return { type: 'reasoning', text, provider_data }
}

export function body(llm: JsonObject, messages: readonly JsonObject[], parts: JsonObject = {}): JsonObject {
  return { contract_version: '1', idempotency_key: 'k', llm, messages, ...parts }
}

export type Shown = Validation & { readonly request: ShownRequest }

/** A body without a fault, and the request it comes to. */
export function shown(given: JsonObject): Shown {
  const answer = validate({ ...given, show_request: true })
  assert.deepEqual(answer.faults, [])
  assert.ok(answer.request !== undefined)
  return { ...answer, request: answer.request }
}

/** Paths of the changes of some kinds. */
export function pathsOf({ changes }: Validation, ...kinds: readonly ChangeKind[]): string[] {
  return changes.filter(({ kind }) => kinds.includes(kind)).map(({ path }) => path)
}

/** The messages of a request, in whatever form. */
export function elementsOf({ request }: Shown): readonly JsonObject[] {
  const list: Json = request.body['messages'] ?? request.body['input'] ?? null
  assert.ok(Array.isArray(list))
  return list as readonly JsonObject[]
}
