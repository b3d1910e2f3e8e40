/** How each item of a conversation looks. It makes elements from what the server told and starts nothing by itself. */
import { element, fill } from './element.js'

/** `act` is `{ decide(card, decision), retry() }`. */
export function itemElement(item, words, locale, act) {
  if (item.kind === 'card') return cardElement(item.card, words, locale, act)
  if (item.kind === 'run') return runElement(item.run, words, locale)
  if (item.kind === 'notice') return noticeElement(item, words, act)
  return element('div', { class: `bubble ${item.kind}` }, item.text)
}

function money(amount, currency, locale, options = {}) {
  return new Intl.NumberFormat(locale, { style: 'currency', currency, ...options }).format(amount)
}

function cardElement(card, words, locale, act) {
  const { order, item, customer, status } = card
  const sentence = card.tool === 'cancelOrder' ? words.cancelEffect : words.refundEffect
  const effect = fill(sentence, { order, item, customer, amount: money(card.amount, card.currency, locale) })
  const title = {
    pending: words.approvalNeeded,
    approved: card.error === null ? words.approved : words.notCarriedOut,
    declined: words.declined,
    superseded: words.superseded,
  }
  const id = `card-${card.operation_id}`
  const made = element(
    'section',
    { class: `card ${status}`, 'aria-labelledby': id, tabindex: '-1' },
    element('h2', { id }, title[status], card.version > 1 ? ` · ${fill(words.version, { n: card.version })}` : ''),
    element('p', { class: 'effect' }, effect),
  )
  if (card.error !== null) made.append(element('p', {}, card.error))
  if (status !== 'pending') return made
  const button = (name, text, decision) =>
    element(
      'button',
      {
        type: 'button',
        class: name,
        'aria-label': `${text}: ${effect}`,
        onclick: () => {
          for (const each of made.querySelectorAll('button')) each.disabled = true
          made.focus()
          act.decide(card, decision)
        },
      },
      text,
    )
  made.append(
    element('small', {}, card.set_aside ? words.setAside : words.pending),
    element(
      'div',
      { class: 'buttons' },
      button('primary', words.approve, 'approve'),
      button('', words.decline, 'decline'),
    ),
  )
  return made
}

function noticeElement({ notice, text, retry }, words, act) {
  const sentences = {
    failed: () => fill(words.failed, { reason: text }),
    refused: () => fill(words.refused, { reason: text }),
    lost: () => text,
    cancelled: () => words.cancelled,
    limit: () => fill(words.limit, { limit: text }),
  }
  const made = element('div', { class: 'notice' }, element('span', {}, sentences[notice]()))
  if (retry) made.append(element('button', { type: 'button', onclick: () => act.retry() }, words.retry))
  return made
}

function runElement({ steps, usage, tool_calls, status, audit }, words, locale) {
  const forms = words.steps[new Intl.PluralRules(locale).select(steps)] ?? words.steps.other
  const cost = (amount) =>
    amount === null || usage.currency === null
      ? '–'
      : money(amount, usage.currency, locale, { minimumFractionDigits: 2, maximumFractionDigits: 6 })
  const number = (value) => new Intl.NumberFormat(locale).format(value)
  const summary = fill(words.runDetails, {
    steps: fill(forms, { n: number(steps) }),
    tokens: number(usage.total_tokens),
    cost: cost(usage.cost),
  })
  const seconds = (ms) =>
    new Intl.NumberFormat(locale, { style: 'unit', unit: 'second', maximumFractionDigits: 2 }).format(ms / 1000)
  const attempts = usage.attempts.map((attempt) => [
    attempt.step,
    attempt.attempt,
    `${attempt.provider} ${attempt.model}`,
    attempt.error_code === null ? attempt.status : `${attempt.status}: ${attempt.error_code}`,
    number(attempt.input_tokens),
    number(attempt.cache_read_tokens),
    number(attempt.output_tokens) + (attempt.estimated ? ' ≈' : ''),
    seconds(attempt.duration_ms),
    cost(attempt.cost),
  ])
  const calls = tool_calls.map((call) => [
    call.step,
    call.tool,
    call.status,
    number(call.attempts),
    seconds(call.duration_ms),
  ])
  const { step, attempt, model, input, cached, output, duration, tool } = words
  const remarks = [status, usage.complete ? null : words.estimated, audit ? words.audit : null].filter(
    (remark) => remark !== null,
  )
  const tables = element(
    'div',
    { class: 'tables', tabindex: '0', role: 'group', 'aria-label': summary },
    table([step, attempt, model, words.status, input, cached, output, duration, words.cost], attempts, 4),
    calls.length === 0 ? '' : table([step, tool, words.status, attempt, duration], calls, 3),
    element('div', {}, remarks.join(' · ')),
  )
  return element('details', { class: 'run' }, element('summary', {}, summary), tables)
}

/** Columns from `numbers` on stand to the right. */
function table(titles, rows, numbers) {
  const place = (column) => (column >= numbers ? 'number' : null)
  return element(
    'table',
    {},
    element(
      'thead',
      {},
      element('tr', {}, ...titles.map((title, column) => element('th', { scope: 'col', class: place(column) }, title))),
    ),
    element(
      'tbody',
      {},
      ...rows.map((cells) =>
        element('tr', {}, ...cells.map((cell, column) => element('td', { class: place(column) }, String(cell)))),
      ),
    ),
  )
}
