/**
 * A conversation as the page shows it: items in order, made from rows. It only reads. What the page gets is what a customer
 * may see: no prompt, no arguments of the model, no tool result, no token but the one inside `stream_url` (Obligation A.10).
 */
import type { RunResult } from '../../src/contract/result.ts'
import type { Context } from './context.ts'
import { messageOf } from './conversation.ts'
import { isUnanswered } from './go-on.ts'
import type { Database } from './plumbing/database.ts'
import { parseLossless } from './plumbing/lossless-json.ts'
import type { MessageRow, OperationRow, RunRow, SessionRow, Text } from './rows.ts'

/** The exact effect that is to be decided, from the shop's own rows; `amount` is in the order's currency. */
export interface Card extends Text<'operation_id' | 'call_id' | 'tool' | 'order' | 'item' | 'customer' | 'currency'> {
  readonly version: number
  readonly status: OperationRow['status']
  readonly amount: number
  /** The last moment to decide. */
  readonly expires_at: string
  /** 1: the conversation went on without a decision. */
  readonly set_aside: 0 | 1
  /** Why an approved operation was not carried out. */
  readonly error: string | null
}

/** Figures of one run. `audit`: its messages came too late and are not in the conversation. */
type RunPanel = Pick<RunResult, 'run_id' | 'status' | 'steps' | 'usage' | 'tool_calls'> & { readonly audit: boolean }

export type Item = { readonly id: string } & (
  | { readonly kind: 'user' | 'assistant'; readonly text: string }
  | { readonly kind: 'card'; readonly card: Card }
  | { readonly kind: 'run'; readonly run: RunPanel }
  | { readonly kind: 'notice'; readonly notice: RunRow['status']; readonly text: string; readonly retry: boolean }
)

export type SessionView = ReturnType<typeof viewSession>

export function viewSession({ id, status, assistant_id, active_run }: SessionRow, { database, conversation }: Context) {
  const messages = conversation.messages(id)
  const newestRun = conversation.newestRun(id)?.id
  const cards = new Map(cardsOf(id, database).map((card) => [card.call_id, card]))
  // How a run ended stands behind its last message; where it has none, behind the message that began it.
  const lastOf = new Map(messages.map((row) => [row.id.split(':')[0] ?? '', row.position]))
  const placed = [
    ...messages.map((row) => ({ at: row.position, items: itemsOf(row, cards) })),
    ...conversation.runs(id).map((run) => {
      const retry = status === 'idle' && run.id === newestRun && isUnanswered(run)
      return { at: lastOf.get(run.run_id ?? '') ?? run.after_position, items: endOf(run, retry) }
    }),
  ]
  const items = placed.toSorted((left, right) => left.at - right.at).flatMap((each) => each.items)
  const active = conversation.run(active_run ?? '')
  // stream_url null: the engine has not taken the run yet.
  return { id, status, assistant_id, items, active: active && { id: active.id, stream_url: active.stream_url } }
}

function itemsOf({ id, author, payload }: MessageRow, cards: ReadonlyMap<string, Card>): Item[] {
  const message = messageOf({ payload })
  if (message.role === 'tool' || (message.role === 'user' && author === 'harness')) return []
  const text = message.content.map((part) => (part.type === 'text' ? part.text : '')).join('')
  const said: Item[] = text.trim() === '' ? [] : [{ kind: message.role, id, text }]
  const asked = message.content.flatMap((part) => (part.type === 'tool_call' ? (cards.get(part.call_id) ?? []) : []))
  return [...said, ...asked.map((card) => ({ kind: 'card' as const, id: card.operation_id, card }))]
}

/** @param retry a new run could answer what this one has not */
function endOf(run: RunRow, retry: boolean): Item[] {
  const result = run.result === null ? null : (parseLossless(run.result) as RunResult)
  const items: Item[] = []
  if (result?.answer_source === 'fallback') items.push({ kind: 'assistant', id: `${run.id}:text`, text: result.text })
  if (result !== null) {
    // Obligation A.13: `complete: false` and `estimated` in the usage are shown as such.
    const { run_id, status, steps, usage, tool_calls } = result
    const panel = { run_id, status, steps, usage, tool_calls, audit: run.accepted === 0 }
    items.push({ kind: 'run', id: run_id, run: panel })
  }
  const notice = run.status
  const text = (notice === 'stopped_limit' ? result?.limit_reached : run.error) ?? ''
  // Lost without a sentence: it was given up for a newer message, and the customer knows.
  const isSilent = notice === 'lost' && text === ''
  if (notice === 'stopped_limit' || (isUnanswered(run) && !isSilent)) {
    items.push({ kind: 'notice', id: `${run.id}:end`, notice, text, retry })
  }
  return items
}

/** A card stands where its newest call stands, once the run that asked has ended; whether it is late is judged as in `decide`. */
function cardsOf(session: string, { all }: Database): Card[] {
  return all<Card>`SELECT o.id AS operation_id, c.call_id, o.tool, o.order_id AS "order", o.version, o.expires_at,
      goods.item, goods.currency, customer.name AS customer,
      COALESCE(o.args ->> 'amount', goods.total_cents / 100.0) AS amount,
      CASE WHEN o.status = 'pending' AND o.expires_at <= now() THEN 'expired' ELSE o.status END AS status,
      o.status = 'pending' AND c.state = 'closed' AND o.expires_at > now() AS set_aside,
      CASE WHEN o.status = 'approved' THEN o.outcome ->> 'error' END AS error
    FROM operation o
    JOIN operation_call c ON c.rowid = (SELECT MAX(rowid) FROM operation_call
      WHERE operation_id = o.id AND version = o.version AND state <> 'registered')
    JOIN customer ON customer.id = o.user_id
    JOIN "order" goods ON goods.id = o.order_id AND goods.customer_id = o.user_id
    WHERE o.session_id = ${session} AND o.expires_at IS NOT NULL`
}
