/** How each item of a conversation looks. It makes elements from what the server told and starts nothing by itself. */
import { element, fill } from './element.js'
import { showMarkdown } from './markdown.js'
import { money } from './money.js'
import { runElement } from './run-panel.js'

/** `act` is `{ decide(card, decision), retry() }`. */
export function itemElement(item, words, locale, act) {
  switch (item.kind) {
    case 'card':
      return cardElement(item.card, words, locale, act)
    case 'run':
      return runElement(item.run, words, locale)
    case 'notice':
      return noticeElement(item, words, act)
    case 'user':
      return element('div', { class: 'bubble user' }, item.text)
    default: {
      const bubble = element('div', { class: 'bubble assistant' })
      showMarkdown(bubble, item.text)
      return bubble
    }
  }
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
    expired: words.expired,
  }
  const id = `card-${card.operation_id}`
  const version = card.version > 1 ? ` · ${fill(words.version, { n: card.version })}` : ''
  const made = element(
    'section',
    { class: `card ${status}`, 'aria-labelledby': id, tabindex: '-1' },
    element('h2', { id }, title[status], version),
    element('p', { class: 'effect' }, effect),
  )
  if (card.error !== null) made.append(element('p', {}, card.error))
  if (status === 'expired') made.append(element('small', {}, words.nothingDone))
  if (status === 'pending') made.append(...choice(card, effect, made, words, locale, act))
  return made
}

function choice(card, effect, made, words, locale, act) {
  const button = (name, label, decision) => {
    const onclick = () => {
      for (const each of made.querySelectorAll('button')) each.disabled = true
      made.focus()
      act.decide(card, decision)
    }
    return element('button', { type: 'button', class: name, 'aria-label': `${label}: ${effect}`, onclick }, label)
  }
  const remark = card.set_aside ? words.setAside : words.pending
  const until = fill(words.decideBy, { time: moment(card.expires_at, locale) })
  return [
    element('small', {}, `${remark} ${until}`),
    element(
      'div',
      { class: 'buttons' },
      button('primary', words.approve, 'approve'),
      button('', words.decline, 'decline'),
    ),
  ]
}

function moment(iso, locale) {
  const time = new Date(iso)
  const day = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'long' }).format(time)
  return `${day}, ${new Intl.DateTimeFormat(locale, { timeStyle: 'short' }).format(time)}`
}

function noticeElement({ notice, text, retry }, words, act) {
  const sentences = {
    failed: () => fill(words.failed, { reason: text }),
    refused: () => fill(words.refused, { reason: text }),
    lost: () => text,
    cancelled: () => words.cancelled,
    stopped_limit: () => fill(words.limit, { limit: words.limits[text] ?? text }),
  }
  const made = element('div', { class: `notice ${notice}` }, element('span', {}, sentences[notice]()))
  if (!retry) return made
  const onclick = (event) => {
    event.currentTarget.disabled = true
    act.retry()
  }
  made.append(element('button', { type: 'button', onclick }, words.retry))
  return made
}
