/**
 * POST /validate (SPEC §2.7): its body, its answer, and the words for what a request is changed by on its way to a model.
 *
 * The lists here are told in SPEC.md, and a test holds the two together.
 */
import { Type, type Static } from 'typebox'
import { Warning } from './result.ts'
import { RunRequestBody } from './run-request-body.ts'
import { anyObject, closed, maybe, oneWordOf, wholeNumber } from './schema.ts'

/** What may happen to a part of a request before a model sees it. */
export const CHANGE_KINDS = [
  'reasoning_dropped',
  'reasoning_added',
  'text_dropped',
  'message_dropped',
  'part_replaced',
  'part_fetched',
  'characters_replaced',
  'call_id_rewritten',
  'call_id_dropped',
  'name_rewritten',
  'results_reordered',
  'calls_split',
  'messages_merged',
  'message_added',
  'schema_rewritten',
  'tools_left_out',
  'param_dropped',
  'field_replaced',
  'header_dropped',
] as const
export type ChangeKind = (typeof CHANGE_KINDS)[number]

export const Change = closed({
  kind: oneWordOf(CHANGE_KINDS),
  path: Type.String({ description: 'JSON path of what is changed' }),
  message: Type.String(),
})
export type Change = Static<typeof Change>

/** More changes than this are counted and not listed. */
export const MAX_CHANGES = 1000

/** What POST /validate asks beside the body of a run. */
export const validateFields = {
  show_request: maybe(Type.Boolean({ description: 'true: the answer holds the request of the first step' })),
  target: maybe(wholeNumber(0, 8, 'which model of the chain: 0 is llm, 1 its first fallback; default 0')),
} as const

/** The body of a run, with `validateFields` beside it. */
export const ValidateBody = closed({ ...RunRequestBody.properties, ...validateFields })

/** The request as the provider would get it, secrets out. */
export const ShownRequest = closed({
  method: Type.Literal('POST'),
  url: Type.String(),
  headers: Type.Unsafe<Readonly<Record<string, string>>>({
    type: 'object',
    additionalProperties: Type.String(),
    description: 'secrets are replaced by [secret]',
  }),
  body: anyObject(),
})
export type ShownRequest = Static<typeof ShownRequest>

export const Validation = closed({
  valid: Type.Boolean({ description: 'there are no faults: POST /runs would take the body' }),
  faults: Type.Array(closed({ path: Type.String(), message: Type.String() })),
  warnings: Type.Array(Warning),
  changes: Type.Array(Change, { description: `at most ${MAX_CHANGES}; empty where there are faults` }),
  changes_left_off: Type.Integer({ minimum: 0, description: 'changes beyond those listed' }),
  estimated_input_tokens: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    minimum: 0,
    description: 'a rule of thumb; null: nothing would be sent',
  }),
  request: Type.Optional(ShownRequest),
})
export type Validation = Static<typeof Validation>
