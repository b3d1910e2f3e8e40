/**
 * Every route of this server, as data: what is registered, what a wrong method is told, which routes a browser may use and
 * what the OpenAPI document lists all come from here.
 */

/**
 * Who may call a route. `engine`: a holder of an engine token. `reader`: the same, or anybody with METRICS_PUBLIC.
 * `run`: also the holder of the run's token. `call`: the holder of the call's token, and nobody else. `open`: anybody.
 */
export type Access = 'engine' | 'reader' | 'run' | 'call' | 'open'

export interface Route {
  readonly method: 'GET' | 'POST'
  /** Parameters as `:name`. */
  readonly path: string
  readonly access: Access
  /** `json`: a JSON body is required. `ignored`: whatever comes is read and thrown away. `none`: a GET. */
  readonly body: 'json' | 'ignored' | 'none'
  /** Answers browsers of ALLOWED_ORIGINS. */
  readonly browser: boolean
}

export const routes = {
  startRun: { method: 'POST', path: '/runs', access: 'engine', body: 'json', browser: false },
  validate: { method: 'POST', path: '/validate', access: 'engine', body: 'json', browser: false },
  getRun: { method: 'GET', path: '/runs/:run_id', access: 'engine', body: 'none', browser: false },
  cancelRun: { method: 'POST', path: '/runs/:run_id/cancel', access: 'run', body: 'ignored', browser: true },
  ackRun: { method: 'POST', path: '/runs/:run_id/ack', access: 'engine', body: 'ignored', browser: false },
  redeliverRun: { method: 'POST', path: '/runs/:run_id/redeliver', access: 'engine', body: 'ignored', browser: false },
  streamRun: { method: 'GET', path: '/runs/:run_id/stream', access: 'run', body: 'none', browser: true },
  lateResult: {
    method: 'POST',
    path: '/runs/:run_id/calls/:call_id/result',
    access: 'call',
    body: 'json',
    browser: false,
  },
  logs: { method: 'GET', path: '/logs', access: 'engine', body: 'none', browser: false },
  providers: { method: 'GET', path: '/providers', access: 'engine', body: 'none', browser: false },
  metrics: { method: 'GET', path: '/metrics', access: 'reader', body: 'none', browser: false },
  health: { method: 'GET', path: '/health', access: 'open', body: 'none', browser: false },
  ready: { method: 'GET', path: '/ready', access: 'open', body: 'none', browser: false },
  openApi: { method: 'GET', path: '/openapi.json', access: 'open', body: 'none', browser: false },
} as const satisfies Record<string, Route>

export type RouteName = keyof typeof routes

const patterns = Object.values(routes).map((route: Route) => ({
  route,
  pattern: new RegExp(`^${route.path.replace(/:\w+/g, '[^/]+')}$`),
}))

/** The routes that a request's URL names, whatever its method. */
export function routesAt(url: string): Route[] {
  const path = url.split('?', 1)[0] ?? url
  return patterns.filter(({ pattern }) => pattern.test(path)).map(({ route }) => route)
}

/** For the Allow header. A stream has no HEAD: there is nothing to say about it before it flows. */
export function methodsOf(found: readonly Route[]): string[] {
  const methods = found.flatMap(({ method, path }) =>
    method === 'GET' && path !== routes.streamRun.path ? ['GET', 'HEAD'] : [method],
  )
  return [...methods, 'OPTIONS']
}
