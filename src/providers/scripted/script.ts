/**
 * The script of a `scripted` model: what it plays, step by step. `params.extra.script` is a list with one entry a step of the
 * run; a step past its end, and a model without a script, echo the last user message.
 *
 *     [ [ {"text": "Let me look."}, {"tool_call": {"name": "getOrders", "args": {"id": "{{last_user_message}}"}}} ],
 *       { "attempts": [ [ {"status": 429, "retry_after_s": 1} ], [ {"text": "It is {{results.getOrders.status}}."} ] ] } ]
 *
 * An entry is a list of moves, the same for every request to this model in that step, or `attempts` with one list a request
 * (the last one stands for all further ones). Moves are played in order:
 *
 * | move | what it does |
 * |---|---|
 * | `{"text": "…", "chunk": 12, "pace_ms": 0}` | text in pieces of `chunk` characters, `pace_ms` between them |
 * | `{"reasoning": "…", "chunk", "pace_ms"}` | the same as reasoning |
 * | `{"tool_call": {"name", "args", "args_text", "id"}}` | a call; `args_text` instead of `args` writes them as they are |
 * | `{"wait_ms": 500}` | a pause; before everything else the headers wait too |
 * | `{"status": 429, "retry_after_s": 1, "body": {…}}` | an HTTP error instead of an answer; only waits may stand before it |
 * | `{"cut": true}` | the connection breaks; as the first move no answer ever began |
 * | `{"silence": true}` | never another byte; as the first move not even headers |
 * | `{"finish": "length"}` | the finish reason; default `tool_calls` after a call, else `stop` |
 * | `{"usage": {"input_tokens": 10, …}}` | usage, missing counts are 0; null: none is told; default: an estimate |
 *
 * Texts and arguments may hold `{{last_user_message}}` and `{{results.<tool>.<path>}}` (`placeholders.ts`).
 */
import { Type, type Static } from 'typebox'
import { isJsonObject, type Json } from '../../contract/json.ts'
import type { Target } from '../../contract/run-request.ts'
import { anyJson, anyObject, closed, maybe, nullable, text, wholeNumber } from '../../contract/schema.ts'

const count = () => maybe(wholeNumber(0, 1_000_000_000))
const pieces = { chunk: maybe(wholeNumber(1, 1_000_000)), pace_ms: maybe(wholeNumber(0, 60_000)) }

const Text = closed({ text: Type.String(), ...pieces })
const Reasoning = closed({ reasoning: Type.String(), ...pieces })
const ToolCall = closed({
  tool_call: closed({
    name: text(1, 200),
    args: maybe(anyObject()),
    args_text: maybe(Type.String()),
    id: maybe(text(1, 200)),
  }),
})
const Wait = closed({ wait_ms: wholeNumber(0, 3_600_000) })
const Status = closed({
  status: wholeNumber(300, 599),
  retry_after_s: maybe(Type.Number({ minimum: 0 })),
  body: Type.Optional(anyJson()),
})
const Cut = closed({ cut: Type.Literal(true) })
const Silence = closed({ silence: Type.Literal(true) })
const Finish = closed({ finish: text(1, 100) })
const Usage = closed({
  usage: nullable(
    closed({
      input_tokens: count(),
      cache_read_tokens: count(),
      cache_write_tokens: count(),
      output_tokens: count(),
      reasoning_tokens: count(),
    }),
  ),
})

/** The schema of each move, by the field that names it. */
export const moveSchemas = {
  text: Text,
  reasoning: Reasoning,
  tool_call: ToolCall,
  wait_ms: Wait,
  status: Status,
  cut: Cut,
  silence: Silence,
  finish: Finish,
  usage: Usage,
} as const

export type Move =
  | Static<typeof Text>
  | Static<typeof Reasoning>
  | Static<typeof ToolCall>
  | Static<typeof Wait>
  | Static<typeof Status>
  | Static<typeof Cut>
  | Static<typeof Silence>
  | Static<typeof Finish>
  | Static<typeof Usage>
export type ToolCallMove = Static<typeof ToolCall>
export type StatusMove = Static<typeof Status>
export type UsageMove = Static<typeof Usage>

const ECHO: readonly Move[] = [{ text: 'You said: {{last_user_message}}' }]

/** What is played in answer to the `tries`-th request (1, 2 …) to this model in a step. The script has been checked. */
export function movesOf(target: Target, step: number, tries: number): readonly Move[] {
  const script = target.params.extra['script']
  const entry: Json | undefined = Array.isArray(script) ? (script[step - 1] as Json | undefined) : undefined
  if (entry === undefined) return ECHO
  if (Array.isArray(entry)) return entry
  const attempts = isJsonObject(entry) ? entry['attempts'] : undefined
  if (!Array.isArray(attempts)) return ECHO
  const moves: unknown = attempts[Math.min(tries, attempts.length) - 1]
  return Array.isArray(moves) ? (moves as Move[]) : ECHO
}
