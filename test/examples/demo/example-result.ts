/** A result as the engine sends it, for the tests of those who take it. */
import type { NewMessage } from '../../../src/contract/message.ts'
import type { RunResult } from '../../../src/contract/result.ts'
import { NO_TOKENS } from '../../../src/contract/usage.ts'

export const RUN_ID = 'run_01M8NVRYK2NQ8QRWHDSXEDPFH8'

export function answered(seq: number, text: string): NewMessage {
  const at = '2026-11-30T09:15:05.902Z'
  return { role: 'assistant', content: [{ type: 'text', text }], created_at: at, run_id: RUN_ID, seq }
}

export function exampleResult(parts: Partial<RunResult> = {}): RunResult {
  return {
    contract_version: '1',
    run_id: RUN_ID,
    status: 'completed',
    history_revision: null,
    idempotency_key: 'msg_1',
    origin_request_id: 'msg_1',
    text: 'Two',
    answer_source: 'model',
    stop_reason: 'end_turn',
    limit_reached: null,
    output: null,
    messages: [answered(0, 'One'), answered(1, 'Two')],
    pending: [],
    tool_calls: [],
    usage: { ...NO_TOKENS, cost: null, currency: null, complete: true, attempts: [] },
    error: null,
    warnings: [],
    steps: 2,
    started_at: '2026-11-30T09:15:02.114Z',
    finished_at: '2026-11-30T09:15:05.902Z',
    meta: {},
    ...parts,
  }
}
