/** The body of POST /runs (SPEC §3.1) as this shop sends it. Pure: the same facts give the same body. */
import type { StoredMessage } from '../../src/contract/message.ts'
import type { Choice } from './flags.ts'
import type { ToolServer } from './tool-server.ts'

export interface RunFacts {
  /** New for each intent; the same again when a post is repeated. */
  readonly idempotencyKey: string
  /** The customer's message this run serves: a run that goes on after an approval names the same one. */
  readonly originRequestId: string
  readonly messages: readonly StoredMessage[]
  /** What the scripted model plays in this run; other models get none of it. */
  readonly script: readonly unknown[]
}

export interface RunSetting {
  readonly choice: Choice
  readonly tools: ToolServer['tools']
  readonly callbackUrl: string
  /** Goes to the tools unchanged: by it they know whose data they may show. The model never sees it. */
  readonly meta: Readonly<Record<string, string>>
}

export const RUN_TIMEOUT_MS = 120_000

const SYSTEM = `You are the assistant of a small shop. Answer in one or two short sentences.
Look an order up before you speak of it. When the customer asks for a refund, call createRefund at once with the order's
total; a colleague decides about it, so do not ask the customer to confirm.`

export function runRequest(facts: RunFacts, { choice, tools, callbackUrl, meta }: RunSetting): Record<string, unknown> {
  const { provider, model, pricing } = choice
  return {
    contract_version: '1',
    idempotency_key: facts.idempotencyKey,
    origin_request_id: facts.originRequestId,
    llm: {
      provider,
      model,
      params: provider === 'scripted' ? { extra: { script: facts.script } } : { max_output_tokens: 4096 },
      pricing: pricing === null ? null : { currency: 'USD', ...pricing },
    },
    system: SYSTEM,
    messages: facts.messages,
    tools,
    limits: { timeout_ms: RUN_TIMEOUT_MS },
    callback: { url: callbackUrl },
    meta,
  }
}
