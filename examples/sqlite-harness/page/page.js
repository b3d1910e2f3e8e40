/**
 * The page: fetches what the server has, shows it, sends what the customer does, and follows the stream of the run that is
 * under way. It keeps nothing that a reload would lose: the server's view of the conversation is the whole truth.
 */
import { element } from './element.js'
import { itemElement } from './items.js'
import { followStream } from './live-text.js'

const byId = (id) => document.getElementById(id)
const [log, live, scroll, statusLine, text, stopButton, sidebar] = [
  'log',
  'live',
  'scroll',
  'status',
  'text',
  'stop',
  'sidebar',
].map(byId)

const state = {
  words: null,
  locale: 'en',
  sessionId: null,
  /** Sent, and not yet in the server's view. */
  sending: [],
  /** `{ id, end }` of the run whose stream is followed. */
  stream: null,
  /** Items shown, by id: `{ made, text }`. */
  shown: new Map(),
  fetching: null,
}

// ---------------------------------------------------------------------------------------------------------- the server

async function ask(method, path, body) {
  const response = await fetch(`/api/${path}`, {
    method,
    ...(method === 'GET' ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body ?? {}) }),
  })
  const answer = await response.json()
  if (!response.ok) throw Object.assign(new Error(answer.error), { status: response.status })
  return answer
}

/** Fetches the view again; what is asked for meanwhile is one more fetch after it, however often it is asked. */
async function refresh() {
  if (state.fetching !== null) {
    state.fetching.again = true
    return
  }
  state.fetching = { again: false }
  try {
    await Promise.all([showList(), state.sessionId === null ? null : showSession(state.sessionId)])
    say('')
  } catch (error) {
    if (error.status === 404) choose(null)
    else say(state.words.offline)
  }
  const { again } = state.fetching
  state.fetching = null
  if (again) await refresh()
}

// ------------------------------------------------------------------------------------------------------------- showing

function say(sentence) {
  if (statusLine.textContent !== sentence) statusLine.textContent = sentence
}

async function showList() {
  const { sessions } = await ask('GET', 'sessions')
  const focused = document.activeElement?.dataset?.session
  const entries = sessions
    .filter(({ title }) => title !== '')
    .map(({ id, title, status }) =>
      element(
        'li',
        {},
        element(
          'button',
          {
            type: 'button',
            title,
            'data-session': id,
            class: status === 'awaiting_tool' ? 'waits' : null,
            'aria-current': id === state.sessionId ? 'true' : null,
            onclick: () => choose(id),
          },
          title,
        ),
      ),
    )
  byId('sessions').replaceChildren(...entries)
  if (focused !== undefined) document.querySelector(`[data-session="${focused}"]`)?.focus()
}

async function showSession(id) {
  const view = await ask('GET', `sessions/${id}`)
  if (id !== state.sessionId) return
  const atEnd = isAtEnd()
  byId('assistant').value = view.assistant_id
  const there = new Set(view.items.map((item) => item.id))
  state.sending = state.sending.filter((message) => !there.has(message.id))
  showItems([...view.items, ...state.sending.map((message) => ({ kind: 'user', ...message }))])
  stopButton.hidden = view.active === null
  follow(view.active)
  if (atEnd) toEnd()
}

/** Only what changed is made anew, so that an open panel stays open and a reader hears each item once. */
function showItems(items) {
  const act = { decide, retry }
  const before = state.shown
  state.shown = new Map()
  const empty = items.length === 0
  const [focused] = [...before].find(([, { made }]) => made.contains(document.activeElement)) ?? []
  const elements = items.map((item) => {
    const written = JSON.stringify(item)
    const known = before.get(item.id)
    const made = known?.written === written ? known.made : itemElement(item, state.words, state.locale, act)
    state.shown.set(item.id, { made, written })
    return made
  })
  for (const child of log.querySelectorAll(':scope > *')) if (!elements.includes(child)) child.remove()
  elements.forEach((made, index) => {
    if (log.children[index] !== made) log.insertBefore(made, log.children[index] ?? null)
  })
  if (empty) log.replaceChildren(welcome())
  // Who pressed a button of a card stands at the card that took its place.
  if (focused !== undefined && document.activeElement === document.body) state.shown.get(focused)?.made.focus()
}

function welcome() {
  const hints = state.words.hints.map((hint) => element('button', { type: 'button', onclick: () => send(hint) }, hint))
  return element('div', {}, element('p', {}, state.words.empty), element('div', { class: 'hints' }, ...hints))
}

/** Follows the run that is under way, once; what is stored takes its place when the run is over. */
function follow(active) {
  if (active === null || active.id !== state.stream?.id) {
    state.stream?.end()
    state.stream = null
    live.replaceChildren()
  }
  if (active === null || state.stream !== null) return
  if (active.stream_url === null) {
    live.replaceChildren(progress(state.words.starting))
    return
  }
  const end = followStream(active.stream_url, (seen) => {
    const atEnd = isAtEnd()
    showLive(seen)
    if (atEnd) toEnd()
    // Should the server's word of it get lost: ask.
    if (seen.done) setTimeout(refresh, 1500)
  })
  state.stream = { id: active.id, end }
  live.replaceChildren(progress(state.words.thinking))
}

function showLive({ steps, wait, done }) {
  const { words } = state
  const parts = steps.flatMap(({ text: said, tools }) => [
    ...(said.trim() === '' ? [] : [element('div', { class: 'bubble assistant' }, said)]),
    ...tools.map((tool) => progress(tool.label ?? words.thinking, tool.state)),
  ])
  const last = steps.at(-1)
  const quiet = last === undefined || (last.text === '' && last.tools.length === 0)
  if (wait !== null) parts.push(progress(wait === 'retry' ? words.waitRetry : words.waitQueue))
  else if (quiet && !done) parts.push(progress(words.thinking))
  live.replaceChildren(...parts)
}

function progress(label, kind = 'running') {
  return element('div', { class: `progress ${kind}` }, label)
}

function isAtEnd() {
  return scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 80
}

function toEnd() {
  scroll.scrollTop = scroll.scrollHeight
}

// ------------------------------------------------------------------------------------------------------------ the deeds

function choose(id) {
  state.sessionId = id
  state.sending = []
  state.shown = new Map()
  history.replaceState(null, '', id === null ? '#' : `#${id}`)
  openList(false)
  if (id === null) {
    follow(null)
    showItems([])
    stopButton.hidden = true
    text.focus()
  }
  void refresh().then(toEnd)
}

async function send(words) {
  const message = { id: `msg_${crypto.randomUUID()}`, text: words }
  state.sending.push(message)
  text.value = ''
  if (state.sessionId === null) {
    try {
      const { id } = await ask('POST', 'sessions', { assistant_id: byId('assistant').value })
      state.sessionId = id
      history.replaceState(null, '', `#${id}`)
    } catch {
      await unsent(message)
      return
    }
  }
  log.append(element('div', { class: 'bubble user unsent' }, words))
  toEnd()
  try {
    await ask('POST', `sessions/${state.sessionId}/messages`, message)
  } catch {
    await unsent(message)
  }
}

/** What was written goes back to where it was written, unless it had arrived and only the answer was lost. */
async function unsent(message) {
  await refresh()
  if (!state.sending.includes(message)) return
  state.sending = state.sending.filter((each) => each !== message)
  if (text.value === '') text.value = message.text
  await refresh()
  say(state.words.notSent)
}

async function decide(card, decision) {
  try {
    await ask('POST', `operations/${card.operation_id}`, { version: card.version, decision })
    await refresh()
  } catch (error) {
    state.shown.delete(card.operation_id)
    await refresh()
    say(error.status === 409 ? state.words.outdated : state.words.offline)
  }
}

async function retry() {
  await ask('POST', `sessions/${state.sessionId}/retry`).catch(() => undefined)
  await refresh()
}

async function stop() {
  stopButton.disabled = true
  await ask('POST', `sessions/${state.sessionId}/stop`).catch(() => say(state.words.offline))
  stopButton.disabled = false
  text.focus()
  await refresh()
}

function openList(open) {
  sidebar.classList.toggle('open', open)
  byId('open-list').setAttribute('aria-expanded', String(open))
  byId('open-list').setAttribute('aria-label', open ? state.words.close : state.words.openList)
}

// ------------------------------------------------------------------------------------------------------------ the start

function connect() {
  byId('composer').addEventListener('submit', (event) => {
    event.preventDefault()
    if (text.value.trim() !== '') void send(text.value)
  })
  text.addEventListener('keydown', (event) => {
    // A word that an input method is still composing is not sent.
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    byId('composer').requestSubmit()
  })
  stopButton.addEventListener('click', stop)
  byId('new').addEventListener('click', () => choose(null))
  byId('open-list').addEventListener('click', () => openList(!sidebar.classList.contains('open')))
  byId('assistant').addEventListener('change', () => {
    // A conversation keeps its assistant; another one begins another conversation.
    if (state.sessionId !== null) choose(null)
  })
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') openList(false)
  })
  const events = new EventSource('/api/events')
  events.addEventListener('open', () => void refresh())
  events.addEventListener('error', () => say(state.words.offline))
  events.addEventListener('changed', () => void refresh())
}

function label({ locale, words, assistants }) {
  state.words = words
  state.locale = locale
  byId('assistant-label').firstElementChild.textContent = words.assistant
  byId('assistant').append(...assistants.map(({ id, name }) => element('option', { value: id }, name)))
  byId('new').textContent = words.newConversation
  sidebar.setAttribute('aria-label', words.conversations)
  log.setAttribute('aria-label', words.title)
  text.setAttribute('aria-label', words.message)
  text.placeholder = words.placeholder
  byId('send').textContent = words.send
  stopButton.textContent = words.stop
  openList(false)
}

label(await ask('GET', 'start'))
connect()
choose(location.hash.length > 1 ? location.hash.slice(1) : null)
