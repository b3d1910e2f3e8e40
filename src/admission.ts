/**
 * Judges the body of POST /runs before anything is started: its form, its history, its models, its tools, every address in it,
 * every ticket sent back. All faults are told in one list. POST /validate asks the same judge and starts nothing.
 */
import { argsHash, fingerprint } from './contract/canonical.ts'
import { MAX_FAULTS, type Faults } from './contract/check.ts'
import type { Fault } from './contract/errors.ts'
import { isJsonObject, type Json, type JsonObject } from './contract/json.ts'
import { callsOf, type ToolCallPart } from './contract/message.ts'
import { parseRunRequest } from './contract/parse-run-request.ts'
import type { Warning } from './contract/result.ts'
import type { RunRequest } from './contract/run-request.ts'
import type { TraceContext } from './contract/trace-context.ts'
import type { Egress, Refusal } from './egress/egress.ts'
import { checkHistory } from './engine/history-rules.ts'
import { checkTicket, type EngineTokens } from './runs/run-token.ts'
import type { AdmissionAnswer, Admit } from './server/admission-port.ts'
import { paramWarnings } from './providers/param-warnings.ts'
import { refusedParts } from './providers/judged-parts.ts'
import { schemaFaults } from './tools/schema-bounds.ts'

export interface JudgeParts {
  readonly defaultTimezone: string
  readonly tokens: EngineTokens
  readonly hasCallbackSecret: boolean
  readonly judge: Egress['judge']
  readonly targetFaults: (targets: RunRequest['targets']) => readonly Fault[]
}

/** The one verdict on a body. */
export interface Judgement {
  /** Where `refusal` is null: the run. Else it means nothing and must not be run. */
  readonly request: RunRequest
  readonly warnings: readonly Warning[]
  readonly refusal: Extract<AdmissionAnswer, { kind: 'refused' }> | null
}

export type Judge = (body: Json) => Judgement

export interface AdmissionParts {
  /** The egress gate's verdict on the address of an image or file that the engine would fetch. */
  readonly judgeUrl: (url: string) => Refusal | null
  /** Told of a request before anything is said of it: what is secret in it is known from then on. */
  readonly hold: (request: RunRequest) => void
}

export function createAdmission(judge: Judge, { hold, judgeUrl }: AdmissionParts): Admit {
  return async (body, trace) => {
    const { refusal, request: judged, warnings } = judge(body)
    if (refusal !== null) return refusal
    const request = trace === null ? judged : traced(judged, trace)
    hold(request)
    const replaced = refusedParts(request.messages, request.targets[0], judgeUrl)
    const told = [...warnings, ...paramWarnings(request.targets), ...replaced]
    return { kind: 'admitted', admission: { request, warnings: told, fingerprint: fingerprint(comparable(body)) } }
  }
}

function traced(request: RunRequest, trace: TraceContext): RunRequest {
  return { ...request, trace, callback: request.callback === null ? null : { ...request.callback, trace } }
}

export function createJudge(parts: JudgeParts): Judge {
  return (body) => {
    const { request, faults, warnings } = parseRunRequest(body, { defaultTimezone: parts.defaultTimezone })
    if (!faults.at('') && !faults.at('messages')) checkHistory(request.messages, faults)
    for (const { path, message } of parts.targetFaults(request.targets)) {
      // Of a provider that is none nothing more can be said.
      const [target = ''] = /^llm(?:\.fallbacks\[\d+\])?/.exec(path) ?? []
      if (!faults.at(`${target}.provider`)) faults.add(path, message)
    }
    checkTools(request, parts, faults)
    checkCallback(request, parts, faults)
    checkOutput(request, faults)
    if (faults.list.length > 0) {
      const refusal = { kind: 'refused', code: 'invalid_request', faults: faults.list.slice(0, MAX_FAULTS) } as const
      return { request, warnings, refusal }
    }
    return { request, warnings, refusal: ticketFault(request, parts.tokens) }
  }
}

function checkTools(request: RunRequest, parts: JudgeParts, faults: Faults): void {
  for (const [index, tool] of request.tools.entries()) {
    const refusal = parts.judge('tool', tool.url)
    if (refusal !== null) faults.add(`tools[${index}].url`, refused(refusal.reason, refusal.host, 'EGRESS_ALLOWLIST'))
    for (const { path, message } of schemaFaults(tool.input_schema)) {
      faults.add(`tools[${index}].input_schema${path}`, message)
    }
  }
}

function checkOutput({ output }: RunRequest, faults: Faults): void {
  const blocks = Object.entries(output.blocks).map(
    ([name, schema]) => [`output.blocks.${name}.schema`, schema] as const,
  )
  for (const [place, schema] of [['output.schema', output.schema] as const, ...blocks]) {
    if (schema === null) continue
    for (const { path, message } of schemaFaults(schema)) faults.add(`${place}${path}`, message)
  }
}

function checkCallback(request: RunRequest, parts: JudgeParts, faults: Faults): void {
  if (request.callback === null) return
  const refusal = parts.judge('callback', request.callback.url)
  if (refusal !== null) faults.add('callback.url', refused(refusal.reason, refusal.host, 'EGRESS_ALLOWLIST'))
  if (!parts.hasCallbackSecret) faults.add('callback', 'needs CALLBACK_SECRET, which this engine does not have')
}

function refused(reason: string, host: string, list: string): string {
  const what = `is refused by the egress rules (${reason}${host === '' ? '' : `, host ${host}`})`
  switch (reason) {
    case 'metadata_host':
      return `${what}: the metadata services of clouds are never opened`
    case 'address_blocked':
      return `${what}: an address that is not public must stand on ${list} and be opened by EGRESS_PRIVATE_ALLOW`
    default:
      return `${what}: it must be https and its host on ${list}`
  }
}

/**
 * A ticket that is sent back must belong to its call, with the very arguments the history holds, and still be good. Only those
 * of the newest calls are judged: where the model has answered since, the approval was judged when it came, and a conversation
 * may outlive it. SPEC §5.5.
 */
function ticketFault({ messages }: RunRequest, tokens: EngineTokens): Judgement['refusal'] {
  const asked = messages.findLastIndex(({ role }) => role === 'assistant')
  const newest = messages[asked]
  if (newest?.role !== 'assistant') return null
  const calls = new Map<string, ToolCallPart>(callsOf(newest).map((call) => [call.call_id, call]))
  for (const [place, message] of messages.slice(asked + 1).entries()) {
    if (message.role !== 'tool' || message.ticket == null) continue
    const args = calls.get(message.call_id)?.args ?? {}
    const call = { callId: message.call_id, tool: message.tool, argsHash: argsHash(args) }
    const verdict = checkTicket(tokens, message.ticket, call, Date.now())
    if (verdict === 'ok') continue
    const why =
      verdict === 'expired'
        ? 'its time is over: ask for the approval again, or close the call without its ticket'
        : 'was not given for this call with these arguments'
    const path = `messages[${asked + 1 + place}].ticket`
    return { kind: 'refused', code: `ticket_${verdict}`, faults: [{ path, message: why }] }
  }
  return null
}

/** The body as two posts of one request are compared: without keys, header values and `wait`. SPEC §3.7. */
function comparable(body: Json): Json {
  if (!isJsonObject(body)) return body
  const { wait: _wait, llm, tools, callback, ...rest } = body
  const kept: [string, Json][] = Object.entries(rest)
  if (llm !== undefined) kept.push(['llm', withoutKeys(llm)])
  if (Array.isArray(tools)) kept.push(['tools', tools.map((tool: Json) => without(tool, 'headers'))])
  if (callback !== undefined) kept.push(['callback', without(callback, 'headers')])
  return Object.fromEntries(kept)
}

function withoutKeys(llm: Json): Json {
  const stripped = without(llm, 'api_key')
  if (!isJsonObject(stripped) || !Array.isArray(stripped['fallbacks'])) return stripped
  return { ...stripped, fallbacks: stripped['fallbacks'].map((target: Json) => without(target, 'api_key')) }
}

function without(value: Json, field: string): Json {
  if (!isJsonObject(value)) return value
  const { [field]: _gone, ...rest }: JsonObject = value
  return rest
}
