/** What is being said right now, below what is stored. Drawn at most once a frame, and only where it differs. */
import { element } from './element.js'
import { showMarkdown } from './markdown.js'

/** @param drawn called after each drawing with the function that draws, so that the caller can hold its scroll position */
export function createLiveView(place, words, draw) {
  let bubbles = new Map()
  let progress = ''
  let frame = 0
  let newest = null

  function clear() {
    cancelAnimationFrame(frame)
    frame = 0
    bubbles = new Map()
    progress = ''
    place.replaceChildren()
  }

  /** Lines of what is done, such as "Looking at your orders…". */
  function showProgress(lines) {
    const written = JSON.stringify(lines)
    if (written === progress) return
    progress = written
    for (const line of place.querySelectorAll('.progress')) line.remove()
    for (const { after, label, state } of lines) {
      const line = element('div', { class: `progress ${state}` }, label)
      const bubble = bubbles.get(after)
      if (bubble === undefined) place.append(line)
      else {
        let last = bubble
        while (last.nextSibling?.classList.contains('progress')) last = last.nextSibling
        last.after(line)
      }
    }
  }

  function bubbleOf(step) {
    const known = bubbles.get(step)
    if (known !== undefined) return known
    const made = element('div', { class: 'bubble assistant' })
    bubbles.set(step, made)
    place.append(made)
    return made
  }

  function drawNow() {
    frame = 0
    const { steps, wait, done } = newest
    const lines = []
    let quiet = true
    for (const [number, { text, tools }] of steps) {
      quiet = text === '' && tools.size === 0
      if (text.trim() !== '' || bubbles.has(number)) showMarkdown(bubbleOf(number), text)
      for (const { label, state } of tools.values())
        lines.push({ after: number, label: label ?? words.thinking, state })
    }
    for (const [number, bubble] of bubbles) bubble.classList.toggle('coming', number === steps.size && !done)
    if (wait !== null) lines.push({ label: wait === 'retry' ? words.waitRetry : words.waitQueue, state: 'running' })
    else if (quiet && !done) lines.push({ label: words.thinking, state: 'running' })
    showProgress(lines)
  }

  return {
    clear,
    /** A line of progress and nothing else. */
    say(label) {
      clear()
      showProgress([{ label, state: 'running' }])
    },
    show(seen) {
      newest = seen
      if (frame === 0) frame = requestAnimationFrame(() => draw(drawNow))
    },
  }
}
