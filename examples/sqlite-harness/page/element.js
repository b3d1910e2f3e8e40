/** Makes elements. What others wrote enters a page as text only, so no answer of a model can become markup. */

/** `element('p', { class: 'x', onclick }, 'text', child)`; an attribute that is null or false is left out. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === false || value === undefined) continue
    if (typeof value === 'function') made.addEventListener(key.slice(2), value)
    else made.setAttribute(key, value === true ? '' : value)
  }
  made.append(...children)
  return made
}

/** Puts values into a sentence: `fill('{n} steps', { n: 2 })`. */
export function fill(sentence, values) {
  return sentence.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole)
}
