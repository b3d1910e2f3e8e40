/**
 * The format gate (SPEC §13): whether the final answer has the form the harness asked for. Pure; the schema check itself is
 * handed in. A provider's own structured output only makes a miss less likely: what counts is judged here.
 */
import { parseJson, type Json, type JsonObject } from '../contract/json.ts'
import type { OutputFormat } from '../contract/run-request.ts'

/** How often a miss is asked again. SPEC §13. */
export const MOST_REPAIRS = 2

export type Formed =
  /** `value`: the parsed answer where `output.schema` asked for one, else null. */
  | { readonly ok: true; readonly value: Json }
  /** What is wrong, each one sentence for the model. */
  | { readonly ok: false; readonly faults: readonly string[] }

export type CheckOutput = (schema: JsonObject, value: Json) => readonly string[]

export function judgeFormat(text: string, format: OutputFormat, check: CheckOutput): Formed {
  const faults = blockFaults(text, format, check)
  if (format.schema === null) return faults.length === 0 ? { ok: true, value: null } : { ok: false, faults }
  const parsed = parseJson(unfenced(text))
  if (!parsed.ok)
    return {
      ok: false,
      faults: [...faults, `The answer must be one JSON value and nothing else: it is ${parsed.reason}.`],
    }
  const wrong = [...faults, ...check(format.schema, parsed.value)]
  return wrong.length === 0 ? { ok: true, value: parsed.value } : { ok: false, faults: wrong }
}

/** Models like to fence JSON; a fence around the whole answer is not held against them. */
function unfenced(text: string): string {
  const match = /^\s*```(?:json)?[ \t]*\r?\n([\s\S]*?)\r?\n?```\s*$/.exec(text)
  return match?.[1] ?? text
}

function blockFaults(text: string, { blocks }: OutputFormat, check: CheckOutput): string[] {
  const faults: string[] = []
  for (const { name, body, line } of fencedBlocks(text)) {
    const schema = Object.hasOwn(blocks, name) ? blocks[name] : undefined
    if (schema === undefined) continue
    const parsed = parseJson(body)
    const wrong = parsed.ok ? check(schema, parsed.value) : [`It is ${parsed.reason}.`]
    if (wrong.length > 0)
      faults.push(`The block \`\`\`${name} in line ${line} must be JSON that fits its schema. ${wrong.join(' ')}`)
  }
  return faults
}

/** Fenced blocks as Markdown has them: three backticks or more, a name, and the same or a longer fence at the end. */
function* fencedBlocks(
  text: string,
): Generator<{ readonly name: string; readonly body: string; readonly line: number }> {
  let open: { readonly fence: string; readonly name: string; readonly line: number } | null = null
  let body: string[] = []
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    // Trimmed apart: a pattern that looks for white space at the end begins anew at every blank inside the line.
    const fence = /^ {0,3}(`{3,})/.exec(line)?.[1] ?? ''
    const rest = line.slice(line.indexOf(fence) + fence.length).trim()
    // Words in backticks at the beginning of a line open no block.
    if (open === null && fence !== '' && !rest.includes('`')) {
      open = { fence, name: rest.split(/\s/)[0] ?? '', line: index + 1 }
      body = []
    } else if (open !== null && fence.length >= open.fence.length && rest === '') {
      yield { name: open.name, body: body.join('\n'), line: open.line }
      open = null
    } else body.push(line)
  }
  // A block that was never closed is judged by what it holds.
  if (open !== null) yield { name: open.name, body: body.join('\n'), line: open.line }
}
