/**
 * A conversation as the page shows it: items in order, made from rows. It only reads. What the page gets is what a customer
 * may see: no prompt, no arguments of the model, no tool result, no token but the one inside `stream_url`.
 */
import type { StoredMessage } from '../../src/contract/message.ts'
import type { RunResult } from '../../src/contract/result.ts'
import { type Conversation, messageOf } from './conversation.ts'
import { parseLossless } from './lossless-json.ts'
import type { Operations } from './operations.ts'
import type { MessageRow, OperationRow, RunRow, SessionRow } from './rows.ts'
import type { RunLog } from './run-log.ts'
import { decimal, type Shop } from './shop.ts'

export type Item =
  | { readonly kind: 'user' | 'assistant'; readonly id: string; readonly text: string }
  | { readonly kind: 'card'; readonly id: string; readonly card: Card }
  | { readonly kind: 'run'; readonly id: string; readonly run: RunPanel }
  | {
      readonly kind: 'notice'
      readonly id: string
      readonly notice: Notice
      readonly text: string
      readonly retry: boolean
    }

type Notice = 'failed' | 'refused' | 'lost' | 'cancelled' | 'limit'

export interface Card {
  readonly operation_id: string
  readonly version: number
  readonly status: OperationRow['status']
  readonly tool: string
  readonly order: string
  readonly item: string
  readonly customer: string
  /** In the order's currency. */
  readonly amount: number
  readonly currency: string
  /** The conversation went on without a decision. */
  readonly set_aside: boolean
  /** Why an approved operation was not carried out. */
  readonly error: string | null
}

interface RunPanel {
  readonly run_id: string
  readonly status: string
  readonly steps: number
  readonly usage: RunResult['usage']
  readonly tool_calls: RunResult['tool_calls']
  readonly audit: boolean
}

export interface SessionView {
  readonly id: string
  readonly status: SessionRow['status']
  readonly assistant_id: string
  readonly title: string
  readonly items: readonly Item[]
  /** The run that is under way. stream_url null: the engine has not taken it yet. */
  readonly active: { readonly id: string; readonly stream_url: string | null } | null
}

export interface ViewParts {
  readonly conversation: Conversation
  readonly operations: Operations
  readonly runs: RunLog
  readonly shop: Shop
}

export function viewSession(session: SessionRow, parts: ViewParts): SessionView {
  const runs = parts.runs.ofSession(session.id)
  const messages = parts.conversation.messages(session.id)
  const cards = cardsByCall(session, parts)
  const items: Item[] = []
  const last = messages.at(-1)
  const unanswered = session.status === 'idle' && last !== undefined && messageOf(last).role !== 'assistant'
  let shown = 0
  for (const run of runs) {
    // Everything up to the message that began this run, then how the run ended.
    while (shown < messages.length && (messages[shown]?.position ?? 0) <= run.after_position) {
      items.push(...itemsOf(messages[shown] as MessageRow, cards))
      shown += 1
    }
    while (messages[shown] !== undefined && isOf(messages[shown] as MessageRow, run)) {
      items.push(...itemsOf(messages[shown] as MessageRow, cards))
      shown += 1
    }
    items.push(...endOf(run, unanswered && run === runs.at(-1)))
  }
  for (const message of messages.slice(shown)) items.push(...itemsOf(message, cards))
  const active = session.active_run === null ? null : parts.runs.find(session.active_run)
  return {
    id: session.id,
    status: session.status,
    assistant_id: session.assistant_id,
    title: session.title,
    items,
    active: active === null ? null : { id: active.id, stream_url: active.stream_url },
  }
}

function isOf({ id }: MessageRow, { run_id }: RunRow): boolean {
  return run_id !== null && id.startsWith(`${run_id}:`)
}

function itemsOf(row: MessageRow, cards: ReadonlyMap<string, Card>): Item[] {
  const message: StoredMessage = messageOf(row)
  if (message.role === 'user') {
    return row.author === 'customer' ? [{ kind: 'user', id: row.id, text: textOf(message.content) }] : []
  }
  if (message.role === 'tool') return []
  const text = textOf(message.content)
  const asked = message.content.flatMap((part) => (part.type === 'tool_call' ? [part.call_id] : []))
  return [
    ...(text.trim() === '' ? [] : [{ kind: 'assistant' as const, id: row.id, text }]),
    ...asked.flatMap((callId) => {
      const card = cards.get(callId)
      return card === undefined ? [] : [{ kind: 'card' as const, id: card.operation_id, card }]
    }),
  ]
}

function textOf(content: readonly { readonly type: string; readonly text?: string }[]): string {
  return content.map(({ type, text }) => (type === 'text' ? (text ?? '') : '')).join('')
}

/** @param retry a new run could answer what this one has not */
function endOf(run: RunRow, retry: boolean): Item[] {
  const result = run.result === null ? null : (parseLossless(run.result) as RunResult)
  const items: Item[] = []
  if (result !== null) {
    const { run_id, status, steps, usage, tool_calls } = result
    if (result.answer_source === 'fallback') items.push({ kind: 'assistant', id: `${run.id}:text`, text: result.text })
    items.push({
      kind: 'run',
      id: run_id,
      run: { run_id, status, steps, usage, tool_calls, audit: run.accepted === 0 },
    })
  }
  const notice = noticeOf(run, result)
  if (notice !== null) items.push({ kind: 'notice', id: `${run.id}:end`, retry, ...notice })
  return items
}

function noticeOf(run: RunRow, result: RunResult | null): { readonly notice: Notice; readonly text: string } | null {
  switch (run.status) {
    case 'failed':
    case 'refused':
      return { notice: run.status, text: run.error ?? '' }
    case 'lost':
      // Without a sentence it was given up for a newer message, and the customer knows.
      return run.error === null || run.error === '' ? null : { notice: 'lost', text: run.error }
    case 'cancelled':
      return { notice: 'cancelled', text: '' }
    case 'stopped_limit':
      return { notice: 'limit', text: result?.limit_reached ?? '' }
    case 'starting':
    case 'running':
    case 'completed':
    case 'awaiting_tool':
      return null
  }
}

/** A card stands where its newest call stands, once the run that asked has ended. */
function cardsByCall(session: SessionRow, { operations, shop }: ViewParts): Map<string, Card> {
  const cards = new Map<string, Card>()
  for (const operation of operations.ofSession(session.id)) {
    const call = operations.calls(operation.id).findLast(({ version }) => version === operation.version)
    const order = shop.order(operation.user_id, operation.order_id)
    if (call === undefined || call.state === 'registered' || order === null) continue
    const { amount } = JSON.parse(operation.args) as { readonly amount?: number }
    const outcome = operation.outcome === null ? null : (JSON.parse(operation.outcome) as { readonly error?: string })
    cards.set(call.call_id, {
      operation_id: operation.id,
      version: operation.version,
      status: operation.status,
      tool: operation.tool,
      order: order.id,
      item: order.item,
      customer: shop.customerName(operation.user_id),
      amount: amount ?? decimal(order.total_cents),
      currency: order.currency,
      set_aside: operation.status === 'pending' && call.state === 'closed',
      error: operation.status === 'approved' ? (outcome?.error ?? null) : null,
    })
  }
  return cards
}
