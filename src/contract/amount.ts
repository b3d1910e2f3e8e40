/**
 * What a price or a bound of money may look like: the one form that costs are reckoned with. A longer one would decide nothing
 * where money is compared, so it is refused where it comes in.
 */
import { isRawNumber, type Json } from './json.ts'

/** Spelt out, more digits or an exponent of three would be a text of as many zeros. */
const AMOUNT = /^-?\d{1,40}(?:\.\d{1,40})?(?:[eE][+-]?\d{1,2})?$/

/** What an amount must be, in the words of a fault. */
export const AMOUNT_RULE = 'must have at most 40 digits before and 40 behind the point, and an exponent below 100'

/** The digits of an amount as they were written; null: it is no number of that form. */
export function amountText(value: Json): string | null {
  const text = isRawNumber(value) ? value.rawJSON : typeof value === 'number' ? String(value) : ''
  return AMOUNT.test(text) ? text : null
}
