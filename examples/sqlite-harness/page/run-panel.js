/** One run in figures: its steps, the attempts at the model with their tokens and cost, and the calls of tools. */
import { element, fill } from './element.js'
import { money } from './money.js'

export function runElement({ steps, usage, tool_calls, status, audit }, words, locale) {
  const number = (value) => new Intl.NumberFormat(locale).format(value)
  const cost = (amount) =>
    amount === null || usage.currency === null
      ? '–'
      : money(amount, usage.currency, locale, { minimumFractionDigits: 2, maximumFractionDigits: 6 })
  const forms = words.steps[new Intl.PluralRules(locale).select(steps)] ?? words.steps.other
  const summary = fill(words.runDetails, {
    steps: fill(forms, { n: number(steps) }),
    tokens: number(usage.total_tokens),
    cost: cost(usage.cost),
  })
  const figures = { number, cost, status: (name) => words.statuses[name] ?? name, seconds: secondsIn(locale) }
  const remarks = [
    `${words.status}: ${figures.status(status)}`,
    usage.complete ? null : words.estimated,
    audit ? words.audit : null,
  ]
  const tables = element(
    'div',
    { class: 'tables', tabindex: '0', role: 'group', 'aria-label': summary },
    attemptsOf(usage, words, figures),
    tool_calls.length === 0 ? '' : callsOf(tool_calls, words, figures),
    element('div', {}, remarks.filter((remark) => remark !== null).join(' · ')),
  )
  return element('details', { class: 'run' }, element('summary', {}, summary), tables)
}

function secondsIn(locale) {
  const format = new Intl.NumberFormat(locale, { style: 'unit', unit: 'second', maximumFractionDigits: 2 })
  return (ms) => format.format(ms / 1000)
}

function attemptsOf(usage, words, { number, cost, status, seconds }) {
  const { step, attempt, model, input, cached, output, duration } = words
  const rows = usage.attempts.map((each) => [
    each.step,
    each.attempt,
    `${each.provider} ${each.model}`,
    each.error_code === null ? status(each.status) : `${status(each.status)}: ${each.error_code}`,
    number(each.input_tokens),
    number(each.cache_read_tokens),
    number(each.output_tokens) + (each.estimated ? ' ≈' : ''),
    seconds(each.duration_ms),
    cost(each.cost),
  ])
  return table([step, attempt, model, words.status, input, cached, output, duration, words.cost], rows, 4)
}

function callsOf(calls, words, { number, status, seconds }) {
  const { step, attempts, tool, duration } = words
  const rows = calls.map((call) => [
    call.step,
    call.tool,
    status(call.status),
    number(call.attempts),
    seconds(call.duration_ms),
  ])
  return table([step, tool, words.status, attempts, duration], rows, 3)
}

/** Columns from `numbers` on stand to the right. */
function table(titles, rows, numbers) {
  const place = (column) => (column >= numbers ? 'number' : null)
  const head = titles.map((title, column) => element('th', { scope: 'col', class: place(column) }, title))
  const body = rows.map((cells) =>
    element('tr', {}, ...cells.map((cell, column) => element('td', { class: place(column) }, String(cell)))),
  )
  return element('table', {}, element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...body))
}
