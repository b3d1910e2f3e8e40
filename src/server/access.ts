/** Decides whether a request may use a route (`routes.ts`), and as whom. It answers nothing itself. */
import type { FastifyRequest } from 'fastify'
import type { RunStore } from '../runs/ports.ts'
import { type EngineTokens, isCallToken, isRunToken } from '../runs/run-token.ts'
import { bearerToken } from './auth.ts'
import { parameter, queryValue } from './request-values.ts'
import type { Route } from './routes.ts'

/** As whom a request was let in: with an engine token, with a token of one run or call, or as anybody. */
export type Grant = 'engine' | 'token' | 'open'

export type AccessVerdict =
  | { readonly kind: 'granted'; readonly grant: Grant }
  /** `wrong`: a bearer token came that does not open the address. `opener`: whose token would have opened the address. */
  | { readonly kind: 'unauthorized'; readonly wrong: boolean; readonly opener: 'engine' | 'call' }
  | { readonly kind: 'forbidden' }
  | { readonly kind: 'no_run' }

export interface AccessParts {
  readonly tokens: EngineTokens
  readonly isEngineToken: (given: string) => boolean
  readonly store: Pick<RunStore, 'get'>
  /** METRICS_PUBLIC. */
  readonly metricsPublic: boolean
}

export async function judgeAccess(route: Route, request: FastifyRequest, parts: AccessParts): Promise<AccessVerdict> {
  if (route.access === 'open' || (route.access === 'reader' && parts.metricsPublic))
    return { kind: 'granted', grant: 'open' }
  const bearer = bearerToken(request.headers.authorization)
  if (route.access !== 'call' && bearer !== null && parts.isEngineToken(bearer))
    return { kind: 'granted', grant: 'engine' }
  const byToken = route.access === 'run' || route.access === 'call'
  const token = byToken ? queryValue(request, 'token') : null
  if (token === null) {
    return { kind: 'unauthorized', wrong: bearer !== null, opener: route.access === 'call' ? 'call' : 'engine' }
  }

  const runId = parameter(request, 'run_id')
  if (route.access === 'call') {
    const genuine = isCallToken(parts.tokens, runId, parameter(request, 'call_id'), token)
    return genuine ? { kind: 'granted', grant: 'token' } : { kind: 'forbidden' }
  }
  // 404 goes before 403: an EventSource gives up on both, and its owner learns the truer of the two. Ids cannot be guessed.
  if ((await parts.store.get(runId)) === null) return { kind: 'no_run' }
  return isRunToken(parts.tokens, runId, token) ? { kind: 'granted', grant: 'token' } : { kind: 'forbidden' }
}
