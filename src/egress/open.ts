/**
 * Opens the door out: judges a URL, sends one request, hands back one answer. It follows no redirect, repeats nothing,
 * decompresses nothing and sets no deadline; a 3xx is an answer like any other. SPEC §10.
 */
import dns from 'node:dns'
import { Agent, setGlobalDispatcher } from 'undici'
import { iterateBody } from './body.ts'
import type { Lookup } from './connector.ts'
import { createDispatcher, type Dispatcher } from './dispatcher.ts'
import type { Egress, EgressAnswer, EgressRequest, Fault } from './egress.ts'
import { abortedFault, ConnectFailure, exchangeFault } from './faults.ts'
import { headerProblem, incomingHeaders, outgoingHeaders } from './headers.ts'
import { type HostTls, type SecureContexts, secureContexts } from './host-tls.ts'
import { type EgressRules, judgeUrl } from './policy.ts'
import { NOTHING_PRIVATE, type PrivateAllow } from './private-allow.ts'
import { parseProxyUrl } from './proxy.ts'
import { noticeStart } from './request-start.ts'
import { createSharedLookup } from './shared-lookup.ts'

export interface EgressOptions extends EgressRules {
  /** URLs for `parseProxyUrl`. They apply to purpose `provider` only. */
  readonly proxies: {
    /** PROXY_URL. */
    readonly all: string | null
    /** PROXY_<PROVIDER>, by the provider's name as in `EgressRequest.provider`; goes before `all`. */
    readonly byProvider: Readonly<Record<string, string>>
  }
  /**
   * By the provider's name as in `EgressRequest.provider`, for purpose `provider` only: a tool that names the same host meets
   * neither the authority nor the client certificate. Checked by `pemProblem` before. Default: none.
   */
  readonly tls?: Readonly<Record<string, HostTls>>
  /** Default: `dns.lookup`. */
  readonly lookup?: Lookup
  /** From resolving the name to the end of the TLS handshake. Default 10,000. */
  readonly connectTimeoutMs?: number
}

const CONNECT_TIMEOUT_MS = 10_000

type RouteOptions = EgressOptions & Required<Pick<EgressOptions, 'lookup' | 'connectTimeoutMs'>>

/** The gate. A proxy URL that does not parse closes its route: nothing goes round it directly. */
export function createEgress(options: EgressOptions): Egress {
  const { lookup = dns.lookup, connectTimeoutMs = CONNECT_TIMEOUT_MS } = options
  const shared = createSharedLookup({ lookup, patienceMs: connectTimeoutMs, now: () => performance.now() })
  const routes = openRoutes({ ...options, connectTimeoutMs, lookup: shared })

  async function request(call: EgressRequest): Promise<EgressAnswer> {
    const verdict = judgeUrl(call.url, call.purpose, options, call.ownHosts)
    if (!verdict.allowed) return { kind: 'refused', refusal: verdict.refusal }
    const { url } = verdict
    const problem = headerProblem(call.headers)
    if (problem !== null)
      return unsent({ kind: 'protocol', message: `the call to ${url.hostname} was not sent: ${problem}` })
    if (call.signal.aborted) return unsent(abortedFault(url.hostname))
    const route = routes.pick(call, verdict.named)
    if (route === null) {
      return unsent({ kind: 'connect', message: `could not connect to ${url.hostname}: its proxy URL is not valid` })
    }
    return exchange(route.agent, call, url)
  }

  return {
    request,
    judge: (purpose, url, ownHosts) => {
      const verdict = judgeUrl(url, purpose, options, ownHosts)
      return verdict.allowed ? null : verdict.refusal
    },
    close: () => routes.close(),
  }
}

/**
 * Shuts every other door of undici and of the built-in fetch for the whole process: what is not sent through an Egress
 * fails before a name is resolved. `node:http` is not covered. Called once, by main.
 */
export function denyGlobalFetch(): void {
  setGlobalDispatcher(
    new Agent({
      connect: (_target, callback) => callback(new Error('outgoing calls go through the egress gate only'), null),
    }),
  )
}

interface Routes {
  /** `named`: the host may lead inside, as far as EGRESS_PRIVATE_ALLOW goes. Null: this provider's proxy is not usable. */
  pick(call: EgressRequest, named: boolean): Dispatcher | null
  close(): Promise<void>
}

/**
 * Connections that may lead inside are kept apart from those that may not: a host that only a lone `*` lets out must not
 * ride on one that was opened for a listed host.
 */
function openRoutes(options: RouteOptions): Routes {
  const { proxies, privateAllow = NOTHING_PRIVATE } = options
  const outside = openWays(options, NOTHING_PRIVATE)
  const closed = privateAllow.ranges.length === 0 && privateAllow.names.length === 0
  const inside = closed ? outside : openWays(options, privateAllow)

  return {
    pick({ purpose, provider }, named) {
      const { common, own } = named ? inside : outside
      if (purpose !== 'provider') return common.direct
      const { direct, proxied } = (provider === undefined ? undefined : own.get(provider)) ?? common
      const isOwn = provider !== undefined && Object.hasOwn(proxies.byProvider, provider)
      const url = (isOwn ? proxies.byProvider[provider] : undefined) ?? proxies.all
      return url === null ? direct : (proxied.get(url) ?? null)
    },
    async close() {
      const all = [outside, inside].flatMap(({ common, own }) => [common, ...own.values()])
      const pools = all.flatMap(({ direct, proxied }) => [direct, ...proxied.values()])
      await Promise.all(pools.filter((dispatcher) => dispatcher !== null).map((dispatcher) => dispatcher.close()))
    },
  }
}

/** The pools of providers without TLS of their own, which all other calls share, and those of each provider with it. */
interface Ways {
  readonly common: Pools
  readonly own: ReadonlyMap<string, Pools>
}

function openWays(options: RouteOptions, privateAllow: PrivateAllow): Ways {
  const entries = Object.entries(options.tls ?? {})
  return {
    common: openPools(options, privateAllow, new Map()),
    own: new Map(entries.map(([name, hosts]) => [name, openPools(options, privateAllow, secureContexts(hosts))])),
  }
}

interface Pools {
  readonly direct: Dispatcher
  /** By the proxy's URL; null: it does not parse. */
  readonly proxied: ReadonlyMap<string, Dispatcher | null>
}

/** One pool for direct calls and one a distinct proxy, all there from the start. */
function openPools(options: RouteOptions, privateAllow: PrivateAllow, contexts: SecureContexts): Pools {
  const { proxies, devInsecure, lookup, connectTimeoutMs: timeoutMs } = options
  const connect = { lookup, devInsecure, privateAllow, timeoutMs, secureContexts: contexts }
  const proxied = new Map<string, Dispatcher | null>()
  for (const url of [...(proxies.all === null ? [] : [proxies.all]), ...Object.values(proxies.byProvider)]) {
    if (proxied.has(url)) continue
    const parsed = parseProxyUrl(url)
    proxied.set(url, parsed.ok ? createDispatcher({ ...connect, proxy: parsed.proxy }) : null)
  }
  return { direct: createDispatcher({ ...connect, proxy: null }), proxied }
}

async function exchange(agent: Agent, call: EgressRequest, url: URL): Promise<EgressAnswer> {
  const { signal } = call
  const host = url.hostname
  let started = false
  const faultOf = (error: unknown): Fault => (signal.aborted ? abortedFault(host) : exchangeFault(error, host))

  // undici gets a signal of its own: a caller's reason may be any value, and a falsy one passes for success there.
  const stop = new AbortController()
  const onAbort = () => stop.abort()
  const release = () => signal.removeEventListener('abort', onAbort)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    const { statusCode, headers, body } = await agent.compose(noticeStart(() => (started = true))).request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: call.method,
      headers: outgoingHeaders(call.headers),
      body: call.body ?? null,
      signal: stop.signal,
    })
    // Without a listener a break between two reads would end the process; the reader learns of it by iterating.
    body.on('error', () => {})
    body.once('close', release)
    const response = {
      status: statusCode,
      headers: incomingHeaders(headers),
      body: iterateBody(body, faultOf),
      destroy: () => void body.destroy(),
    }
    return { kind: 'response', response }
  } catch (error) {
    release()
    const answer = error instanceof ConnectFailure ? error.answer : ({ kind: 'fault', fault: faultOf(error) } as const)
    return answer.kind === 'refused' || started ? answer : unsent(answer.fault)
  }
}

function unsent(fault: Fault): EgressAnswer {
  return { kind: 'fault', fault: { ...fault, unsent: true } }
}
