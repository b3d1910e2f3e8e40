/**
 * What a model sees of a tool message (SPEC §5.6): one JSON object, `{"result":…}` or `{"error":…}`, with the engine's own
 * `note` beside it.
 *
 * A tool's text stands below `result` or inside the string `error`, so nothing a tool writes can pass for a note.
 */
import type { Json } from './json.ts'

export interface ToolResultFacts {
  readonly result?: Json | undefined
  readonly is_error?: boolean | null | undefined
  readonly error?: string | null | undefined
  readonly note?: string | null | undefined
}

export function toolResultText(facts: ToolResultFacts): string {
  const note = facts.note == null ? {} : { note: facts.note }
  if (facts.is_error === true) return JSON.stringify({ error: facts.error ?? 'failed', ...note })
  return JSON.stringify({ result: facts.result ?? null, ...note })
}
