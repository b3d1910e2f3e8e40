/**
 * The scripted assistant: reads what the customer wrote and writes the script that the engine's `scripted` provider plays in
 * this one run (SPEC §3.2). It stands in for a model where there is no key; everything after it is the real thing.
 *
 * It decides by looking at the shop what a model would decide by looking at results; what it says, it says from the results,
 * through placeholders.
 */
import { messageOf } from '../conversation.ts'
import { type Phrases, phrasesOf } from './phrases.ts'
import type { MessageRow } from '../rows.ts'
import { decimal, type Order, type Shop } from '../data/shop.ts'
import type { Words } from '../data/words.ts'

export interface Question {
  readonly messages: readonly MessageRow[]
  readonly words: Words
  readonly shop: Shop
  readonly customerId: string
  /** The assistant's tools: it asks for none that it does not have. */
  readonly tools: readonly string[]
}

/** One entry a step, each a list of moves. */
export type Script = readonly (readonly unknown[])[]

export function scriptFor(question: Question): Script {
  const phrases = phrasesOf(question.words.locale)
  const last = question.messages.at(-1)
  if (last === undefined) return [[said(phrases.hello, '', phrases)]]
  const message = messageOf(last)
  if (message.role === 'tool') return [[said(afterDecisions(question.messages, phrases), '', phrases)]]
  if (last.author === 'harness' && !last.id.startsWith('again_')) return [[said(phrases.noticed, '', phrases)]]
  // Braces would be read as a placeholder.
  return answerTo(customersWords(question.messages).replaceAll('{{', '{ {'), phrases, question)
}

/** The last message that is the customer's own. */
function customersWords(messages: readonly MessageRow[]): string {
  const row = messages.findLast(({ author }) => author === 'customer')
  const message = row === undefined ? null : messageOf(row)
  if (message?.role !== 'user') return ''
  return message.content.map((part) => (part.type === 'text' ? part.text : '')).join(' ')
}

function answerTo(text: string, phrases: Phrases, question: Question): Script {
  const say = (words: string) => said(words, text, phrases)
  const [number] = numbersIn(text)
  if (phrases.refund.test(text) || phrases.cancel.test(text)) return proposal(text, phrases, question)
  if (number !== undefined) {
    const known = question.shop.order(question.customerId, number) !== null
    return [
      [say(phrases.looking), call('getOrder', { orderId: number })],
      [say(known ? phrases.oneOrder : phrases.notFound(number))],
    ]
  }
  if (phrases.orders.test(text) || (phrases.order.test(text) && !phrases.help.test(text))) {
    return [
      [say(phrases.looking), call('getOrders', {})],
      [say(phrases.listed(question.shop.orders(question.customerId).length))],
    ]
  }
  if (phrases.help.test(text)) {
    const found = question.shop.searchHelp(text).length > 0
    return [
      [say(phrases.looking), call('searchHelp', { query: text.slice(0, MAX_ARGUMENT) })],
      [say(found ? phrases.helpFound : phrases.helpNothing)],
    ]
  }
  return [[say(phrases.hello)]]
}

type Wish = { readonly tool: 'createReturn' | 'cancelOrder'; readonly orderId: string | null }

/** Looks the orders up, then asks for what is wished, all of it in one answer. */
function proposal(text: string, phrases: Phrases, { shop, customerId, tools }: Question): Script {
  const say = (words: string) => said(words, text, phrases)
  const wishes = wishesIn(text, phrases)
  if (wishes.some(({ tool }) => !tools.includes(tool))) return [[say(phrases.noTools)]]
  const orders = shop.orders(customerId)
  const chosen = wishes.map(({ tool, orderId }) => ({ tool, orderId, order: orderFor(tool, orderId, orders) }))
  const missing = chosen.find(({ order }) => order === undefined)
  if (missing !== undefined) {
    const { orderId } = missing
    return orderId === null
      ? [[say(phrases.looking), call('getOrders', {})], [say(phrases.noneFits)]]
      : [[say(phrases.looking), call('getOrder', { orderId })], [say(phrases.notFound(orderId))]]
  }
  const wanted = chosen.flatMap(({ tool, order }) =>
    order !== undefined && isPossible(tool, order) ? [{ tool, order }] : [],
  )
  if (wanted.length === 0) return [[say(phrases.looking), call('getOrders', {})], [say(phrases.notPossible)]]
  return [
    [say(phrases.looking), call('getOrders', {})],
    [
      say(phrases.proposed(wanted.map(({ order }) => order.id))),
      ...wanted.map(({ tool, order }) => write(tool, order, orders, text)),
    ],
    // Heard only where the shop refused all of it: else the run has ended and waits.
    [say(phrases.notPossible)],
  ]
}

function wishesIn(text: string, phrases: Phrases): Wish[] {
  const wishes: Wish[] = []
  for (const clause of text.split(phrases.clause)) {
    const tool = phrases.cancel.test(clause) ? 'cancelOrder' : phrases.refund.test(clause) ? 'createReturn' : null
    const [orderId = null] = numbersIn(clause)
    const before = wishes.at(-1)
    // "Order 1001 arrived broken, please refund it": one wish in two clauses.
    if (tool === null || (before?.tool === tool && orderId === null)) continue
    // One operation of a kind for one message: the second is for the next message.
    if (wishes.some((wish) => wish.tool === tool)) continue
    wishes.push({ tool, orderId })
  }
  const [only] = wishes
  return wishes.length === 1 && only !== undefined && only.orderId === null
    ? [{ ...only, orderId: numbersIn(text)[0] ?? null }]
    : wishes
}

function orderFor(tool: Wish['tool'], orderId: string | null, orders: readonly Order[]): Order | undefined {
  if (orderId !== null) return orders.find(({ id }) => id === orderId)
  return orders.find((order) => isPossible(tool, order) && (tool === 'cancelOrder' || order.status === 'delivered'))
}

function isPossible(tool: Wish['tool'], { status, total_cents, refunded_cents }: Order): boolean {
  return tool === 'cancelOrder' ? status === 'processing' : status !== 'cancelled' && refunded_cents < total_cents
}

function write(tool: Wish['tool'], order: Order, orders: readonly Order[], text: string) {
  const place = `results.getOrders.orders.${orders.indexOf(order)}`
  const orderId = `{{${place}.id}}`
  if (tool === 'cancelOrder') return call(tool, { orderId })
  // A placeholder cannot subtract: what is left of an order that was refunded in part is a plain number.
  const amount = order.refunded_cents === 0 ? `{{${place}.total}}` : decimal(order.total_cents - order.refunded_cents)
  return call(tool, { orderId, amount, reason: text.slice(0, MAX_ARGUMENT) })
}

/** One sentence for each decision that stands at the end of the history. */
function afterDecisions(messages: readonly MessageRow[], phrases: Phrases): string {
  const sentences: string[] = []
  for (const row of messages.toReversed()) {
    const message = messageOf(row)
    if (message.role !== 'tool') break
    if (row.author !== 'harness' || message.error?.startsWith('superseded') === true) continue
    if (message.is_error !== true)
      sentences.unshift(message.tool === 'cancelOrder' ? phrases.cancelled : phrases.refunded)
    else sentences.unshift(whyNot(message.error ?? '', phrases))
  }
  return sentences.length === 0 ? phrases.notPossible : [...new Set(sentences)].join(phrases.gap)
}

function whyNot(error: string, phrases: Phrases): string {
  if (error.startsWith('declined')) return phrases.declined
  return error.startsWith('expired') ? phrases.expired : phrases.failed
}

function numbersIn(text: string): string[] {
  return text.match(/\d{4,}/g) ?? []
}

/** As the tools' schemas bound it. */
const MAX_ARGUMENT = 2000
const PACE_MS = 12
const SLOW_PACE_MS = 400

/** A few characters at a time, about as fast as a model speaks. */
function said(text: string, question: string, { slowly }: Phrases) {
  return { text, chunk: 4, pace_ms: slowly.test(question) ? SLOW_PACE_MS : PACE_MS }
}

function call(name: string, args: Readonly<Record<string, unknown>>) {
  return { tool_call: { name, args } }
}
