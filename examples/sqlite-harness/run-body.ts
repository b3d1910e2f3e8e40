/**
 * The body of POST /runs (SPEC §3.1), built from rows. The same rows give the same bytes, so that a provider's prompt cache
 * holds from turn to turn.
 */
import type { Context } from './context.ts'
import { parseLossless } from './plumbing/lossless-json.ts'
import type { AssistantRow, RunRow, SessionRow } from './rows.ts'
import { scriptFor } from './scripted/scripted-mind.ts'

export const TOOL_PATH = '/tools/'
export const CALLBACK_PATH = '/engine/result'
const TIMEOUT_MS = 120_000
/** Two days to decide. The card says until when, and a later decision is refused. */
const APPROVAL_TTL_MS = 172_800_000
/** Of this machine. A real shop knows its customer's. */
const TIMEZONE = Intl.DateTimeFormat().resolvedOptions().timeZone

type ToolRow = Readonly<Record<'name' | 'description' | 'input_schema' | 'effect' | 'label', string>>
type NewRun = Pick<RunRow, 'id' | 'origin_request_id' | 'history_revision'>

export function runBody(run: NewRun, session: SessionRow, context: Context): string {
  const { database, conversation, harnessUrl, toolSecret } = context
  const { id: session_id, user_id, assistant_id } = session
  const assistant = database.one<AssistantRow>`SELECT * FROM assistant WHERE id = ${assistant_id}`
  if (assistant === null) throw new Error(`assistant ${assistant_id} is not there`)
  const tools = database.all<ToolRow>`SELECT t.name, t.description, t.input_schema, t.effect, t.label
    FROM json_each(${assistant.tools}) AS wanted JOIN tool t ON t.name = wanted.value ORDER BY wanted.key`
  const messages = conversation.messages(session_id)
  const { provider, model, pricing, prompt } = assistant
  const params = parseLossless(assistant.params) as Record<string, unknown>
  if (provider === 'scripted' && assistant.params === '{}') {
    // Where a model would think, the stand-in for one is told what to play.
    const names = tools.map(({ name }) => name)
    params['extra'] = { script: scriptFor({ ...context, messages, customerId: user_id, tools: names }) }
  }
  return JSON.stringify({
    contract_version: '1',
    // Obligation A.3: one key per intent. For a customer's message it is the message's own id.
    idempotency_key: run.id,
    origin_request_id: run.origin_request_id,
    history_revision: run.history_revision,
    llm: { provider, model, params, pricing: parseLossless(pricing ?? 'null') },
    system: prompt,
    // Obligation A.2: whole, unchanged and in order, whatever is in them.
    messages: messages.map(({ payload }) => parseLossless(payload)),
    tools: tools.map((tool) => ({
      ...tool,
      input_schema: parseLossless(tool.input_schema),
      url: `${harnessUrl}${TOOL_PATH}${tool.name}`,
      headers: { Authorization: `Bearer ${toolSecret}` },
    })),
    limits: { timeout_ms: TIMEOUT_MS, approval_ttl_ms: APPROVAL_TTL_MS },
    callback: { url: `${harnessUrl}${CALLBACK_PATH}` },
    meta: { tenant_id: 'shop_1', session_id, user_id, assistant_id, timezone: TIMEZONE },
  })
}
