/** What a run cost, as lines of a table: one row an attempt, failed ones included (SPEC §6.3). Pure. */
import type { Attempt, Usage } from '../../src/contract/usage.ts'

const COLUMNS: readonly (readonly [title: string, cell: (attempt: Attempt) => string | number])[] = [
  ['step', ({ step }) => step],
  ['attempt', ({ attempt }) => attempt],
  ['provider', ({ provider }) => provider],
  ['model', ({ model }) => model],
  ['status', ({ status, error_code }) => (error_code === null ? status : `${status}: ${error_code}`)],
  ['input', ({ input_tokens }) => input_tokens],
  ['cached', ({ cache_read_tokens }) => cache_read_tokens],
  ['output', ({ output_tokens }) => output_tokens],
  ['ms', ({ duration_ms }) => duration_ms],
  ['cost', ({ cost }) => costText(cost)],
]

/** A head, a row an attempt, and one line of sums. Numbers stand to the right. */
export function usageTable(usage: Usage): string[] {
  const rows = [
    COLUMNS.map(([title]) => title),
    ...usage.attempts.map((attempt) => COLUMNS.map(([, cell]) => String(cell(attempt)))),
  ]
  const widths = COLUMNS.map((_column, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)))
  const lines = rows.map((row) =>
    row
      .map((cell, index) => placed(cell, widths[index] ?? 0, index))
      .join('  ')
      .trimEnd(),
  )
  return [...lines, sums(usage)]
}

function placed(cell: string, width: number, index: number): string {
  return index >= 2 && index <= 4 ? cell.padEnd(width) : cell.padStart(width)
}

function sums({ total_tokens, cost, currency, complete }: Usage): string {
  const tokens = `${total_tokens} tokens${complete ? '' : ', some of them estimated'}`
  return cost === null ? `${tokens}; no cost without pricing` : `${tokens}, ${costText(cost)} ${currency ?? ''}`
}

/** Money is a decimal, and a small sum is no reason for an exponent. */
const money = new Intl.NumberFormat('en-US', { useGrouping: false, maximumSignificantDigits: 15 })

function costText(cost: Attempt['cost']): string {
  if (cost === null) return '-'
  return typeof cost === 'number' ? money.format(cost) : cost.rawJSON
}
