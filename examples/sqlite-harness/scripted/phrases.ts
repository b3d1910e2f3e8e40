/** What the scripted assistant understands and says, in each language. Data only; placeholders are those of SPEC §3.2. */
import type { Locale } from '../data/words.ts'

export interface Phrases {
  readonly refund: RegExp
  readonly cancel: RegExp
  readonly orders: RegExp
  readonly order: RegExp
  readonly help: RegExp
  /** Answers take their time when this is said: for trying the Stop button. */
  readonly slowly: RegExp
  readonly clause: RegExp
  readonly looking: string
  readonly listed: (count: number) => string
  readonly oneOrder: string
  readonly notFound: (orderId: string) => string
  readonly proposed: (orderIds: readonly string[]) => string
  readonly notPossible: string
  readonly noneFits: string
  readonly noTools: string
  readonly helpFound: string
  readonly helpNothing: string
  readonly hello: string
  readonly refunded: string
  readonly cancelled: string
  readonly declined: string
  readonly failed: string
  readonly expired: string
  readonly noticed: string
  readonly gap: string
}

/** A Markdown list, one order a line. */
function listOf(count: number): string {
  const lines = Array.from({ length: count }, (_, index) => {
    const order = `results.getOrders.orders.${index}`
    return `- **{{${order}.id}}** · {{${order}.description}} · {{${order}.status_text}}`
  })
  return lines.join('\n')
}

const en: Phrases = {
  refund: /refund|return|money back|broken|damaged/i,
  cancel: /cancel/i,
  orders: /\borders\b|what did i (order|buy)/i,
  order: /order|parcel|where/i,
  help: /how|deliver|shipping|warranty|pay|help|long/i,
  slowly: /slowly/i,
  clause: /\band\b|[,;]/i,
  looking: 'One moment, I am looking.',
  listed: (count) => `You have ${count} ${count === 1 ? 'order' : 'orders'}:\n\n${listOf(count)}`,
  oneOrder: 'Order {{results.getOrder.id}} is **{{results.getOrder.status_text}}**: {{results.getOrder.description}}.',
  notFound: (orderId) => `I find no order ${orderId} among yours. Would you check the number?`,
  proposed: (ids) =>
    `I have asked a colleague about order ${ids.join(' and order ')}. Nothing happens before they decide.`,
  notPossible: "The shop's rules do not allow that for this order, so I have not asked for it.",
  noneFits: 'None of your orders can be handled like that. Which one do you mean?',
  noTools: 'I can only look things up. Please choose the shop assistant for that.',
  helpFound: '**{{results.searchHelp.articles.0.title}}.** {{results.searchHelp.articles.0.text}}',
  helpNothing: 'I find nothing about that in our help.',
  hello: 'Hello! I can look up your orders, ask for a refund or a cancellation, and search our help.',
  refunded:
    'It is done: refund {{results.createReturn.refund_id}} of {{results.createReturn.amount_text}} ' +
    'is on its way to you.',
  cancelled: 'Order {{results.cancelOrder.order_id}} is cancelled.',
  declined: 'A colleague has looked at it and declined. Is there anything else I can do?',
  failed: 'It was approved, but it could not be carried out.',
  expired: 'Nobody decided in time, so nothing was carried out. Shall I ask again?',
  noticed: 'Your earlier request has been decided. The card above shows how.',
  gap: ' ',
}

const ru: Phrases = {
  refund: /верн|возврат|деньги|разбит|сломан|брак/i,
  cancel: /отмен/i,
  orders: /заказы|заказов|что я (заказывал|покупал)/i,
  order: /заказ|посылк|где/i,
  help: /как|достав|гарант|оплат|сколько|помощь/i,
  slowly: /медленно/i,
  clause: / и |[,;]/i,
  looking: 'Минуту, сейчас посмотрю.',
  listed: (count) => `Ваши заказы (${count}):\n\n${listOf(count)}`,
  // A date in Russian ends with a full stop of its own.
  oneOrder: 'Заказ {{results.getOrder.id}} **{{results.getOrder.status_text}}**: {{results.getOrder.description}}',
  notFound: (orderId) => `Среди ваших заказов нет ${orderId}. Проверьте, пожалуйста, номер.`,
  proposed: (ids) =>
    `Я отправил запрос по заказу ${ids.join(' и по заказу ')}. Без решения сотрудника ничего не произойдёт.`,
  notPossible: 'Правила магазина не позволяют этого для такого заказа, поэтому запрос я не отправил.',
  noneFits: 'Среди ваших заказов нет подходящего. Какой заказ вы имеете в виду?',
  noTools: 'Я могу только искать информацию. Для такого запроса выберите помощника магазина.',
  helpFound: '**{{results.searchHelp.articles.0.title}}.** {{results.searchHelp.articles.0.text}}',
  helpNothing: 'В нашей справке об этом ничего не нашлось.',
  hello: 'Здравствуйте! Я могу посмотреть ваши заказы, отправить запрос на возврат или отмену и найти ответ в справке.',
  refunded: 'Готово: возврат {{results.createReturn.refund_id}} на {{results.createReturn.amount_text}} уже оформлен.',
  cancelled: 'Заказ {{results.cancelOrder.order_id}} отменён.',
  declined: 'Сотрудник рассмотрел запрос и отклонил его. Могу ли я помочь чем-то ещё?',
  failed: 'Запрос одобрили, но выполнить его не удалось.',
  expired: 'Решение не приняли вовремя, поэтому ничего не выполнено. Отправить запрос ещё раз?',
  noticed: 'По вашему прежнему запросу принято решение. Оно указано на карточке выше.',
  gap: ' ',
}

export function phrasesOf(locale: Locale): Phrases {
  return locale === 'ru' ? ru : en
}
