/** Every sentence that a person reads on the page, in each language of ENGINE_LOCALE. Data only; `{…}` is filled in by the page. */
export type Locale = 'en' | 'ru'

/** What the page itself says. */
interface PageWords {
  readonly title: string
  readonly conversations: string
  readonly newConversation: string
  readonly assistant: string
  readonly you: string
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
  readonly setAside: string
  readonly version: string
  readonly outdated: string
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
  readonly hints: readonly string[]
  /** By plural category of the language; `{n}` is the number. */
  readonly steps: Readonly<Record<string, string>>
  readonly runDetails: string
  readonly step: string
  readonly attempt: string
  readonly model: string
  readonly status: string
  readonly input: string
  readonly cached: string
  readonly output: string
  readonly duration: string
  readonly cost: string
  readonly tool: string
  readonly total: string
  readonly estimated: string
  readonly audit: string
  readonly openList: string
  readonly close: string
}

export interface Words {
  readonly locale: Locale
  readonly page: PageWords
  /** Shown where a run was lost. */
  readonly lost: string
  /** Told to the model: an operation whose call was closed has been decided after all. */
  readonly lateDecision: (effect: string, outcome: string) => string
}

const en: Words = {
  locale: 'en',
  lost: 'The answer was lost on the way: the engine was restarted. Nothing was carried out without an approval.',
  lateDecision: (effect, outcome) =>
    `[Notice of the shop's system, not written by the customer] An earlier request was decided: ${effect}. Outcome: ${outcome}. Tell the customer.`,
  page: {
    title: 'Shop assistant',
    conversations: 'Conversations',
    newConversation: 'New conversation',
    assistant: 'Assistant',
    you: 'You',
    message: 'Your message',
    placeholder: 'Ask about an order…',
    send: 'Send',
    stop: 'Stop',
    retry: 'Try again',
    approve: 'Approve',
    decline: 'Decline',
    approvalNeeded: 'Needs a decision',
    refundEffect: 'Refund {amount} for order {order} ({item}) to {customer}',
    cancelEffect: 'Cancel order {order} ({item}) of {customer}; {amount} is not charged',
    pending: 'Nothing happens before somebody approves.',
    approved: 'Approved and carried out',
    notCarriedOut: 'Approved, but it could not be carried out',
    declined: 'Declined',
    superseded: 'Replaced by a newer request',
    setAside: 'The conversation went on; this can still be decided.',
    version: 'version {n}',
    outdated: 'This has changed since it was shown. Nothing was done; please look again.',
    starting: 'Starting…',
    thinking: 'Thinking…',
    waitRetry: 'The model is busy, trying again…',
    waitQueue: 'Waiting for the model…',
    failed: 'No answer could be had: {reason}',
    refused: 'The engine refused this request: {reason}',
    cancelled: 'Stopped.',
    limit: 'A limit ended this answer ({limit}).',
    offline: 'The server cannot be reached. Trying again…',
    notSent: 'This was not sent. Please try again.',
    empty: 'What would you like to know?',
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
    model: 'Model',
    status: 'Status',
    input: 'Input',
    cached: 'Cached',
    output: 'Output',
    duration: 'Time',
    cost: 'Cost',
    tool: 'Tool',
    total: 'Total',
    estimated: 'some figures are estimates',
    audit: 'Came too late for the conversation; kept for audit only.',
    openList: 'Show conversations',
    close: 'Close',
  },
}

const ru: Words = {
  locale: 'ru',
  lost: 'Ответ потерялся: движок был перезапущен. Без одобрения ничего не выполнено.',
  lateDecision: (effect, outcome) =>
    `[Сообщение системы магазина, его писал не покупатель] По прежней просьбе принято решение: ${effect}. Итог: ${outcome}. Сообщите покупателю.`,
  page: {
    title: 'Помощник магазина',
    conversations: 'Беседы',
    newConversation: 'Новая беседа',
    assistant: 'Помощник',
    you: 'Вы',
    message: 'Ваше сообщение',
    placeholder: 'Спросите о заказе…',
    send: 'Отправить',
    stop: 'Стоп',
    retry: 'Повторить',
    approve: 'Одобрить',
    decline: 'Отклонить',
    approvalNeeded: 'Нужно решение',
    refundEffect: 'Вернуть {amount} за заказ {order} ({item}), покупатель {customer}',
    cancelEffect: 'Отменить заказ {order} ({item}), покупатель {customer}; {amount} не списываются',
    pending: 'Пока никто не одобрил, ничего не происходит.',
    approved: 'Одобрено и выполнено',
    notCarriedOut: 'Одобрено, но выполнить не удалось',
    declined: 'Отклонено',
    superseded: 'Заменено новой просьбой',
    setAside: 'Беседа пошла дальше; решение ещё можно принять.',
    version: 'версия {n}',
    outdated: 'С тех пор это изменилось. Ничего не сделано, взгляните ещё раз.',
    starting: 'Начинаю…',
    thinking: 'Думаю…',
    waitRetry: 'Модель занята, пробую ещё раз…',
    waitQueue: 'Жду модель…',
    failed: 'Ответа не получилось: {reason}',
    refused: 'Движок не принял запрос: {reason}',
    cancelled: 'Остановлено.',
    limit: 'Ответ закончен по ограничению ({limit}).',
    offline: 'Сервер недоступен. Пробую снова…',
    notSent: 'Сообщение не отправлено. Попробуйте ещё раз.',
    empty: 'Что вы хотите узнать?',
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
    model: 'Модель',
    status: 'Итог',
    input: 'Вход',
    cached: 'Из кэша',
    output: 'Выход',
    duration: 'Время',
    cost: 'Цена',
    tool: 'Инструмент',
    total: 'Всего',
    estimated: 'часть чисел оценочная',
    audit: 'Пришло слишком поздно для беседы; хранится для проверки.',
    openList: 'Показать беседы',
    close: 'Закрыть',
  },
}

export function wordsOf(locale: Locale): Words {
  return locale === 'ru' ? ru : en
}
