/** An amount as it is written in a language: `money(39.9, 'EUR', 'en')` is €39.90. */
export function money(amount, currency, locale, options = {}) {
  return new Intl.NumberFormat(locale, { style: 'currency', currency, ...options }).format(amount)
}
