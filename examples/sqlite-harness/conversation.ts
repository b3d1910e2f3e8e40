/**
 * Sessions, their messages and runs. It writes history and reads it; it starts nothing and decides nothing.
 *
 * Obligation A.1: a message is stored whole under an id that is unique for all time, and a second one with that id changes
 * nothing, so a result that comes twice is harmless. Obligation A.12: no message is ever updated.
 */
import type { Json } from '../../src/contract/json.ts'
import type { NewMessage, StoredMessage } from '../../src/contract/message.ts'
import type { PendingCall } from '../../src/contract/result.ts'
import type { Database } from './plumbing/database.ts'
import { parseLossless } from './plumbing/lossless-json.ts'
import type { MessageRow, RunRow, SessionRow } from './rows.ts'

const TITLE_CHARACTERS = 60
/** A post that nobody saw answered is looked at by the safety net after this. */
const UNANSWERED_S = 30

/** What a model is told of a call that waited. */
export type Outcome = { readonly result: Json } | { readonly error: string }
type Call = Pick<PendingCall, 'call_id' | 'tool' | 'operation_id'>
type NewRun = Pick<RunRow, 'id' | 'session_id' | 'origin_request_id' | 'history_revision'>

export type Conversation = ReturnType<typeof createConversation>

export function createConversation({ all, one, run, now }: Database) {
  function store(session: string, id: string, author: MessageRow['author'], message: StoredMessage): void {
    const stored = run`INSERT INTO chat_message (id, session_id, position, author, payload)
      SELECT ${id}, ${session}, COALESCE(MAX(position), 0) + 1, ${author}, ${JSON.stringify(message)}
      FROM chat_message WHERE session_id = ${session} ON CONFLICT (id) DO NOTHING`
    if (stored > 0 && author !== 'engine') raiseRevision(session)
  }

  /** What the history was when a run began is known by this number: a result made for an older one comes too late. */
  function raiseRevision(session: string): void {
    run`UPDATE chat_session SET history_revision = history_revision + 1, changed_at = now() WHERE id = ${session}`
  }

  return {
    raiseRevision,
    create: (id: string, assistant: string, user: string) =>
      run`INSERT INTO chat_session (id, assistant_id, user_id, created_at, changed_at)
        VALUES (${id}, ${assistant}, ${user}, now(), now())`,
    session: (id: string) => one<SessionRow>`SELECT * FROM chat_session WHERE id = ${id}`,
    /** Of one customer, newest change first, for the page. */
    sessionsOf: (user: string) =>
      all`SELECT id, title, status FROM chat_session WHERE user_id = ${user} ORDER BY changed_at DESC LIMIT 200`,
    /** @param activeRun its `id` where the status is `running` */
    setStatus: (session: string, status: SessionRow['status'], activeRun: string | null) =>
      run`UPDATE chat_session SET status = ${status}, active_run = ${activeRun}, changed_at = now()
        WHERE id = ${session}`,
    /** What the customer wants, before anything is made of it: from here on it is not lost. false: it is known. */
    keepRaw: (session: string, id: string, text: string) =>
      run`INSERT INTO raw_chat_message (id, session_id, text, received_at) VALUES (${id}, ${session}, ${text}, now())
        ON CONFLICT (id) DO NOTHING` === 1,
    /** Kept, and not part of the history yet. */
    unheard: (session: string) =>
      all<{ id: string; text: string }>`SELECT id, text FROM raw_chat_message r WHERE session_id = ${session}
        AND NOT EXISTS (SELECT 1 FROM chat_message m WHERE m.id = r.id) ORDER BY r.rowid`,
    /** What the customer says, or the model must hear from the harness itself. */
    said(session: string, id: string, author: 'customer' | 'harness', text: string): void {
      store(session, id, author, { role: 'user', content: [{ type: 'text', text }], created_at: now() })
      if (author === 'harness') return
      const line = text.trim().replace(/\s+/g, ' ').slice(0, TITLE_CHARACTERS)
      // Half a surrogate pair at the cut is no character.
      const title = line.replace(/[\uD800-\uDBFF]$/, '')
      run`UPDATE chat_session SET title = ${title} WHERE id = ${session} AND title = ''`
    },
    /** Answers a deferred call, under its call_id: nothing waits for a decision there any more. */
    answerCall(session: string, { call_id, tool, operation_id }: Call, outcome: Outcome): void {
      const operation = operation_id === null ? {} : { operation_id }
      const head = { role: 'tool' as const, call_id, tool, ...operation }
      store(session, call_id, 'harness', { ...head, is_error: 'error' in outcome, ...outcome })
      run`UPDATE operation_call SET state = 'closed' WHERE call_id = ${call_id}`
    },
    /** A run's new messages, in their order. */
    engineSaid(session: string, messages: readonly NewMessage[]): void {
      for (const message of messages.toSorted((left, right) => left.seq - right.seq)) {
        store(session, `${message.run_id}:${message.seq}`, 'engine', message)
      }
    },
    messages: (session: string) =>
      all<MessageRow>`SELECT * FROM chat_message WHERE session_id = ${session} ORDER BY position`,
    newest: (session: string) =>
      one<MessageRow>`SELECT * FROM chat_message WHERE session_id = ${session} ORDER BY position DESC LIMIT 1`,
    /** A run to be posted. Obligation A.3: its body is kept until the engine has it, so that a repeat is the same. */
    addRun({ id, session_id, origin_request_id, history_revision }: NewRun, request: string | null): void {
      run`INSERT INTO run (id, session_id, origin_request_id, history_revision, after_position, status, request,
          started_at, deadline_at)
        SELECT ${id}, ${session_id}, ${origin_request_id}, ${history_revision}, COALESCE(MAX(position), 0), 'starting',
          ${request}, now(), now(${UNANSWERED_S}) FROM chat_message WHERE session_id = ${session_id}`
    },
    /** By the idempotency key or the engine's run id. */
    run: (id: string) => one<RunRow>`SELECT * FROM run WHERE id = ${id} OR run_id = ${id}`,
    runs: (session: string) => all<RunRow>`SELECT * FROM run WHERE session_id = ${session} ORDER BY started_at, rowid`,
    /** Of those that this harness began. */
    newestRun: (session: string) =>
      one<RunRow>`SELECT * FROM run WHERE session_id = ${session} AND history_revision >= 0
        ORDER BY started_at DESC, rowid DESC LIMIT 1`,
  }
}

/** A stored message as it came. */
export function messageOf(row: Pick<MessageRow, 'payload'>): StoredMessage {
  // Only StoredMessages are ever written into the column.
  return parseLossless(row.payload) as StoredMessage
}
