/** The files of the page, read once: there is no build, they are sent as they are. */
import { readdirSync, readFileSync } from 'node:fs'
import type { Words } from '../data/words.ts'

const FOLDER = new URL('../page/', import.meta.url)
const TYPES = new Map([
  ['html', 'text/html; charset=utf-8'],
  ['css', 'text/css; charset=utf-8'],
  ['js', 'text/javascript; charset=utf-8'],
])

/** null: no file of the page has this path. */
export type PageFiles = (path: string) => Response | null

/** @param engineUrl the engine's streams are the only thing that the page may ask for elsewhere */
export function readPage({ locale, page }: Words, engineUrl: string): PageFiles {
  const policy = [
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'",
    `connect-src 'self' ${engineUrl}; frame-ancestors 'none'; require-trusted-types-for 'script'`,
  ].join('; ')
  const files = new Map<string, () => Response>()
  for (const name of readdirSync(FOLDER)) {
    const type = TYPES.get(name.split('.').at(-1) ?? '')
    if (type === undefined) continue
    const text = readFileSync(new URL(name, FOLDER), 'utf8')
    const isPage = name === 'index.html'
    const content = isPage
      ? text.replace('lang="en"', `lang="${locale}"`).replaceAll('Shop assistant', page.title)
      : text
    const headers = { 'content-type': type, 'content-security-policy': policy }
    files.set(isPage ? '/' : `/${name}`, () => new Response(content, { headers }))
  }
  return (path) => files.get(path)?.() ?? null
}
