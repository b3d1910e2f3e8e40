/** Reads the project as text, for the tests that judge it without running it. */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../', import.meta.url))

/** Not ours, or made from what is. */
const SKIPPED = new Set(['node_modules', '.git', 'dist', 'coverage'])

/**
 * Text by path below the folder (`''`: the whole project), `/` between the parts; only names that end in one of `endings`.
 * In order of the alphabet.
 */
export function filesBelow(folder: string, endings: readonly string[]): Map<string, string> {
  const found = new Map<string, string>()
  const walk = (below: string) => {
    const here = [folder, below].filter((part) => part !== '').join('/')
    const entries = readdirSync(`${root}${here}`, { withFileTypes: true })
    for (const entry of entries.toSorted((left, right) => (left.name < right.name ? -1 : 1))) {
      const path = below === '' ? entry.name : `${below}/${entry.name}`
      if (entry.isDirectory() && !SKIPPED.has(entry.name)) walk(path)
      else if (entry.isFile() && endings.some((ending) => path.endsWith(ending))) {
        found.set(path, readFileSync(`${root}${folder === '' ? '' : `${folder}/`}${path}`, 'utf8'))
      }
    }
  }
  walk('')
  return found
}

/** The code alone: comments become blanks, line breaks stay. Strings are kept, for imports stand in them. */
export function withoutComments(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '))
    .replace(/^(\s*)\/\/.*$/gm, '$1')
    .replace(/\s\/\/ .*$/gm, '')
}
