/**
 * Budgets of tokens and money (SPEC §8.3): whether what is left still pays for one more step and the final answer after it.
 *
 * Pure. Nobody knows what a request will cost before it is answered, so the next one is reckoned from what is known: the
 * newest whole answer, and what has come to its context since. Money is compared digit by digit, never as a double.
 */
import { exactNumber, isRawNumber, type Json, type RawNumber } from '../contract/json.ts'
import type { LimitReached } from '../contract/result.ts'
import { toolResultText } from '../contract/tool-result-text.ts'
import { NO_TOKENS, type Attempt, type Tokens } from '../contract/usage.ts'
import { price, sumOf } from '../usage/price.ts'
import type { RunRecord } from './record.ts'

/** SPEC §6.3: where no count was told, so many bytes of UTF-8 stand for a token. */
const BYTES_PER_TOKEN = 4

const utf8 = new TextEncoder()

/** The budget that is used up, or that would be by one more step and a final answer; null while there is enough. */
export function budgetReached(record: RunRecord): LimitReached | null {
  const { limits } = record.request
  const next = limits.final_answer ? nextRequest(record) : null
  if (countReached(record, limits.max_output_tokens_total, next, 'output_tokens')) return 'max_output_tokens_total'
  if (countReached(record, limits.max_total_tokens, next, 'total_tokens')) return 'max_total_tokens'
  return costReached(record, next) ? 'max_cost' : null
}

function countReached(
  record: RunRecord,
  most: number | null,
  next: Tokens | null,
  count: 'output_tokens' | 'total_tokens',
): boolean {
  if (most === null) return false
  const spent = record.attempts.reduce((sum, attempt) => sum + attempt[count], 0)
  return spent >= most || (next !== null && spent + 2 * next[count] > most)
}

function costReached(record: RunRecord, next: Tokens | null): boolean {
  const { limits, targets } = record.request
  const most = amountOf(limits.max_cost)
  if (most === null) return false
  const spent = record.attempts.map(({ cost }) => cost ?? 0)
  if (compare(spent, most) >= 0) return true
  const one = next === null ? null : price(next, targets[record.target]?.pricing ?? null)
  return one !== null && compare([...spent, one, one], most) > 0
}

/**
 * One more request at the present size of the context; null before the first whole answer. Its input: that of the newest
 * answered request, the answer to it and the tool results since. Its answer: as long as the longest one of the run, because a
 * step that only calls a tool says little and the final answer says much.
 */
function nextRequest(record: RunRecord): Tokens | null {
  const whole = record.attempts.filter(isWhole)
  const newest = whole.at(-1)
  if (newest === undefined) return null
  const { cache_read_tokens, cache_write_tokens } = newest
  const input_tokens = newest.input_tokens + newest.output_tokens + tokensSince(record, newest)
  const output_tokens = whole.reduce((longest, attempt) => Math.max(longest, attempt.output_tokens), 0)
  const total_tokens = input_tokens + cache_read_tokens + cache_write_tokens + output_tokens
  return { ...NO_TOKENS, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, total_tokens }
}

/** An attempt that was cut says nothing of how large a request is. */
function isWhole(attempt: Attempt): boolean {
  return attempt.error_code === null
}

/** The results that the calls of the newest answer brought: they are in the next request and were in none before. */
function tokensSince(record: RunRecord, newest: Attempt): number {
  if (record.toolCalls.at(-1)?.step !== newest.step) return 0
  let bytes = 0
  for (let index = record.messages.length - 1; index >= 0; index -= 1) {
    const message = record.messages[index]
    if (message?.role !== 'tool') break
    bytes += utf8.encode(toolResultText(message)).length
  }
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}

/** Below zero, zero, above: the exact sum of `amounts` against `most`. An amount that is no usable number decides nothing. */
function compare(amounts: readonly (number | RawNumber)[], most: number | RawNumber): number {
  const difference = sumOf([...amounts, exactNumber(`-${textOf(most)}`)])
  if (difference === null) return -1
  if (difference === 0) return 0
  return textOf(difference).startsWith('-') ? -1 : 1
}

function amountOf(value: Json): number | RawNumber | null {
  return typeof value === 'number' || isRawNumber(value) ? value : null
}

function textOf(number: number | RawNumber): string {
  return isRawNumber(number) ? number.rawJSON : String(number)
}
