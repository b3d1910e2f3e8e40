/**
 * The page: fetches what the server has, shows it, sends what the customer does, and follows the stream of the run that is
 * under way. It keeps nothing that a reload would lose: the server's view of the conversation is the whole truth.
 */
import { element } from './element.js'
import { itemElement } from './items.js'
import { followStream } from './live-text.js'
import { createLiveView } from './live-view.js'
import { ask, createOutbox } from './server.js'

const byId = (id) => document.getElementById(id)
const [log, scroll, statusLine, text, stopButton, sidebar] = ['log', 'scroll', 'status', 'text', 'stop', 'sidebar'].map(
  byId,
)

const SEND_AGAIN_AFTER_MS = 2000

const state = {
  words: null,
  locale: 'en',
  sessionId: null,
  /** As the server told it last; null: a new conversation. */
  view: null,
  /** `{ id, end }` of the run whose stream is followed. */
  stream: null,
  /** Elements of the items shown, by id: `{ made, written }`. */
  shown: new Map(),
  fetching: null,
  expiry: 0,
}
const { locale, words, assistants } = await startData()
Object.assign(state, { locale, words })
const live = createLiveView(byId('live'), words, keepingEnd)
const outbox = createOutbox({ sessionFor: newSession, refused: giveBack, offline: sendLater })

/** The server may be there a moment before its engine is. */
async function startData() {
  for (;;) {
    try {
      return await ask('GET', 'start')
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 1000))
    }
  }
}

// ------------------------------------------------------------------------------------------------------------- fetching

/** Fetches the view again; what is asked for meanwhile is one more fetch after it, however often it is asked. */
async function refresh(session = true) {
  if (state.fetching !== null) {
    state.fetching.again = true
    return
  }
  state.fetching = { again: false }
  try {
    await Promise.all([showList(), session && state.sessionId !== null ? showSession(state.sessionId) : null])
    // Other remarks stay until the customer does something.
    if (statusLine.textContent === words.offline) say('')
  } catch (error) {
    if (error.status === 404) choose(null)
    // The server is another one by now: opening the page signs in there.
    else if (error.status === 401) location.reload()
    else say(words.offline)
  }
  const { again } = state.fetching
  state.fetching = null
  if (again) await refresh()
}

async function showSession(id) {
  const view = await ask('GET', `sessions/${id}`)
  if (id !== state.sessionId) return
  const isFirst = state.view === null
  state.view = view
  keepingEnd(() => {
    showItems()
    follow(view.active)
  })
  if (isFirst) toEnd()
  // Who stands at Stop when there is nothing left to stop goes on writing.
  if (view.active === null && document.activeElement === stopButton) text.focus()
  stopButton.hidden = view.active === null
  byId('assistant').value = view.assistant_id
  lookAgainAtExpiry(view)
}

/** A card whose time is over shows it without being asked. */
function lookAgainAtExpiry({ items }) {
  clearTimeout(state.expiry)
  const times = items.flatMap(({ card }) => (card?.status === 'pending' ? [Date.parse(card.expires_at)] : []))
  const left = Math.min(...times) - Date.now()
  if (left < 86_400_000) state.expiry = setTimeout(refresh, Math.max(1000, left + 500))
}

// -------------------------------------------------------------------------------------------------------------- showing

function say(sentence) {
  if (statusLine.textContent !== sentence) statusLine.textContent = sentence
}

async function showList() {
  const { sessions } = await ask('GET', 'sessions')
  const focused = document.activeElement?.dataset?.session
  const marks = { awaiting_tool: words.needsDecision, running: words.answering }
  const entries = sessions.filter(({ title }) => title !== '')
  byId('sessions').replaceChildren(
    ...entries.map(({ id, title, status }) => {
      const mark = marks[status]
      const button = element(
        'button',
        {
          type: 'button',
          title,
          'data-session': id,
          'aria-current': id === state.sessionId ? 'true' : null,
          onclick: () => choose(id),
        },
        element('span', { class: 'title' }, title),
        mark === undefined
          ? ''
          : element('span', { class: `mark ${status}`, role: 'img', 'aria-label': mark, title: mark }),
      )
      return element('li', {}, button)
    }),
  )
  if (focused !== undefined) document.querySelector(`[data-session="${focused}"]`)?.focus()
}

/** Only what changed is made anew, so that an open panel stays open and a reader hears each item once. */
function showItems() {
  const stored = state.view?.items ?? []
  const waiting = outbox.of(state.sessionId, new Set(stored.map(({ id }) => id)))
  const items = [
    ...stored,
    ...waiting.map(({ id, text: said, sent }) => ({ kind: 'user', id, text: said, unsent: !sent })),
  ]
  const before = state.shown
  state.shown = new Map()
  const [focused] = [...before].find(([, { made }]) => made.contains(document.activeElement)) ?? []
  for (const item of items) {
    const { unsent = false, ...content } = item
    const written = JSON.stringify(content)
    const known = before.get(item.id)
    const made = known?.written === written ? known.made : itemElement(item, words, state.locale, { decide, retry })
    made.classList.toggle('unsent', unsent)
    state.shown.set(item.id, { made, written })
  }
  const elements = items.length === 0 ? [welcome()] : [...state.shown.values()].map(({ made }) => made)
  const wanted = new Set(elements)
  for (const child of Array.from(log.children)) if (!wanted.has(child)) child.remove()
  for (const [index, made] of elements.entries()) {
    if (log.children[index] !== made) log.insertBefore(made, log.children[index] ?? null)
  }
  // Who pressed a button of a card stands at the card that took its place.
  if (focused !== undefined && document.activeElement === document.body) state.shown.get(focused)?.made.focus()
}

function welcome() {
  const hints = words.hints.map((hint) => element('button', { type: 'button', onclick: () => send(hint) }, hint))
  return element(
    'div',
    { class: 'welcome' },
    element('p', {}, words.empty),
    element('div', { class: 'hints' }, ...hints),
  )
}

/** Follows the run that is under way, once; what is stored takes its place when the run is over. */
function follow(active) {
  if (active === null || active.id !== state.stream?.id) {
    state.stream?.end()
    state.stream = null
    live.clear()
  }
  if (active === null || state.stream !== null) return
  if (active.stream_url === null) {
    live.say(words.starting)
    return
  }
  live.say(words.thinking)
  const show = (seen) => {
    live.show(seen)
    // Should the server's word of it get lost: ask.
    if (seen.done) setTimeout(refresh, 1500)
  }
  state.stream = { id: active.id, end: followStream(active.stream_url, show, lost) }
}

/** The engine does not know the run any more: the harness looks at once, and the page again after it. */
async function lost() {
  const { sessionId } = state
  state.stream = null
  await ask('POST', `sessions/${sessionId}/look`).catch(() => undefined)
  setTimeout(refresh, 1000)
}

// ------------------------------------------------------------------------------------------------------------ scrolling

/** Draws, and stays at the end if the reader is there. Who reads further up is left in peace. */
function keepingEnd(draw) {
  const atEnd = isAtEnd()
  draw()
  if (atEnd) toEnd()
  markEnd()
}

function isAtEnd() {
  return scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 80
}

function toEnd() {
  scroll.scrollTop = scroll.scrollHeight
  markEnd()
}

function markEnd() {
  byId('to-end').hidden = isAtEnd()
}

// ------------------------------------------------------------------------------------------------------------ the deeds

function choose(id) {
  say('')
  state.sessionId = id
  state.view = null
  state.shown = new Map()
  history.replaceState(null, '', id === null ? location.pathname : `#${id}`)
  openList(false)
  follow(null)
  stopButton.hidden = true
  // What stood in a conversation before is not news: it is not read out.
  log.setAttribute('aria-live', 'off')
  if (id === null) showItems()
  if (id === null) text.focus()
  void refresh().then(() => requestAnimationFrame(() => log.setAttribute('aria-live', 'polite')))
}

async function send(said) {
  say('')
  outbox.add(said, state.sessionId)
  text.value = ''
  showItems()
  toEnd()
  await outbox.send()
  showItems()
}

function sendLater() {
  say(words.offline)
  setTimeout(backAgain, SEND_AGAIN_AFTER_MS)
}

/** The server may be there again: what waits is sent, then what it has is shown. */
async function backAgain() {
  await outbox.send()
  await refresh()
}

async function newSession() {
  const { id } = await ask('POST', 'sessions', { assistant_id: byId('assistant').value })
  // Meanwhile another conversation may have been chosen.
  if (state.sessionId === null) {
    state.sessionId = id
    history.replaceState(null, '', `#${id}`)
  }
  return id
}

/** What cannot be sent goes back to where it was written. */
function giveBack(message) {
  if (text.value === '') text.value = message.text
  showItems()
  say(words.notSent)
}

async function decide(card, decision) {
  say('')
  try {
    await ask('POST', `operations/${card.operation_id}`, { version: card.version, decision })
    await refresh()
  } catch (error) {
    makeAnew(card.operation_id)
    await refresh()
    const sentences = { outdated: words.outdated, expired: words.tooLate }
    say(sentences[error.message] ?? words.offline)
  }
}

/** Its buttons are of use again, or it looks different now. */
function makeAnew(id) {
  const known = state.shown.get(id)
  if (known !== undefined) known.written = ''
}

async function retry() {
  await ask('POST', `sessions/${state.sessionId}/retry`).catch(() => state.shown.forEach((_, id) => makeAnew(id)))
  await refresh()
  text.focus()
}

async function stop() {
  stopButton.disabled = true
  const answer = await ask('POST', `sessions/${state.sessionId}/stop`).catch(() => null)
  stopButton.disabled = false
  text.focus()
  await refresh()
  if (answer === null) say(words.offline)
}

function openList(open) {
  sidebar.classList.toggle('open', open)
  byId('open-list').setAttribute('aria-expanded', String(open))
  byId('open-list').setAttribute('aria-label', open ? words.close : words.openList)
}

// ------------------------------------------------------------------------------------------------------------ the start

function listen() {
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
  scroll.addEventListener('scroll', markEnd, { passive: true })
  byId('to-end').addEventListener('click', toEnd)
  byId('new').addEventListener('click', () => choose(null))
  byId('open-list').addEventListener('click', () => openList(!sidebar.classList.contains('open')))
  byId('assistant').addEventListener('change', () => {
    // A conversation keeps its assistant; another one begins another conversation.
    if (state.sessionId !== null) choose(null)
  })
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !sidebar.classList.contains('open')) return
    openList(false)
    byId('open-list').focus()
  })
  window.addEventListener('online', backAgain)
  hearChanges()
}

/** The server says when something looks different. A browser opens a lost stream again, but not one that was refused. */
function hearChanges() {
  const events = new EventSource('/api/events')
  events.addEventListener('open', backAgain)
  events.addEventListener('error', () => {
    say(words.offline)
    if (events.readyState === EventSource.CLOSED) setTimeout(hearChanges, SEND_AGAIN_AFTER_MS)
  })
  // Of another conversation only the list tells.
  events.addEventListener('changed', ({ data }) => void refresh(JSON.parse(data).session_id === state.sessionId))
}

function label() {
  byId('assistant-label').firstElementChild.textContent = words.assistant
  for (const { id, name, offered } of assistants) {
    byId('assistant').append(element('option', { value: id, hidden: offered === 0, disabled: offered === 0 }, name))
  }
  byId('assistant').value = assistants.find(({ offered }) => offered === 1)?.id
  byId('new').textContent = words.newConversation
  sidebar.setAttribute('aria-label', words.conversations)
  log.setAttribute('aria-label', words.title)
  text.setAttribute('aria-label', words.message)
  text.placeholder = words.placeholder
  labelButton(byId('send'), words.send, '↑')
  byId('to-end').setAttribute('aria-label', words.toEnd)
  byId('to-end').title = words.toEnd
  labelButton(stopButton, words.stop, '■')
}

/** A word, or on a phone a sign for it. */
function labelButton(button, word, sign) {
  button.setAttribute('aria-label', word)
  button.title = word
  button.append(
    element('span', { class: 'word', 'aria-hidden': 'true' }, word),
    element('span', { class: 'sign', 'aria-hidden': 'true' }, sign),
  )
}

label()
listen()
choose(location.hash.length > 1 ? location.hash.slice(1) : null)
