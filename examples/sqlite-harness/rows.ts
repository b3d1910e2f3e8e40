/** The rows of `schema.sql` as the code reads them. Types only; columns nobody reads are left out. */
export interface AssistantRow {
  readonly id: string
  readonly name: string
  readonly provider: string
  readonly model: string
  readonly params: string
  readonly pricing: string | null
  readonly prompt: string
  readonly tools: string
}

export interface ToolRow {
  readonly name: string
  readonly description: string
  readonly input_schema: string
  readonly effect: 'read' | 'write'
  readonly label: string
}

export interface SessionRow {
  readonly id: string
  readonly assistant_id: string
  readonly user_id: string
  readonly title: string
  readonly status: 'idle' | 'running' | 'awaiting_tool'
  readonly active_run: string | null
  readonly history_revision: number
  readonly changed_at: string
}

export interface MessageRow {
  readonly id: string
  readonly position: number
  readonly author: 'customer' | 'engine' | 'harness'
  readonly payload: string
}

export type RunStatus =
  | 'starting'
  | 'running'
  | 'completed'
  | 'awaiting_tool'
  | 'stopped_limit'
  | 'cancelled'
  | 'failed'
  | 'refused'
  | 'lost'

export interface RunRow {
  readonly id: string
  readonly run_id: string | null
  readonly session_id: string
  readonly origin_request_id: string
  readonly history_revision: number
  readonly status: RunStatus
  readonly request: string | null
  readonly stream_url: string | null
  readonly after_position: number
  readonly started_at: string
  readonly deadline_at: string
  readonly result: string | null
  readonly accepted: number | null
  readonly usage: string | null
  readonly cost: string | null
  readonly currency: string | null
  readonly error: string | null
}

export interface OperationRow {
  readonly id: string
  readonly session_id: string
  readonly user_id: string
  readonly tool: string
  readonly order_id: string
  readonly args: string
  readonly args_hash: string
  readonly version: number
  readonly status: 'pending' | 'approved' | 'declined' | 'superseded' | 'expired'
  readonly outcome: string | null
  readonly told: number
}

export interface CallRow {
  readonly call_id: string
  readonly operation_id: string
  readonly version: number
  readonly run_id: string
  readonly state: 'registered' | 'open' | 'closed'
  readonly expires_at: string | null
}
