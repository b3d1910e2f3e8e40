/** The files of the page, read once: there is no build, they are sent as they are. */
import { readdirSync, readFileSync } from 'node:fs'
import type { Words } from '../data/words.ts'
import type { Answer } from './http-server.ts'

const FOLDER = new URL('../page/', import.meta.url)
const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
}

/** null: no file of the page has this path. */
export type PageFiles = (path: string) => Extract<Answer, { content: unknown }> | null

/** @param engineUrl the engine's streams are the only thing that the page may ask for elsewhere */
export function readPage({ locale, page }: Words, engineUrl: string): PageFiles {
  const policy = [
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'",
    `connect-src 'self' ${engineUrl}; frame-ancestors 'none'; require-trusted-types-for 'script'`,
  ].join('; ')
  const answers = new Map<string, Extract<Answer, { content: unknown }>>()
  for (const name of readdirSync(FOLDER)) {
    const type = TYPES[name.split('.').at(-1) ?? '']
    if (type === undefined) continue
    const text = readFileSync(new URL(name, FOLDER), 'utf8')
    const isPage = name === 'index.html'
    const content = isPage
      ? text.replace('lang="en"', `lang="${locale}"`).replaceAll('Shop assistant', page.title)
      : text
    const headers = { 'content-type': type, ...(isPage ? { 'content-security-policy': policy } : {}) }
    answers.set(isPage ? '/' : `/${name}`, { status: 200, content, headers })
  }
  return (path) => answers.get(path) ?? null
}
