/**
 * Follows the stream of one run and keeps what is visible of it (SPEC §9). The stream is a view: what counts is what the
 * server has stored, and the page fetches that when it is there.
 */

/** The text of one step after an event. Right after a lost connection, a replay and a second attempt of the model too. */
export function textAfter(text, event, data) {
  if (event === 'delta') return text.slice(0, data.offset) + data.text
  if (event === 'resync') return data.text
  return event === 'reset' ? '' : text
}

/**
 * Calls `show({ steps, wait, done })` after each event; `steps` are in order, each `{ text, tools: [{ label, state }] }`.
 * Gives the function that ends it.
 */
export function followStream(url, show) {
  const source = new EventSource(url)
  const steps = new Map()
  const state = { steps: [], wait: null, done: false }

  function stepOf(number) {
    if (!steps.has(number)) steps.set(number, { text: '', tools: new Map() })
    return steps.get(number)
  }

  function on(name, handle) {
    source.addEventListener(name, (message) => {
      const data = JSON.parse(message.data)
      state.wait = null
      handle(data)
      state.steps = [...steps.values()].map(({ text, tools }) => ({ text, tools: [...tools.values()] }))
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
  return () => source.close()
}
