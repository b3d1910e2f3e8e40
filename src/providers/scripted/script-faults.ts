/** What is wrong with a script, every fault with its path. Pure; `POST /runs` refuses a script with faults. */
import { check, Faults } from '../../contract/check.ts'
import type { Fault } from '../../contract/errors.ts'
import { isJsonObject, type Json } from '../../contract/json.ts'
import type { Keywords } from '../../contract/schema.ts'
import { moveSchemas } from './script.ts'

type MoveName = keyof typeof moveSchemas

const MOVE_NAMES = Object.keys(moveSchemas) as MoveName[]
/** Nothing is played after these. */
const LAST: ReadonlySet<MoveName> = new Set(['status', 'cut', 'silence'])

/** `path` stands before every path: `params.extra.script` gives `params.extra.script[0][2].text`. */
export function scriptFaults(script: Json, path = 'script'): readonly Fault[] {
  const faults = new Faults()
  if (!Array.isArray(script)) faults.add(path, 'must be an array with one entry a step')
  else for (const [index, entry] of script.entries()) checkEntry(entry as Json, `${path}[${index}]`, faults)
  return faults.list
}

function checkEntry(entry: Json, path: string, faults: Faults): void {
  if (Array.isArray(entry)) return checkMoves(entry, path, faults)
  const attempts = isJsonObject(entry) ? entry['attempts'] : undefined
  if (!Array.isArray(attempts) || attempts.length === 0) {
    return faults.add(path, 'must be an array of moves, or {"attempts": […]} with one such array a request')
  }
  for (const key of Object.keys(entry as object)) if (key !== 'attempts') faults.add(`${path}.${key}`, 'unknown field')
  for (const [index, moves] of attempts.entries()) {
    const place = `${path}.attempts[${index}]`
    if (Array.isArray(moves)) checkMoves(moves, place, faults)
    else faults.add(place, 'must be an array of moves')
  }
}

function checkMoves(moves: readonly Json[], path: string, faults: Faults): void {
  let onlyWaits = true
  let last: MoveName | null = null
  for (const [index, move] of moves.entries()) {
    if (faults.full) return
    const place = `${path}[${index}]`
    if (last !== null) return faults.add(place, `is never played: "${last}" ends the answer; put it last`)
    const name = checkMove(move, place, faults)
    if (name === null) continue
    if (name === 'status' && !onlyWaits) {
      faults.add(place, '"status" answers instead of a stream: only "wait_ms" may stand before it')
    }
    if (name !== 'wait_ms') onlyWaits = false
    if (LAST.has(name)) last = name
  }
}

function checkMove(move: Json, path: string, faults: Faults): MoveName | null {
  const names = isJsonObject(move) ? MOVE_NAMES.filter((name) => Object.hasOwn(move, name)) : []
  const [name, second] = names
  if (name === undefined || second !== undefined) {
    faults.add(path, `must be an object with exactly one of ${MOVE_NAMES.map((word) => `"${word}"`).join(', ')}`)
    return null
  }
  check(moveSchemas[name] as unknown as Keywords, move, path, faults)
  const call = name === 'tool_call' && isJsonObject(move) ? move['tool_call'] : null
  if (isJsonObject(call) && call['args'] != null && call['args_text'] != null) {
    faults.add(`${path}.tool_call.args_text`, 'stands instead of "args": send one of them')
  }
  return name
}
