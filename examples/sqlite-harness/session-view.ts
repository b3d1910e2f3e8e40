/**
 * A conversation as the page shows it: items in order, made from rows. It only reads. What the page gets is what a customer
 * may see: no prompt, no arguments of the model, no tool result, no token but the one inside `stream_url` (Obligation A.10).
 */
import type { StoredMessage } from '../../src/contract/message.ts'
import type { RunResult } from '../../src/contract/result.ts'
import { messageOf } from './conversation.ts'
import { type Harness, isUnanswered } from './harness.ts'
import { parseLossless } from './plumbing/lossless-json.ts'
import { expiryOf } from './operations.ts'
import type { CallRow, MessageRow, OperationRow, RunRow, SessionRow } from './rows.ts'
import { decimal } from './data/shop.ts'

export type Item =
  | { readonly kind: 'user' | 'assistant'; readonly id: string; readonly text: string }
  | { readonly kind: 'card'; readonly id: string; readonly card: Card }
  | { readonly kind: 'run'; readonly id: string; readonly run: RunPanel }
  | ({ readonly kind: 'notice'; readonly id: string; readonly retry: boolean } & NoticeText)

interface NoticeText {
  readonly notice: 'failed' | 'refused' | 'lost' | 'cancelled' | 'limit'
  readonly text: string
}

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
  /** The last moment to decide. */
  readonly expires_at: string | null
  /** The conversation went on without a decision. */
  readonly set_aside: boolean
  /** Why an approved operation was not carried out. */
  readonly error: string | null
}

interface RunPanel {
  readonly run_id: string
  readonly status: string
  readonly steps: number
  /** Obligation A.13: `complete: false` and `estimated` are shown as such. */
  readonly usage: RunResult['usage']
  readonly tool_calls: RunResult['tool_calls']
  /** Its messages came too late and are not in the conversation. */
  readonly audit: boolean
}

export interface SessionView {
  readonly id: string
  readonly status: SessionRow['status']
  readonly assistant_id: string
  readonly items: readonly Item[]
  /** The run that is under way. stream_url null: the engine has not taken it yet. */
  readonly active: { readonly id: string; readonly stream_url: string | null } | null
}

export function viewSession(session: SessionRow, harness: Harness, now: Date): SessionView {
  const { id, status, assistant_id, active_run } = session
  const runs = harness.runs.ofSession(id)
  const messages = harness.conversation.messages(id)
  const newest = harness.runs.newest(id)
  const cards = cardsByCall(session, harness, now.toISOString())
  const items: Item[] = []
  let shown = 0
  const show = (belongs: (message: MessageRow) => boolean) => {
    for (let next = messages[shown]; next !== undefined && belongs(next); next = messages[shown]) {
      items.push(...itemsOf(next, cards))
      shown += 1
    }
  }
  for (const run of runs) {
    // Everything up to the message that began this run, what the run said, then how it ended.
    show(({ position }) => position <= run.after_position)
    show((message) => run.run_id !== null && message.id.startsWith(`${run.run_id}:`))
    items.push(...endOf(run, status === 'idle' && run.id === newest?.id && isUnanswered(run)))
  }
  show(() => true)
  const active = active_run === null ? null : harness.runs.find(active_run)
  const following = active === null ? null : { id: active.id, stream_url: active.stream_url }
  return { id, status, assistant_id, items, active: following }
}

function itemsOf(row: MessageRow, cards: ReadonlyMap<string, Card>): Item[] {
  const message: StoredMessage = messageOf(row)
  if (message.role === 'tool') return []
  const text = textOf(message.content)
  if (message.role === 'user') return row.author === 'customer' ? [{ kind: 'user', id: row.id, text }] : []
  const asked = message.content.flatMap((part) => (part.type === 'tool_call' ? (cards.get(part.call_id) ?? []) : []))
  return [
    ...(text.trim() === '' ? [] : [{ kind: 'assistant' as const, id: row.id, text }]),
    ...asked.map((card) => ({ kind: 'card' as const, id: card.operation_id, card })),
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
    const panel = { run_id, status, steps, usage, tool_calls, audit: run.accepted === 0 }
    items.push({ kind: 'run', id: run_id, run: panel })
  }
  const notice = noticeOf(run, result)
  if (notice !== null) items.push({ kind: 'notice', id: `${run.id}:end`, retry, ...notice })
  return items
}

function noticeOf({ status, error }: RunRow, result: RunResult | null): NoticeText | null {
  switch (status) {
    case 'failed':
    case 'refused':
      return { notice: status, text: error ?? '' }
    case 'lost':
      // Without a sentence it was given up for a newer message, and the customer knows.
      return error === null || error === '' ? null : { notice: 'lost', text: error }
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
function cardsByCall({ id }: SessionRow, { operations, shop }: Harness, now: string): Map<string, Card> {
  const cards = new Map<string, Card>()
  for (const operation of operations.ofSession(id)) {
    const calls = operations.calls(operation)
    const call = calls.findLast(({ expires_at }) => expires_at !== null)
    const order = shop.order(operation.user_id, operation.order_id)
    if (call === undefined || order === null) continue
    const { amount = decimal(order.total_cents) } = JSON.parse(operation.args) as { readonly amount?: number }
    const outcome = operation.outcome === null ? null : (JSON.parse(operation.outcome) as { readonly error?: string })
    const { version, tool } = operation
    const { item, currency } = order
    const effect = { tool, order: order.id, item, amount, currency, customer: shop.customerName(operation.user_id) }
    cards.set(call.call_id, {
      operation_id: operation.id,
      version,
      ...effect,
      ...stateOf(operation, call, expiryOf(calls), now),
      error: operation.status === 'approved' ? (outcome?.error ?? null) : null,
    })
  }
  return cards
}

/** Whether it can still be decided is judged by the clock here as it is in `decide`. */
function stateOf({ status }: OperationRow, call: CallRow, expires_at: string | null, now: string) {
  const late = status === 'pending' && expires_at !== null && expires_at <= now
  return {
    status: late ? ('expired' as const) : status,
    expires_at,
    set_aside: status === 'pending' && !late && call.state === 'closed',
  }
}
