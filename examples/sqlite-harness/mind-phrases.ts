/** What the scripted assistant understands and says, in each language. Data only; placeholders are those of SPEC §3.2. */
import type { Locale } from './words.ts'

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
  readonly noticed: string
  readonly gap: string
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
  listed: (count) =>
    `You have ${count} ${count === 1 ? 'order' : 'orders'}. The newest is {{results.getOrders.orders.0.id}}: ` +
    '{{results.getOrders.orders.0.item}}, {{results.getOrders.orders.0.total}} {{results.getOrders.orders.0.currency}}, ' +
    '{{results.getOrders.orders.0.status}}.',
  oneOrder:
    'Order {{results.getOrder.id}}, {{results.getOrder.item}}, of {{results.getOrder.ordered_on}} for ' +
    '{{results.getOrder.total}} {{results.getOrder.currency}}: {{results.getOrder.status}}.',
  notFound: (orderId) => `I find no order ${orderId} among yours. Would you check the number?`,
  proposed: (ids) =>
    `I am sorry about that. I have put it forward for order ${ids.join(' and order ')}; a colleague decides.`,
  notPossible: "The shop's rules do not allow that for this order, so I have put nothing forward.",
  noneFits: 'None of your orders can be handled like that. Which one do you mean?',
  noTools: 'I can only look things up. Please choose the shop assistant for that.',
  helpFound: '{{results.searchHelp.articles.0.title}}: {{results.searchHelp.articles.0.text}}',
  helpNothing: 'I find nothing about that in our help.',
  hello: 'Hello! I can look up your orders, put a refund or a cancellation forward, and search our help.',
  refunded:
    'It is done: refund {{results.createReturn.refund_id}} of {{results.createReturn.amount}} ' +
    '{{results.createReturn.currency}} is on its way to you.',
  cancelled: 'Order {{results.cancelOrder.order_id}} is cancelled.',
  declined: 'A colleague has looked at it and declined. Is there anything else I can do?',
  failed: 'It was approved, but it could not be carried out.',
  noticed: 'News of your earlier request: it has been decided. The card above shows how.',
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
  looking: 'Минуту, смотрю.',
  listed: (count) =>
    `Заказов у вас: ${count}. Самый новый — {{results.getOrders.orders.0.id}}: {{results.getOrders.orders.0.item}}, ` +
    '{{results.getOrders.orders.0.total}} {{results.getOrders.orders.0.currency}}, {{results.getOrders.orders.0.status}}.',
  oneOrder:
    'Заказ {{results.getOrder.id}}, {{results.getOrder.item}}, от {{results.getOrder.ordered_on}} на ' +
    '{{results.getOrder.total}} {{results.getOrder.currency}}: {{results.getOrder.status}}.',
  notFound: (orderId) => `Среди ваших заказов нет ${orderId}. Проверьте, пожалуйста, номер.`,
  proposed: (ids) => `Очень жаль. Я подал просьбу по заказу ${ids.join(' и по заказу ')}; решит сотрудник.`,
  notPossible: 'Правила магазина не позволяют этого для такого заказа, поэтому я ничего не подавал.',
  noneFits: 'Среди ваших заказов нет подходящего. Какой вы имеете в виду?',
  noTools: 'Я могу только искать сведения. Для этого выберите помощника магазина.',
  helpFound: '{{results.searchHelp.articles.0.title}}: {{results.searchHelp.articles.0.text}}',
  helpNothing: 'В нашей справке об этом ничего нет.',
  hello: 'Здравствуйте! Я могу посмотреть заказы, подать просьбу о возврате или отмене и поискать в справке.',
  refunded:
    'Готово: возврат {{results.createReturn.refund_id}} на {{results.createReturn.amount}} ' +
    '{{results.createReturn.currency}} уже в пути к вам.',
  cancelled: 'Заказ {{results.cancelOrder.order_id}} отменён.',
  declined: 'Сотрудник посмотрел и отклонил. Могу ли я помочь чем-то ещё?',
  failed: 'Просьбу одобрили, но выполнить её не удалось.',
  noticed: 'Новости о вашей прежней просьбе: решение принято. Оно на карточке выше.',
  gap: ' ',
}

export function phrasesOf(locale: Locale): Phrases {
  return locale === 'ru' ? ru : en
}
