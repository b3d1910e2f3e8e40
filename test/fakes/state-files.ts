/** The files of a STATE_DIR by what stands at their heads: their names say nothing. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { headOf } from '../../src/runs/spool-frames.ts'

/** The title of each file that has one, and its name. Spares have none yet. */
export function titles(folder: string): ReadonlyMap<string, string> {
  const names = readdirSync(folder).filter((name) => name.endsWith('.run'))
  const heads = names.map((name) => [headOf(readFileSync(join(folder, name))), name] as const)
  return new Map(heads.flatMap(([head, name]) => (head.kind === 'head' ? [[head.title, name]] : [])))
}

/** Path of the file of this title, which must be there. */
export function pathOf(folder: string, title: string): string {
  const name = titles(folder).get(title)
  if (name === undefined) throw new Error(`no file ${title} in ${folder}: ${[...titles(folder).keys()].join(', ')}`)
  return join(folder, name)
}
