/**
 * The little Markdown that models write, as elements: paragraphs, headings, lists, tables, code, bold, italics, links to http
 * and https. Everything else stays the text that it is. No text ever becomes markup, no image is loaded, and a text that grows
 * costs no more than its last block.
 */
import { element } from './element.js'

/** Shows `text` in `place`, which is this function's own: only blocks that differ from those shown before are made anew. */
export function showMarkdown(place, text) {
  const before = place.blocks ?? []
  const blocks = blocksOf(text)
  let same = 0
  while (same < blocks.length && blocks[same] === before[same]?.source) same += 1
  const kept = before.slice(0, same)
  for (const { made } of before.slice(same)) for (const each of made) each.remove()
  for (const source of blocks.slice(same)) {
    const made = elementsOf(source)
    place.append(...made)
    kept.push({ source, made })
  }
  place.blocks = kept
}

/** Parts between blank lines; a fence holds its blank lines. */
function blocksOf(text) {
  const blocks = []
  let lines = []
  let fence = false
  for (const line of text.split('\n')) {
    if (/^\s*```/.test(line)) fence = !fence
    if (line.trim() !== '' || fence) lines.push(line)
    else if (lines.length > 0) {
      blocks.push(lines.join('\n'))
      lines = []
    }
  }
  if (lines.length > 0) blocks.push(lines.join('\n'))
  return blocks
}

const FENCE = /^\s*```/
const HEADING = /^#{1,6}\s+(.*)$/
const ITEM = /^(\s*)(?:[-*+]|(\d{1,6})[.)])\s+(.*)$/
const ROW = /^\s*\|.*\|\s*$/
const RULE = /^\s*\|[\s:|-]+\|\s*$/

function elementsOf(source) {
  const lines = source.split('\n')
  const made = []
  const takeWhile = (fits) => {
    const taken = []
    while (lines.length > 0 && fits(lines[0])) taken.push(lines.shift())
    return taken
  }
  while (lines.length > 0) {
    if (FENCE.test(lines[0])) {
      lines.shift()
      const code = takeWhile((line) => !FENCE.test(line)).join('\n')
      lines.shift()
      made.push(element('pre', { tabindex: '0' }, element('code', {}, code)))
    } else if (HEADING.test(lines[0])) {
      const [, words] = HEADING.exec(lines.shift())
      made.push(element('p', { class: 'heading' }, ...inline(words)))
    } else if (ITEM.test(lines[0])) made.push(listOf(takeWhile((line) => ITEM.test(line) || /^\s{2,}/.test(line))))
    else if (ROW.test(lines[0]) && RULE.test(lines[1] ?? '')) made.push(tableOf(takeWhile((line) => ROW.test(line))))
    else {
      const first = lines.shift()
      const rest = takeWhile((line) => ![FENCE, HEADING, ITEM].some((kind) => kind.test(line)))
      made.push(element('p', {}, ...inline([first, ...rest].join('\n'))))
    }
  }
  return made
}

function listOf(lines) {
  const [, , number] = ITEM.exec(lines[0]) ?? []
  const list = element(number === undefined ? 'ul' : 'ol', { start: number ?? null })
  for (const line of lines) {
    const [, indent = '', , words] = ITEM.exec(line) ?? []
    const above = list.lastChild
    if (words === undefined) above?.append('\n', ...inline(line.trim()))
    else if (indent.length < 2 || above === null) list.append(element('li', {}, ...inline(words)))
    else {
      // One level deep is as far as it goes: a phone has no room for more.
      const inner = above.querySelector('ul') ?? element('ul')
      above.append(inner)
      inner.append(element('li', {}, ...inline(words)))
    }
  }
  return list
}

function tableOf([head, , ...rows]) {
  const cells = (line) => line.trim().slice(1, -1).split('|')
  const row = (line, name) => element('tr', {}, ...cells(line).map((cell) => element(name, {}, ...inline(cell.trim()))))
  const table = element(
    'table',
    {},
    element('thead', {}, row(head, 'th')),
    element('tbody', {}, ...rows.map((line) => row(line, 'td'))),
  )
  return element('div', { class: 'tables', tabindex: '0', role: 'group' }, table)
}

const CODE = '`([^`\\n]+)`'
const BOLD = '\\*\\*([^\\s*](?:[^*\\n]*[^\\s*])?)\\*\\*'
const ITALIC = '\\*([^\\s*](?:[^*\\n]*[^\\s*])?)\\*'
const LINK = '\\[([^\\]\\n]{1,500})\\]\\((https?:\\/\\/[^\\s)]{1,2000})\\)'
const ADDRESS = '(https?:\\/\\/[^\\s<>()*`]{1,2000}[^\\s<>()*`.,;:!?])'

function inline(text) {
  const parts = []
  let end = 0
  for (const found of text.matchAll(new RegExp([CODE, BOLD, ITALIC, LINK, ADDRESS].join('|'), 'g'))) {
    const [whole, code, bold, italic, words, target, address] = found
    if (found.index > end) parts.push(text.slice(end, found.index))
    end = found.index + whole.length
    if (code !== undefined) parts.push(element('code', {}, code))
    else if (bold !== undefined) parts.push(element('strong', {}, ...inline(bold)))
    else if (italic !== undefined) parts.push(element('em', {}, ...inline(italic)))
    else parts.push(linkTo(target ?? address, words ?? address))
  }
  if (end < text.length) parts.push(text.slice(end))
  return parts
}

/** Where it leads is a model's word: it opens apart, learns nothing of this page, and says its address. */
function linkTo(href, words) {
  return element('a', { href, title: href, target: '_blank', rel: 'noopener noreferrer nofollow' }, words)
}
