/**
 * What must be true of one result, whatever happened to its run, beside what the world outside saw of it. Pure; each fault is a
 * sentence.
 */
import { Faults } from '../../src/contract/check.ts'
import type { JsonObject } from '../../src/contract/json.ts'
import type { StoredMessage } from '../../src/contract/message.ts'
import type { RunResult } from '../../src/contract/result.ts'
import { checkHistory } from '../../src/engine/history-rules.ts'
import type { Ledger } from './ledger.ts'

/** Statuses of calls that no tool may have seen. */
const NEVER_SENT = new Set<string>(['not_sent', 'invalid', 'refused'])

/**
 * @param unanswered how many times the run was posted without an answer: what such a post began may be gone without a trace,
 *   after at most one request to the model (SPEC §7.3)
 */
export function faultsOf(
  result: RunResult,
  {
    key,
    history,
    unanswered,
  }: { readonly key: string; readonly history: readonly JsonObject[]; readonly unanswered: number },
  ledger: Ledger,
): string[] {
  const faults = [
    ...usageFaults(result, ledger.asked.get(key) ?? new Set(), unanswered, ledger),
    ...callFaults(result, ledger.called.get(result.run_id) ?? new Map<string, number>()),
    ...historyFaults(result, history),
  ]
  return faults.map((fault) => `${result.run_id} (${result.status} ${result.error?.code ?? ''}): ${fault}`)
}

function* usageFaults(
  { usage }: RunResult,
  asked: ReadonlySet<string>,
  unanswered: number,
  { told }: Ledger,
): Generator<string> {
  const { attempts } = usage
  if (attempts.length < asked.size - unanswered) yield `${asked.size} requests came, ${attempts.length} are told`
  const seen = new Set<string>()
  for (const attempt of attempts) {
    const id = attempt.provider_request_id
    if (id !== null && (seen.has(id) || !asked.has(id))) yield `the request ${id} is told twice, or is not of this run`
    if (id !== null) seen.add(id)
    const figures = told.get(id ?? '')
    if (attempt.status === 'ok') {
      if (attempt.input_tokens !== figures?.input || attempt.output_tokens !== figures.output) {
        yield `${id}: ${attempt.input_tokens} and ${attempt.output_tokens} tokens are told of ${JSON.stringify(figures)}`
      }
    }
  }
  for (const field of ['input_tokens', 'output_tokens', 'total_tokens'] as const) {
    const sum = attempts.reduce((total, attempt) => total + attempt[field], 0)
    if (sum !== usage[field]) yield `${field} is ${usage[field]}, the attempts have ${sum}`
  }
  const complete = attempts.every(({ status }) => status !== 'unknown')
  if (complete !== usage.complete) yield `usage.complete is ${usage.complete}`
}

function* callFaults({ tool_calls: calls }: RunResult, called: ReadonlyMap<string, number>): Generator<string> {
  const told = new Map<string, (typeof calls)[number]>(calls.map((call) => [call.call_id, call]))
  if (told.size !== calls.length) yield 'a call is told twice'
  for (const [callId, times] of called) {
    const call = told.get(callId)
    if (call === undefined) yield `the call ${callId} came to a tool and is not told`
    else if (NEVER_SENT.has(call.status)) yield `the call ${callId} came to a tool and is told as ${call.status}`
    else if (call.attempts < times) yield `the call ${callId} came ${times} times, ${call.attempts} are told`
  }
}

function* historyFaults({ messages, pending }: RunResult, history: readonly JsonObject[]): Generator<string> {
  for (const [index, message] of messages.entries()) {
    if (message.seq !== index) yield `messages[${index}].seq is ${message.seq}`
  }
  const faults = new Faults()
  // What a harness would send next: everything so far, the open calls answered, and a word of the user.
  checkHistory([...history, ...messages, ...closing(pending), ask('next')] as unknown as StoredMessage[], faults)
  for (const { path, message } of faults.list) yield `the history is not valid any more: ${path} ${message}`
}

export function ask(text: string): JsonObject {
  return { role: 'user', content: [{ type: 'text', text }], created_at: '2026-11-30T12:00:00.000Z' }
}

/** The open calls of a result, closed by a user who went on without deciding. */
export function closing(pending: RunResult['pending']): JsonObject[] {
  return pending.map(({ call_id, operation_id, tool }) => ({
    role: 'tool',
    call_id,
    tool,
    operation_id,
    is_error: true,
    error: 'superseded',
    created_at: '2026-11-30T12:00:00.000Z',
  }))
}
