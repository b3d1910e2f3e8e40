/**
 * The request of a run's first step to one model of its chain: put together by the very parts that a run uses, and never sent.
 *
 * The key is replaced before the request is written, so that nothing written can hold it. Four things are not those of a real
 * run, which has them only once it has begun: the run's id, the current time in a note, an exchanged access token, and what is
 * fetched from an address (`judged-parts.ts`).
 */
import { runId } from '../contract/ids.ts'
import type { RunRequest } from '../contract/run-request.ts'
import { planStep } from '../engine/plan.ts'
import { openRecord } from '../engine/record.ts'
import { askOf, openPrompt } from '../engine/step.ts'
import { faultOf } from '../providers/attempt-fault.ts'
import type { Credentials } from '../providers/credentials.ts'
import type { Dialect, DialectCall, ProviderRequest } from '../providers/dialect.ts'
import { openRoute, type RouteSources } from '../providers/route.ts'
import { judgedParts } from '../providers/judged-parts.ts'

/** What stands in the place of a secret. */
const SECRET = '[secret]'

/** Stands for the id that a run gets when it begins. */
const NO_RUN = runId('00000000000000000000000000')

export interface FirstRequest {
  readonly dialect: Dialect
  readonly call: DialectCall
  readonly request: ProviderRequest
}

export type RequestSources = Omit<RouteSources, 'credentials'>

/** A request that is only shown asks nobody for a token. */
const NO_TOKEN: Credentials = async () => ({ kind: 'denied', fault: faultOf('network', 'nothing is sent') })

/**
 * null: the run would end before its first request, or its model cannot be asked by this engine (`targetFaults` says why).
 * @param target index in the chain; in range
 * @param now milliseconds since the epoch
 */
export function firstRequest(
  request: RunRequest,
  target: number,
  sources: RequestSources,
  now: number,
): FirstRequest | null {
  const model = request.targets[target]
  const record = openRecord(NO_RUN, request, [], now)
  const plan = planStep(record, now)
  if (model === undefined || plan.kind === 'end') return null
  record.steps = 1
  const ask = askOf(record, openPrompt(record), plan)
  const routed = openRoute(model, ask, { ...sources, credentials: NO_TOKEN })
  if (!routed.ok) return null
  const { dialect, ...route } = routed.route
  const apiKey = route.apiKey === null ? null : SECRET
  const repairs: DialectCall['repairs'] = new Set()
  const fetched = judgedParts(ask.messages, { ...route, repairs }, (url) => sources.egress.judge('image', url))
  const call: DialectCall = { ...route, apiKey, ask, repairs, fetched }
  const written = dialect.request(call)
  const exchanged = route.profile.exchangesKey && apiKey !== null ? { authorization: `Bearer ${SECRET}` } : {}
  return { dialect, call, request: { ...written, headers: { ...written.headers, ...exchanged } } }
}
