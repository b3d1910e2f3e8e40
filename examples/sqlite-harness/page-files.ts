/** The files of the page, read once: there is no build, they are sent as they are. */
import { readFileSync } from 'node:fs'
import type { Answer } from './http-server.ts'
import type { Words } from './words.ts'

const FILES = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/page.css': ['page.css', 'text/css; charset=utf-8'],
  '/page.js': ['page.js', 'text/javascript; charset=utf-8'],
  '/live-text.js': ['live-text.js', 'text/javascript; charset=utf-8'],
  '/items.js': ['items.js', 'text/javascript; charset=utf-8'],
  '/element.js': ['element.js', 'text/javascript; charset=utf-8'],
} as const

/** null: no file of the page has this path. */
export type PageFiles = (path: string) => Answer | null

export function readPage({ locale, page }: Words): PageFiles {
  const answers = new Map<string, Answer>()
  for (const [path, [name, type]] of Object.entries(FILES)) {
    const text = readFileSync(new URL(`page/${name}`, import.meta.url), 'utf8')
    const content =
      path === '/' ? text.replace('lang="en"', `lang="${locale}"`).replaceAll('Shop assistant', page.title) : text
    answers.set(path, { status: 200, type, content })
  }
  return (path) => answers.get(path) ?? null
}
