/**
 * Which headers of a request may travel to a tool or a callback (SPEC §5.1): `Authorization` and `X-*`, with values a
 * header can hold.
 */
import { type Faults, fieldPath } from './check.ts'
import type { Warning } from './result.ts'

/** Set by the engine itself, or a secret between engine and harness that no tool may see. */
const RESERVED = new Set(['x-engine-secret', 'x-deadline-ms'])
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/** Visible characters, spaces and tabs of Latin-1: no CR, LF or NUL can reach the wire. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** The headers that may go out; a name that may not is dropped with a warning, a value that cannot be a header is a fault. */
export function allowedHeaders(
  headers: Readonly<Record<string, string>>,
  path: string,
  faults: Faults,
  warnings: Warning[],
): Record<string, string> {
  const allowed: [string, string][] = []
  const seen = new Set<string>()
  for (const [name, value] of Object.entries(headers)) {
    const key = name.toLowerCase()
    const place = fieldPath(path, name)
    if (!TOKEN.test(name)) faults.add(place, 'is not a header name')
    else if (seen.has(key)) faults.add(place, 'stands twice (header names ignore case)')
    else if (RESERVED.has(key) || !(key === 'authorization' || key.startsWith('x-'))) {
      warnings.push({
        code: 'header_dropped',
        message: `${name.slice(0, 64)} is not sent: only Authorization and X-* headers are, and not those the engine sets itself`,
        path: place,
      })
    } else if (!VALUE.test(value) || value !== value.trim()) {
      faults.add(
        place,
        'its value cannot stand in a header: Latin-1 characters only, no line break, no space at either end',
      )
    } else allowed.push([name, value])
    seen.add(key)
  }
  return Object.fromEntries(allowed)
}
