/**
 * The body of POST /runs (SPEC §3.1), built from rows. Pure: the same rows give the same bytes, so that a provider's prompt
 * cache holds from turn to turn.
 */
import { parseLossless } from './plumbing/lossless-json.ts'
import type { AssistantRow, MessageRow, RunRow, SessionRow, ToolRow } from './rows.ts'

/** This harness, as the engine reaches it. */
export interface HarnessAddress {
  readonly harnessUrl: string
  /** What the engine must show to the tools. */
  readonly toolSecret: string
  readonly timezone: string
}

export interface BodyParts {
  readonly run: Pick<RunRow, 'id' | 'origin_request_id' | 'history_revision'>
  readonly session: SessionRow
  readonly assistant: AssistantRow
  readonly tools: readonly ToolRow[]
  readonly messages: readonly MessageRow[]
  /** What the scripted model plays; null for every other one. */
  readonly script: readonly unknown[] | null
  readonly address: HarnessAddress
}

export const TOOL_PATH = '/tools/'
export const CALLBACK_PATH = '/engine/result'
const TENANT = 'shop_1'
const TIMEOUT_MS = 120_000
/** Two days to decide. The card says until when, and a later decision is refused. */
const APPROVAL_TTL_MS = 172_800_000

export function runBody({ run, session, assistant, tools, messages, script, address }: BodyParts): string {
  const { harnessUrl, toolSecret, timezone } = address
  const headers = { Authorization: `Bearer ${toolSecret}` }
  const params = parseLossless(assistant.params) as Record<string, unknown>
  return JSON.stringify({
    contract_version: '1',
    // Obligation A.3: one key per intent. For a customer's message it is the message's own id.
    idempotency_key: run.id,
    origin_request_id: run.origin_request_id,
    history_revision: run.history_revision,
    llm: {
      provider: assistant.provider,
      model: assistant.model,
      params: script === null ? params : { ...params, extra: { script } },
      pricing: assistant.pricing === null ? null : parseLossless(assistant.pricing),
    },
    system: assistant.prompt,
    // Obligation A.2: whole, unchanged and in order, whatever is in them.
    messages: messages.map(({ payload }) => parseLossless(payload)),
    tools: tools.map(({ name, description, input_schema, effect, label }) => {
      const schema = parseLossless(input_schema)
      return {
        name,
        description,
        input_schema: schema,
        url: `${harnessUrl}${TOOL_PATH}${name}`,
        headers,
        effect,
        label,
      }
    }),
    limits: { timeout_ms: TIMEOUT_MS, approval_ttl_ms: APPROVAL_TTL_MS },
    callback: { url: `${harnessUrl}${CALLBACK_PATH}` },
    meta: {
      tenant_id: TENANT,
      session_id: session.id,
      user_id: session.user_id,
      assistant_id: assistant.id,
      timezone,
    },
  })
}
