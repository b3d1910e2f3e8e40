/**
 * The body of POST /runs (SPEC §3.1), built from rows. Pure: the same rows give the same bytes, so that a provider's prompt
 * cache holds from turn to turn.
 */
import type { StoredMessage } from '../../src/contract/message.ts'
import { parseLossless } from './lossless-json.ts'
import type { AssistantRow, MessageRow, RunRow, SessionRow, ToolRow } from './rows.ts'

export interface BodyParts {
  readonly run: Pick<RunRow, 'id' | 'origin_request_id' | 'history_revision'>
  readonly session: SessionRow
  readonly assistant: AssistantRow
  readonly tools: readonly ToolRow[]
  readonly messages: readonly MessageRow[]
  /** What the scripted model plays; null for every other one. */
  readonly script: readonly unknown[] | null
  /** This harness, as the engine reaches it. */
  readonly harnessUrl: string
  readonly toolSecret: string
  readonly timezone: string
}

export const TOOL_PATH = '/tools/'
export const CALLBACK_PATH = '/engine/result'
const TENANT = 'shop_1'
const TIMEOUT_MS = 120_000

export function runBody(parts: BodyParts): string {
  const { run, session, assistant, script, harnessUrl, toolSecret } = parts
  const messages: StoredMessage[] = []
  for (const { payload } of parts.messages) messages.push(parseLossless(payload) as StoredMessage)

  const tools = []
  for (const { name, description, input_schema, effect, label } of parts.tools) {
    tools.push({
      name,
      description,
      input_schema: parseLossless(input_schema),
      url: `${harnessUrl}${TOOL_PATH}${name}`,
      headers: { Authorization: `Bearer ${toolSecret}` },
      effect,
      label,
    })
  }
  const params = parseLossless(assistant.params) as Record<string, unknown>
  return JSON.stringify({
    contract_version: '1',
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
    messages,
    tools,
    limits: { timeout_ms: TIMEOUT_MS },
    callback: { url: `${harnessUrl}${CALLBACK_PATH}` },
    meta: {
      tenant_id: TENANT,
      session_id: session.id,
      user_id: session.user_id,
      assistant_id: assistant.id,
      timezone: parts.timezone,
    },
  })
}
