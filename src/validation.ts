/**
 * POST /validate (SPEC §2.7): the verdict on a run's body, and what its first request would be. Nothing is started, stored or
 * sent; the verdict is the one that POST /runs gives.
 */
import type { Judge } from './admission.ts'
import { check, Faults, MAX_FAULTS } from './contract/check.ts'
import { isJsonObject, parseJson, type Json, type JsonObject } from './contract/json.ts'
import type { Warning } from './contract/result.ts'
import type { RunRequest } from './contract/run-request.ts'
import { closed, type Keywords } from './contract/schema.ts'
import { type Change, MAX_CHANGES, type ShownRequest, validateFields, type Validation } from './contract/validation.ts'
import { changesOf } from './doctor/changes.ts'
import { firstRequest, type FirstRequest, type RequestSources } from './doctor/first-request.ts'
import { estimateInput } from './providers/estimate.ts'
import { sentPart } from './providers/sent-part.ts'
import { paramWarnings } from './providers/param-warnings.ts'
import { mediaOf } from './usage/media.ts'
import { targetPlace } from './providers/wire-params.ts'
import type { Validate } from './server/validation-port.ts'

export interface ValidationParts extends RequestSources {
  readonly judge: Judge
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** What is asked beside the run. */
interface Asked {
  readonly show_request?: boolean | null
  readonly target?: number | null
}

const Fields = closed(validateFields) as unknown as Keywords

export function createValidation(parts: ValidationParts): Validate {
  return (body) => {
    const { show_request, target, ...run } = body
    const asked: JsonObject = {
      ...(show_request === undefined ? {} : { show_request }),
      ...(target === undefined ? {} : { target }),
    }
    const { refusal, request, warnings } = parts.judge(run)
    const faults = new Faults()
    check(Fields, asked, '', faults)
    // The check above is what makes it this type.
    const { show_request: show, target: index } = (faults.list.length > 0 ? {} : asked) as Asked
    if (index != null && index >= request.targets.length && refusal === null)
      faults.add('target', outOf(request, index))
    const all = [...faults.list, ...(refusal?.faults ?? [])].slice(0, MAX_FAULTS)
    const told = [...warnings, ...paramWarnings(request.targets)]
    if (all.length > 0) {
      return { ...NOTHING, valid: false, faults: all, warnings: refusal === null ? told : [...warnings] }
    }
    return { valid: true, faults: [], ...examined(request, index ?? 0, { told, show: show === true }, parts) }
  }
}

const NOTHING = { changes: [], changes_left_off: 0, estimated_input_tokens: null }

function outOf({ targets }: RunRequest, index: number): string {
  return `must name a model of the chain, 0 to ${targets.length - 1}; got ${index}`
}

function examined(
  request: RunRequest,
  target: number,
  { show, told }: { readonly show: boolean; readonly told: readonly Warning[] },
  parts: ValidationParts,
): Omit<Validation, 'valid' | 'faults'> {
  const headers = told.flatMap(changeOfHeader)
  const first = firstRequest(request, target, parts, parts.now())
  if (first === null) return { ...NOTHING, ...listed(headers), warnings: distinct(told) }
  const body = bodyOf(first)
  const changes = changesOf(first, body, targetPlace(target))
  return {
    warnings: distinct([...told, ...first.request.warnings]),
    ...listed([...headers, ...changes]),
    estimated_input_tokens: estimateInput(
      first.request.body,
      mediaOf(first.call.ask.messages, (part) => (sentPart(part, first.call) === null ? null : part)),
    ),
    ...(show ? { request: shown(first, body) } : {}),
  }
}

function changeOfHeader({ code, message, path }: Warning): Change[] {
  return code === 'header_dropped' ? [{ kind: code, path: path ?? '', message }] : []
}

function listed(changes: readonly Change[]): Pick<Validation, 'changes' | 'changes_left_off'> {
  return { changes: changes.slice(0, MAX_CHANGES), changes_left_off: Math.max(0, changes.length - MAX_CHANGES) }
}

/** Digits are kept: what is shown is what would be sent. */
function bodyOf({ request }: FirstRequest): JsonObject {
  const parsed = parseJson(request.body, Infinity)
  const value: Json = parsed.ok ? parsed.value : null
  return isJsonObject(value) ? value : {}
}

function shown({ request }: FirstRequest, body: JsonObject): ShownRequest {
  return { method: 'POST', url: request.url, headers: request.headers, body }
}

/** A warning is told once, whoever found it. */
function distinct(warnings: readonly Warning[]): Warning[] {
  return [...new Map(warnings.map((one) => [JSON.stringify([one.code, one.path, one.message]), one])).values()]
}
