/** Errors of chat completions servers, as HTTP answers. Pure. Those inside a stream are read by `stream.ts`. */
import type { ProviderFault, Repair } from '../dialect.ts'
import { httpFault, commonRepair } from '../provider-fault.ts'

export function chatFault(
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
  now: number,
): ProviderFault {
  return httpFault({ status, headers, body }, now, repairFor)
}

const UNKNOWN_FIELD =
  /extra inputs|not permitted|unsupported|not supported|unknown|unrecogni[sz]ed|unexpected|additional propert|not allowed/i

/** DeepSeek's words, in their newer and their older form: the conversation lacks reasoning that it wants back. */
const WANTS_REASONING = /reasoning_content\b.{0,80}\bmust be passed back|missing .{0,3}reasoning_content/i

/** The bound of the output has two names; a server that knows only one of them says which. */
const OTHER_NAME = /\bmax_(?:completion_)?tokens\b.{0,120}\buse\b.{0,12}\bmax_(?:completion_)?tokens\b/is

/** A strict server names the field that it does not know. */
function repairFor(status: number, body: string): Repair | null {
  if (status !== 400 && status !== 422) return null
  if (WANTS_REASONING.test(body)) return 'no_thinking'
  if (/stream_options/.test(body)) return 'no_stream_options'
  if (OTHER_NAME.test(body)) return 'other_max_tokens'
  if (/\breasoning(?:_content|_details|_text)?\b/.test(body) && UNKNOWN_FIELD.test(body)) return 'no_reasoning'
  return commonRepair(status, body)
}
