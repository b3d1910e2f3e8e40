/**
 * Sessions and their messages. It writes history and reads it; it starts nothing and decides nothing.
 *
 * Obligation A.1: a message is stored whole under an id that is unique for all time, and a second one with that id changes
 * nothing, so a result that comes twice is harmless. Obligation A.12: no message is ever updated.
 */
import type { NewMessage, StoredMessage, ToolMessage } from '../../src/contract/message.ts'
import type { Database } from './plumbing/database.ts'
import { parseLossless } from './plumbing/lossless-json.ts'
import type { MessageRow, SessionRow } from './rows.ts'

const TITLE_CHARACTERS = 60

export type Conversation = ReturnType<typeof createConversation>

export function createConversation({ all, one, run }: Database, now: () => Date) {
  const time = () => now().toISOString()

  function store(session: string, id: string, author: MessageRow['author'], message: StoredMessage): boolean {
    const payload = JSON.stringify(message)
    const stored = run`INSERT INTO chat_message (id, session_id, position, author, payload)
      SELECT ${id}, ${session}, COALESCE(MAX(position), 0) + 1, ${author}, ${payload}
      FROM chat_message WHERE session_id = ${session} ON CONFLICT (id) DO NOTHING`
    return stored > 0
  }

  /** What the history was when a run began is known by this number: a result made for an older one comes too late. */
  function raiseRevision(session: string): void {
    run`UPDATE chat_session SET history_revision = history_revision + 1, changed_at = ${time()} WHERE id = ${session}`
  }

  function said(session: string, id: string, author: 'customer' | 'harness', text: string): void {
    const message: StoredMessage = { role: 'user', content: [{ type: 'text', text }], created_at: time() }
    if (store(session, id, author, message)) raiseRevision(session)
  }

  return {
    raiseRevision,
    create(session: { readonly id: string; readonly assistantId: string; readonly userId: string }): void {
      run`INSERT INTO chat_session (id, assistant_id, user_id, created_at, changed_at)
        VALUES (${session.id}, ${session.assistantId}, ${session.userId}, ${time()}, ${time()})`
    },
    session: (id: string) => one<SessionRow>`SELECT * FROM chat_session WHERE id = ${id}`,
    /** Of one customer, newest change first. */
    sessionsOf: (userId: string) =>
      all<SessionRow>`SELECT * FROM chat_session WHERE user_id = ${userId} ORDER BY changed_at DESC LIMIT 200`,
    /** What the customer wants, before anything is made of it: from here on it is not lost. */
    keepRaw(session: string, id: string, text: string): void {
      run`INSERT INTO raw_chat_message (id, session_id, text, received_at) VALUES (${id}, ${session}, ${text}, ${time()})
        ON CONFLICT (id) DO NOTHING`
    },
    /** Kept, and not part of the history yet: this process died in between. */
    unhandled: () =>
      all<{ id: string; session_id: string; text: string }>`SELECT id, session_id, text FROM raw_chat_message r
        WHERE NOT EXISTS (SELECT 1 FROM chat_message m WHERE m.id = r.id) ORDER BY r.rowid`,
    has: (id: string) => one`SELECT 1 FROM chat_message WHERE id = ${id}` !== null,
    customerSaid(session: string, id: string, text: string): void {
      said(session, id, 'customer', text)
      const line = text.trim().replace(/\s+/g, ' ').slice(0, TITLE_CHARACTERS)
      // Half a surrogate pair at the cut is no character.
      const title = line.replace(/[\uD800-\uDBFF]$/, '')
      run`UPDATE chat_session SET title = ${title} WHERE id = ${session} AND title = ''`
    },
    /** What the model must hear from the harness itself. */
    harnessSaid: (session: string, id: string, text: string) => said(session, id, 'harness', text),
    /** The answer to a deferred call, under its call_id. */
    answerCall(session: string, message: ToolMessage): void {
      if (store(session, message.call_id, 'harness', message)) raiseRevision(session)
    },
    /** A run's new messages, in their order. */
    engineSaid(session: string, messages: readonly NewMessage[]): void {
      for (const message of messages.toSorted((left, right) => left.seq - right.seq)) {
        store(session, `${message.run_id}:${message.seq}`, 'engine', message)
      }
    },
    messages: (session: string) =>
      all<MessageRow>`SELECT * FROM chat_message WHERE session_id = ${session} ORDER BY position`,
    /** null: there is none. */
    newest: (session: string) =>
      one<MessageRow>`SELECT * FROM chat_message WHERE session_id = ${session} ORDER BY position DESC LIMIT 1`,
    setStatus(session: string, status: SessionRow['status'], activeRun: string | null): void {
      run`UPDATE chat_session SET status = ${status}, active_run = ${activeRun}, changed_at = ${time()}
        WHERE id = ${session}`
    },
  }
}

/** A stored message as it came. */
export function messageOf(row: MessageRow): StoredMessage {
  // Only StoredMessages are ever written into the column.
  return parseLossless(row.payload) as StoredMessage
}
