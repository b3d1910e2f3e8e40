/** Every sentence that a person reads on the page, in each language of ENGINE_LOCALE. Data; `{…}` is filled in by the page. */
import type { Order } from './shop.ts'

export type Locale = 'en' | 'ru'

/** What the page itself says. */
interface PageWords {
  readonly title: string
  readonly conversations: string
  readonly newConversation: string
  readonly assistant: string
  readonly message: string
  readonly placeholder: string
  readonly send: string
  readonly stop: string
  readonly retry: string
  readonly approve: string
  readonly decline: string
  readonly approvalNeeded: string
  readonly refundEffect: string
  readonly cancelEffect: string
  readonly pending: string
  readonly approved: string
  readonly notCarriedOut: string
  readonly declined: string
  readonly superseded: string
  readonly expired: string
  readonly setAside: string
  readonly decideBy: string
  readonly nothingDone: string
  readonly version: string
  readonly outdated: string
  readonly tooLate: string
  readonly starting: string
  readonly thinking: string
  readonly waitRetry: string
  readonly waitQueue: string
  readonly failed: string
  readonly refused: string
  readonly cancelled: string
  readonly limit: string
  readonly offline: string
  readonly notSent: string
  readonly empty: string
  readonly toEnd: string
  readonly needsDecision: string
  readonly answering: string
  readonly hints: readonly string[]
  /** By plural category of the language; `{n}` is the number. */
  readonly steps: Readonly<Record<string, string>>
  readonly runDetails: string
  readonly step: string
  readonly attempt: string
  readonly attempts: string
  readonly model: string
  readonly status: string
  readonly input: string
  readonly cached: string
  readonly output: string
  readonly duration: string
  readonly cost: string
  readonly tool: string
  readonly estimated: string
  readonly audit: string
  readonly openList: string
  readonly close: string
  /** Of runs, attempts and calls, as SPEC §6 names them. */
  readonly statuses: Readonly<Record<string, string>>
  /** By `limit_reached`. */
  readonly limits: Readonly<Record<string, string>>
}

export interface Words {
  readonly locale: Locale
  readonly page: PageWords
  /** Shown where a run was lost. */
  readonly lost: string
  /** Told to the model: an operation whose call was closed has been decided after all. */
  readonly lateDecision: (effect: string, outcome: string) => string
  /** Told to the model: the customer asks for an answer that broke off once more. */
  readonly again: string
  /** As in "Order 1001 is …". */
  readonly orderStatus: Readonly<Record<Order['status'], string>>
  readonly money: (cents: number, currency: string) => string
  /** @param iso such as 2026-11-24 */
  readonly date: (iso: string) => string
}

/** With their own narrow spaces: an amount is not broken over two lines. */
function moneyIn(language: string): Words['money'] {
  return (cents, currency) => new Intl.NumberFormat(language, { style: 'currency', currency }).format(cents / 100)
}

function dateIn(language: string): Words['date'] {
  const format = new Intl.DateTimeFormat(language, { dateStyle: 'long', timeZone: 'UTC' })
  return (iso) => format.format(new Date(iso))
}

const en: Words = {
  locale: 'en',
  lost: 'The answer was lost: the engine was restarted. Nothing was carried out without an approval.',
  lateDecision: (effect, outcome) =>
    `[Notice of the shop's system, not written by the customer] An earlier request was decided: ${effect}. Outcome: ${outcome}. Tell the customer.`,
  again:
    "[Notice of the shop's system, not written by the customer] Your answer broke off. Answer the customer's last message anew, from the beginning.",
  orderStatus: {
    processing: 'being prepared',
    shipped: 'on its way',
    delivered: 'delivered',
    cancelled: 'cancelled',
  },
  money: moneyIn('en'),
  date: dateIn('en-GB'),
  page: {
    title: 'Shop assistant',
    conversations: 'Conversations',
    newConversation: 'New conversation',
    assistant: 'Assistant',
    message: 'Your message',
    placeholder: 'Ask about an order…',
    send: 'Send',
    stop: 'Stop',
    retry: 'Try again',
    approve: 'Approve',
    decline: 'Decline',
    approvalNeeded: 'Needs a decision',
    refundEffect: 'Refund {amount} for order {order} ({item}) to {customer}',
    cancelEffect: 'Cancel order {order} ({item}, {amount}) of {customer}',
    pending: 'Nothing happens before somebody approves.',
    approved: 'Approved and carried out',
    notCarriedOut: 'Approved, but it could not be carried out',
    declined: 'Declined',
    superseded: 'Replaced by a newer request',
    expired: 'Expired',
    setAside: 'The conversation went on; this can still be decided.',
    decideBy: 'It can be decided until {time}.',
    nothingDone: 'Nobody decided in time. Nothing was carried out.',
    version: 'version {n}',
    outdated: 'This has changed since it was shown. Nothing was done; please look again.',
    tooLate: 'The time to decide is over. Nothing was done; ask for it again if it is still wanted.',
    starting: 'Starting…',
    thinking: 'Thinking…',
    waitRetry: 'The model is busy, trying again…',
    waitQueue: 'Waiting for the model…',
    failed: 'No answer could be had: {reason}',
    refused: 'The engine refused this request: {reason}',
    cancelled: 'Stopped.',
    limit: 'This answer was ended by a limit: {limit}.',
    offline: 'The server cannot be reached. Trying again…',
    notSent: 'This was not sent. Please try again.',
    empty: 'What would you like to know?',
    toEnd: 'To the newest message',
    needsDecision: 'needs a decision',
    answering: 'being answered',
    hints: [
      'Which orders do I have?',
      'Where is order 1001?',
      'Order 1001 arrived broken, please refund it',
      'Refund 1001 and cancel 1003',
      'How long does delivery take?',
    ],
    steps: { one: '{n} step', other: '{n} steps' },
    runDetails: '{steps} · {tokens} tokens · {cost}',
    step: 'Step',
    attempt: 'Attempt',
    attempts: 'Attempts',
    model: 'Model',
    status: 'Status',
    input: 'Input',
    cached: 'Cached',
    output: 'Output',
    duration: 'Time',
    cost: 'Cost',
    tool: 'Tool',
    estimated: 'some figures are estimates (≈)',
    audit: 'Came too late for the conversation; kept for audit only.',
    openList: 'Show conversations',
    close: 'Close',
    statuses: {
      ok: 'ok',
      completed: 'completed',
      awaiting_tool: 'waits for a decision',
      stopped_limit: 'ended by a limit',
      cancelled: 'stopped',
      failed: 'failed',
      error: 'error',
      deferred: 'waits for a decision',
      invalid: 'invalid call',
      refused: 'refused',
      not_sent: 'not sent',
      unknown: 'unknown',
    },
    limits: {
      max_steps: 'number of steps',
      max_tool_calls: 'number of calls',
      timeout_ms: 'time',
      max_output_tokens_total: 'output tokens',
      max_total_tokens: 'tokens',
      max_cost: 'cost',
    },
  },
}

const ru: Words = {
  locale: 'ru',
  lost: 'Ответ потерян: движок перезапустился. Без одобрения ничего не выполнялось.',
  lateDecision: (effect, outcome) =>
    `[Сообщение системы магазина, его писал не покупатель] По прежнему запросу принято решение: ${effect}. Итог: ${outcome}. Сообщите покупателю.`,
  again:
    '[Сообщение системы магазина, его писал не покупатель] Ваш ответ оборвался. Ответьте на последнее сообщение покупателя заново, с начала.',
  orderStatus: {
    processing: 'готовится к отправке',
    shipped: 'в пути',
    delivered: 'доставлен',
    cancelled: 'отменён',
  },
  money: moneyIn('ru'),
  date: dateIn('ru'),
  page: {
    title: 'Помощник магазина',
    conversations: 'Беседы',
    newConversation: 'Новая беседа',
    assistant: 'Помощник',
    message: 'Ваше сообщение',
    placeholder: 'Спросите о заказе…',
    send: 'Отправить',
    stop: 'Остановить',
    retry: 'Повторить',
    approve: 'Одобрить',
    decline: 'Отклонить',
    approvalNeeded: 'Нужно решение',
    refundEffect: 'Вернуть {amount} за заказ {order} ({item}). Покупатель: {customer}',
    cancelEffect: 'Отменить заказ {order} ({item}, {amount}). Покупатель: {customer}',
    pending: 'Без одобрения ничего не произойдёт.',
    approved: 'Одобрено и выполнено',
    notCarriedOut: 'Одобрено, но выполнить не удалось',
    declined: 'Отклонено',
    superseded: 'Заменено более новым запросом',
    expired: 'Срок истёк',
    setAside: 'Беседа продолжилась, но решение ещё можно принять.',
    decideBy: 'Решение можно принять до {time}.',
    nothingDone: 'Решение не приняли вовремя. Ничего не выполнено.',
    version: 'версия {n}',
    outdated: 'Запрос изменился. Ничего не выполнено, посмотрите ещё раз.',
    tooLate: 'Срок для решения истёк. Ничего не выполнено; если это ещё нужно, попросите снова.',
    starting: 'Начинаю…',
    thinking: 'Думаю…',
    waitRetry: 'Модель занята, пробую ещё раз…',
    waitQueue: 'Жду ответа модели…',
    failed: 'Получить ответ не удалось: {reason}',
    refused: 'Движок не принял запрос: {reason}',
    cancelled: 'Остановлено.',
    limit: 'Ответ прерван, достигнут предел: {limit}.',
    offline: 'Сервер недоступен. Пробую снова…',
    notSent: 'Сообщение не отправлено. Попробуйте ещё раз.',
    empty: 'Чем могу помочь?',
    toEnd: 'К последнему сообщению',
    needsDecision: 'нужно решение',
    answering: 'идёт ответ',
    hints: [
      'Какие у меня заказы?',
      'Где заказ 1001?',
      'Заказ 1001 пришёл разбитым, верните деньги',
      'Верните деньги за 1001 и отмените 1003',
      'Сколько идёт доставка?',
    ],
    steps: { one: '{n} шаг', few: '{n} шага', many: '{n} шагов', other: '{n} шага' },
    runDetails: '{steps} · токенов: {tokens} · {cost}',
    step: 'Шаг',
    attempt: 'Попытка',
    attempts: 'Попытки',
    model: 'Модель',
    status: 'Итог',
    input: 'Вход',
    cached: 'Из кэша',
    output: 'Выход',
    duration: 'Время',
    cost: 'Стоимость',
    tool: 'Инструмент',
    estimated: 'часть чисел — оценка (≈)',
    audit: 'Ответ пришёл слишком поздно и в беседу не вошёл; он сохранён для проверки.',
    openList: 'Показать беседы',
    close: 'Закрыть',
    statuses: {
      ok: 'успешно',
      completed: 'завершено',
      awaiting_tool: 'ждёт решения',
      stopped_limit: 'прервано по лимиту',
      cancelled: 'остановлено',
      failed: 'ошибка',
      error: 'ошибка',
      deferred: 'ждёт решения',
      invalid: 'неверный вызов',
      refused: 'отклонено',
      not_sent: 'не отправлено',
      unknown: 'неизвестно',
    },
    limits: {
      max_steps: 'число шагов',
      max_tool_calls: 'число вызовов',
      timeout_ms: 'время',
      max_output_tokens_total: 'токены ответа',
      max_total_tokens: 'токены',
      max_cost: 'стоимость',
    },
  },
}

export function wordsOf(locale: Locale): Words {
  return locale === 'ru' ? ru : en
}
