/** The usage of a run: the sum of its attempts, failed ones included. Pure. SPEC §6.3. */
import type { Target } from '../contract/run-request.ts'
import { NO_TOKENS, type Attempt, type Tokens, type Usage } from '../contract/usage.ts'
import { sumOf } from './price.ts'

type Priced = Pick<Target, 'provider' | 'model' | 'pricing'>

const COUNTS = Object.keys(NO_TOKENS) as (keyof Tokens)[]

/**
 * Adds attempts up. `targets` are the models of the run, by whose pricing each attempt was priced.
 *
 * `complete` is false as soon as one attempt never told its usage. `cost` is null where one attempt has none, or where the
 * attempts were priced in several currencies; `currency` is null with it.
 */
export function addUsage(attempts: readonly Attempt[], targets: readonly Priced[]): Usage {
  const tokens = { ...NO_TOKENS }
  for (const attempt of attempts) {
    for (const count of COUNTS) tokens[count] += attempt[count]
  }
  const currency = currencyOf(attempts, targets)
  const cost = currency === null ? null : sumOf(attempts.map((attempt) => attempt.cost))
  return {
    ...tokens,
    cost,
    currency: cost === null ? null : currency,
    complete: attempts.every((attempt) => attempt.status !== 'unknown'),
    attempts: [...attempts],
  }
}

/** The one currency everything was priced in; null where there are several, or none. Without attempts the first model's. */
function currencyOf(attempts: readonly Attempt[], targets: readonly Priced[]): string | null {
  const used = targets.filter((target, index) =>
    attempts.length === 0 ? index === 0 : attempts.some((attempt) => isOf(attempt, target)),
  )
  // What a model without a price cost is null of itself, and there is no sum with it.
  const currencies = new Set(used.flatMap(({ pricing }) => (pricing === null ? [] : [pricing.currency])))
  const [only = null] = currencies
  return currencies.size === 1 ? only : null
}

function isOf(attempt: Attempt, target: Priced): boolean {
  return attempt.provider === target.provider && attempt.model === target.model
}
