/** The rows of `schema.sql` as the code reads them. Types only; columns that nobody reads are left out. */
import type { Status } from '../../src/contract/result.ts'

export type Text<Column extends string> = Readonly<Record<Column, string>>
type TextOrNull<Column extends string> = Readonly<Record<Column, string | null>>
type Whole<Column extends string> = Readonly<Record<Column, number>>

export interface AssistantRow
  extends Text<'id' | 'provider' | 'model' | 'params' | 'prompt' | 'tools'>, TextOrNull<'pricing'> {}

export interface SessionRow
  extends Text<'id' | 'assistant_id' | 'user_id'>, TextOrNull<'active_run'>, Whole<'history_revision'> {
  readonly status: 'idle' | 'running' | 'awaiting_tool'
}

export interface MessageRow extends Text<'id' | 'payload'>, Whole<'position'> {
  readonly author: 'customer' | 'engine' | 'harness'
}

export interface RunRow
  extends
    Text<'id' | 'session_id' | 'origin_request_id'>,
    TextOrNull<'run_id' | 'request' | 'stream_url' | 'result' | 'error'>,
    Whole<'history_revision' | 'after_position'> {
  readonly status: 'starting' | 'running' | 'refused' | 'lost' | Status
  readonly accepted: 0 | 1 | null
}

export interface OperationRow
  extends
    Text<'id' | 'session_id' | 'user_id' | 'tool' | 'order_id' | 'args' | 'args_hash'>,
    TextOrNull<'outcome' | 'expires_at'>,
    Whole<'version'> {
  readonly status: 'pending' | 'approved' | 'declined' | 'superseded' | 'expired'
}

/** A call that waits for an operation, with its tool. */
export type CallRow = Text<'call_id' | 'operation_id' | 'tool'>
