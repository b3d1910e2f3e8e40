/** Where two results first differ, in words. Pure. */
import { isJsonObject, parseJson, type Json } from '../contract/json.ts'

/** Moments and durations of a result. */
const TIMES: ReadonlySet<string> = new Set([
  'created_at',
  'duration_ms',
  'expires_at',
  'finished_at',
  'first_token_ms',
  'queued_ms',
])
const MOST_LEVELS = 256
const SHOWN = 200

/** The same result with every moment and duration null, save within what tools and harness wrote. */
export function withoutTimes(json: string): string {
  const parsed = parseJson(json, MOST_LEVELS)
  if (!parsed.ok || !isJsonObject(parsed.value)) return json
  const { messages, pending, tool_calls, usage, ...rest } = parsed.value
  const attempts = isJsonObject(usage ?? null) ? { ...(usage as object), attempts: rows(attemptsOf(usage)) } : usage
  return JSON.stringify({
    ...plain(rest),
    messages: rows(messages),
    pending: rows(pending),
    tool_calls: rows(tool_calls),
    usage: attempts,
  })
}

function attemptsOf(usage: Json | undefined): Json | undefined {
  return usage !== undefined && isJsonObject(usage) ? usage['attempts'] : undefined
}

function rows(list: Json | undefined): Json | undefined {
  return Array.isArray(list) ? list.map((row: Json) => (isJsonObject(row) ? plain(row) : row)) : list
}

function plain(fields: { readonly [key: string]: Json }): { readonly [key: string]: Json } {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, TIMES.has(name) ? null : value]))
}

/** A sentence; null: they say the same. */
export function firstDifference(recorded: string, replayed: string): string | null {
  const [left, right] = [recorded, replayed].map((json) => parseJson(json, MOST_LEVELS))
  if (left?.ok !== true || right?.ok !== true) return 'one of the results is no JSON'
  return differenceAt('', left.value, right.value)
}

function differenceAt(path: string, left: Json | undefined, right: Json | undefined): string | null {
  if (Array.isArray(left) && Array.isArray(right)) {
    for (let index = 0; index < Math.max(left.length, right.length); index += 1) {
      const found = differenceAt(`${path}[${index}]`, left[index] as Json, right[index] as Json)
      if (found !== null) return found
    }
    return null
  }
  if (left !== undefined && right !== undefined && isJsonObject(left) && isJsonObject(right)) {
    for (const name of new Set([...Object.keys(left), ...Object.keys(right)])) {
      const found = differenceAt(path === '' ? name : `${path}.${name}`, left[name], right[name])
      if (found !== null) return found
    }
    return null
  }
  const [was, is] = [shown(left), shown(right)]
  return was === is ? null : `${path === '' ? 'the result' : path}: recorded ${cut(was)}, replayed ${cut(is)}`
}

function shown(value: Json | undefined): string {
  return value === undefined ? 'nothing' : JSON.stringify(value)
}

function cut(text: string): string {
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN)}…`
}
