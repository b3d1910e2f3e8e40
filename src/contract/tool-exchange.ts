/** What the engine and a tool endpoint say to each other (SPEC §5). */
import { Type, type Static } from 'typebox'
import { isJsonObject, type Json } from './json.ts'
import { anyJson, anyObject, open, taggedUnion, text } from './schema.ts'

export const ToolCallBody = open({
  contract_version: Type.Literal('1'),
  run_id: text(1, 100),
  call_id: text(1, 100),
  attempt: Type.Integer({ minimum: 1 }),
  origin_request_id: text(1, 200),
  tool: text(1, 64),
  args: anyObject(),
  args_hash: text(1, 100),
  call_key: text(1, 100),
  operation_key: text(1, 100),
  meta: anyObject(),
  result_url: text(1, 2000),
})
export type ToolCallBody = Static<typeof ToolCallBody>

const Ok = open({ status: Type.Literal('ok'), result: Type.Optional(anyJson()) })
const Failed = open({ status: Type.Literal('error'), error: text(1, 1_000_000) })
const Deferred = open({ status: Type.Literal('deferred'), operation_id: text(1, 500) })
const Accepted = open({ status: Type.Literal('accepted') })

export type ToolAnswer =
  | { readonly status: 'ok'; readonly result: Json }
  | { readonly status: 'error'; readonly error: string }
  | { readonly status: 'deferred'; readonly operation_id: string }
  | { readonly status: 'accepted' }

/** The body of a 2xx answer of a tool. */
export const ToolAnswer = taggedUnion<ToolAnswer>('status', [Ok, Failed, Deferred, Accepted])

/** The body of POST /runs/{id}/calls/{call_id}/result: a tool's late result. */
export const LateResult = taggedUnion<Extract<ToolAnswer, { status: 'ok' | 'error' }>>('status', [Ok, Failed])

/** What a tool said, at once or late, before it is checked: a result that it left out is null (SPEC §5.3). */
export function withResult(value: Json): Json {
  const lacksIt = isJsonObject(value) && value['status'] === 'ok' && !Object.hasOwn(value, 'result')
  return lacksIt ? { ...value, result: null } : value
}
