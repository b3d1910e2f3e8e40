/**
 * Sessions and their messages. It writes history and reads it; it starts nothing and decides nothing.
 *
 * A message is stored whole under an id that is unique for all time, and a second one with that id changes nothing: that is
 * what makes a result that comes twice harmless (SPEC, Appendix A, 1).
 */
import type { NewMessage, StoredMessage, ToolMessage } from '../../src/contract/message.ts'
import type { Database } from './database.ts'
import { parseLossless } from './lossless-json.ts'
import type { MessageRow, SessionRow } from './rows.ts'

export interface Conversation {
  create(session: { readonly id: string; readonly assistantId: string; readonly userId: string }): void
  session(id: string): SessionRow | null
  /** Of one customer, newest change first. */
  sessionsOf(userId: string): SessionRow[]
  /** What came from outside, before anything is made of it. */
  keepRaw(sessionId: string, messageId: string, body: string): void
  has(messageId: string): boolean
  /** Stores what the customer said. Raises the revision. */
  customerSaid(sessionId: string, messageId: string, text: string): void
  /** Stores what the model must hear from the harness itself. Raises the revision. */
  harnessSaid(sessionId: string, messageId: string, text: string): void
  /** Stores the answer to a deferred call under its call_id. Raises the revision. */
  answerCall(sessionId: string, message: ToolMessage): void
  /** Stores a run's new messages in their order. */
  engineSaid(sessionId: string, messages: readonly NewMessage[]): void
  messages(sessionId: string): MessageRow[]
  newestPosition(sessionId: string): number
  setStatus(sessionId: string, status: SessionRow['status'], activeRun: string | null): void
  raiseRevision(sessionId: string): void
}

const TITLE_CHARACTERS = 60

export function createConversation(database: Database, now: () => Date): Conversation {
  const time = () => now().toISOString()

  function store(sessionId: string, id: string, author: MessageRow['author'], message: StoredMessage): boolean {
    const stored = database.run(
      `INSERT INTO chat_message (id, session_id, position, author, payload)
       SELECT ?, ?, COALESCE(MAX(position), 0) + 1, ?, ? FROM chat_message WHERE session_id = ?
       ON CONFLICT (id) DO NOTHING`,
      id,
      sessionId,
      author,
      JSON.stringify(message),
      sessionId,
    )
    return stored > 0
  }

  function raiseRevision(sessionId: string): void {
    database.run(
      'UPDATE chat_session SET history_revision = history_revision + 1, changed_at = ? WHERE id = ?',
      time(),
      sessionId,
    )
  }

  function said(sessionId: string, id: string, author: 'customer' | 'harness', text: string): void {
    const message: StoredMessage = { role: 'user', content: [{ type: 'text', text }], created_at: time() }
    if (store(sessionId, id, author, message)) raiseRevision(sessionId)
  }

  return {
    create({ id, assistantId, userId }) {
      database.run(
        'INSERT INTO chat_session (id, assistant_id, user_id, created_at, changed_at) VALUES (?, ?, ?, ?, ?)',
        id,
        assistantId,
        userId,
        time(),
        time(),
      )
    },
    session: (id) => database.one<SessionRow>('SELECT * FROM chat_session WHERE id = ?', id),
    sessionsOf: (userId) =>
      database.all<SessionRow>(
        'SELECT * FROM chat_session WHERE user_id = ? ORDER BY changed_at DESC LIMIT 200',
        userId,
      ),
    keepRaw(sessionId, messageId, body) {
      database.run(
        `INSERT INTO raw_chat_message (id, session_id, body, received_at) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
        messageId,
        sessionId,
        body,
        time(),
      )
    },
    has: (messageId) => database.one('SELECT 1 FROM chat_message WHERE id = ?', messageId) !== null,
    customerSaid(sessionId, messageId, text) {
      said(sessionId, messageId, 'customer', text)
      // Half a surrogate pair at the cut is no character.
      const title = text
        .trim()
        .replace(/\s+/g, ' ')
        .slice(0, TITLE_CHARACTERS)
        .replace(/[\uD800-\uDBFF]$/, '')
      database.run(`UPDATE chat_session SET title = ? WHERE id = ? AND title = ''`, title, sessionId)
    },
    harnessSaid: (sessionId, messageId, text) => said(sessionId, messageId, 'harness', text),
    answerCall(sessionId, message) {
      if (store(sessionId, message.call_id, 'harness', message)) raiseRevision(sessionId)
    },
    engineSaid(sessionId, messages) {
      for (const message of messages.toSorted((left, right) => left.seq - right.seq)) {
        store(sessionId, `${message.run_id}:${message.seq}`, 'engine', message)
      }
    },
    messages: (sessionId) =>
      database.all<MessageRow>('SELECT * FROM chat_message WHERE session_id = ? ORDER BY position', sessionId),
    newestPosition: (sessionId) =>
      database.one<{ newest: number | null }>(
        'SELECT MAX(position) AS newest FROM chat_message WHERE session_id = ?',
        sessionId,
      )?.newest ?? 0,
    setStatus(sessionId, status, activeRun) {
      database.run(
        'UPDATE chat_session SET status = ?, active_run = ?, changed_at = ? WHERE id = ?',
        status,
        activeRun,
        time(),
        sessionId,
      )
    },
    raiseRevision,
  }
}

/** A stored message as it came. */
export function messageOf(row: MessageRow): StoredMessage {
  // Only StoredMessages are ever written into the column.
  return parseLossless(row.payload) as StoredMessage
}
