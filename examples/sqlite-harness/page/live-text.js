/**
 * Follows the stream of one run and keeps what is visible of it (SPEC §9). The stream is a view: what counts is what the
 * server has stored, and the page fetches that when it is there. Obligation A.14: events that are not named here are ignored.
 */

/** The text of one step after an event. Right after a lost connection, a replay and a second attempt of the model too. */
export function textAfter(text, event, data) {
  if (event === 'delta') return text.slice(0, data.offset) + data.text
  if (event === 'resync') return data.text
  return event === 'reset' ? '' : text
}

/**
 * Calls `show({ steps, wait, done })` after each event; `steps` is a Map by number, in order, of `{ text, tools }`, and `tools` a
 * Map of `{ label, state }`. Calls `lost()` when the stream is closed for good without a `done`: nobody knows the run any more,
 * or the address is not good. A lost connection is no such thing: the browser opens it again where it broke off.
 *
 * Gives the function that ends it.
 */
export function followStream(url, show, lost) {
  const source = new EventSource(url)
  const state = { steps: new Map(), wait: null, done: false }

  function stepOf(number) {
    if (!state.steps.has(number)) state.steps.set(number, { text: '', tools: new Map() })
    return state.steps.get(number)
  }

  function on(name, handle) {
    source.addEventListener(name, (message) => {
      state.wait = null
      handle(JSON.parse(message.data))
      show(state)
    })
  }

  on('step', ({ step }) => stepOf(step))
  for (const name of ['delta', 'reset', 'resync']) {
    on(name, (data) => {
      const step = stepOf(data.step)
      step.text = textAfter(step.text, name, data)
    })
  }
  on('tool_call', ({ step, n, label }) => stepOf(step).tools.set(n, { label, state: 'running' }))
  on('tool_result', ({ step, n, ok }) => {
    const tool = stepOf(step).tools.get(n)
    if (tool !== undefined) tool.state = ok ? 'done' : 'bad'
  })
  on('wait', ({ reason }) => (state.wait = reason))
  on('done', () => {
    state.done = true
    source.close()
  })
  source.addEventListener('error', () => {
    if (source.readyState === EventSource.CLOSED && !state.done) lost()
  })
  return () => source.close()
}
