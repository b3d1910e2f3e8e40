/** Reads the query of GET /logs: every fault with the parameter as its path. Pure. SPEC §12.4. */
import { MAX_FAULTS } from '../contract/check.ts'
import type { Fault } from '../contract/errors.ts'
import { instantOf, isInstant } from '../contract/instant.ts'
import { type LogQuery, positionOf } from '../journal/log-query.ts'

/** Of one page. */
const DEFAULT_LOGS_LIMIT = 100
const MAX_LOGS_LIMIT = 1000

/** What may be asked, and what each means. The OpenAPI document shows it. */
export const logsParameters = {
  run_id: 'entries of this run',
  session_id: 'entries of the runs of this meta.session_id, whatever the tenant',
  event: 'entries of this event',
  since: 'not before this time: ISO 8601 with a zone, or ms since the epoch',
  until: 'not after this time',
  limit: `entries of a page, 1 to ${MAX_LOGS_LIMIT}; ${DEFAULT_LOGS_LIMIT} by default`,
  cursor: 'goes on behind a page: its cursor, with the same other parameters',
} as const

type Name = keyof typeof logsParameters

export type ParsedLogsQuery =
  | { readonly ok: true; readonly query: LogQuery }
  | { readonly ok: false; readonly faults: readonly Fault[] }

/** `query`: as the server has it, a parameter that stands twice being a list. */
export function parseLogsQuery(query: Readonly<Record<string, unknown>>): ParsedLogsQuery {
  const faults: Fault[] = []
  const fault = (path: string, message: string) => void faults.push({ path, message })
  for (const name of Object.keys(query)) {
    if (!Object.hasOwn(logsParameters, name)) fault(name.slice(0, 64), 'unknown parameter')
  }

  /** null where it is left out, and where it is wrong. */
  function value<T>(name: Name, wanted: string, read: (text: string) => T | null): T | null {
    const text = query[name]
    if (text === undefined) return null
    if (typeof text !== 'string') {
      fault(name, 'must stand once')
      return null
    }
    const found = read(text)
    if (found === null) fault(name, `must be ${wanted}; got ${JSON.stringify(text.slice(0, 60))}`)
    return found
  }

  const word = (most: number) => (text: string) => (text.length > 0 && text.length <= most ? text : null)
  const time =
    'a date and time with its zone, such as 2026-11-30T12:00:00.000Z (a + is written %2B), or ms since the epoch'
  const name = (text: string) => (/^[a-z_]{1,50}$/.test(text) ? text : null)
  const event = value('event', 'the name of an event, such as ended', name)
  const read: LogQuery = {
    runId: value('run_id', 'an id of 1 to 100 characters', word(100)),
    sessionId: value('session_id', 'an id of 1 to 500 characters', word(500)),
    event,
    sinceMs: value('since', time, msOf),
    untilMs: value('until', time, msOf),
    limit: value('limit', `a whole number from 1 to ${MAX_LOGS_LIMIT}`, limitOf) ?? DEFAULT_LOGS_LIMIT,
    after: value('cursor', 'the cursor of an earlier page', positionOf),
  }
  return faults.length === 0 ? { ok: true, query: read } : { ok: false, faults: faults.slice(0, MAX_FAULTS) }
}

function limitOf(text: string): number | null {
  return /^[1-9]\d{0,3}$/.test(text) && Number(text) <= MAX_LOGS_LIMIT ? Number(text) : null
}

function msOf(text: string): number | null {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  return isInstant(text) ? instantOf(text) : null
}
