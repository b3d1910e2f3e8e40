/**
 * The connection pools: one undici Agent a route (direct, or through one proxy), each on a guarded connector.
 *
 * An explicit Agent with its own connector looks at no environment: HTTPS_PROXY, NO_PROXY and NODE_USE_ENV_PROXY change
 * nothing here. It has no deadlines besides the connect time-out; callers bring theirs as an abort signal.
 */
import { Agent } from 'undici'
import { type ConnectorOptions, createConnector } from './connector.ts'

export interface Dispatcher {
  readonly agent: Agent
  /** Destroys every socket, idle, busy or on its way up. Repeating it changes nothing. */
  close(): Promise<void>
}

/**
 * A streamed answer holds its connection for its whole life, so this is also how many runs may talk to one host at once;
 * what comes on top waits in undici's queue, and an abort takes it out of there.
 */
const MAX_CONNECTIONS_PER_ORIGIN = 1_024

/** Long enough to bridge a tool call between two steps, short enough that most servers have not hung up first. */
const IDLE_CONNECTION_MS = 15_000
/** A server may ask for more by its Keep-Alive header; an idle connection this old is pinned to a stale answer of DNS. */
const MAX_IDLE_CONNECTION_MS = 60_000

export function createDispatcher(options: ConnectorOptions): Dispatcher {
  const connector = createConnector(options)
  const agent = new Agent({
    connect: (target, callback) => connector.connect(target, callback),
    // Over HTTP/2 every run of a provider would share one connection and die with it.
    allowH2: false,
    pipelining: 1,
    connections: MAX_CONNECTIONS_PER_ORIGIN,
    keepAliveTimeout: IDLE_CONNECTION_MS,
    keepAliveMaxTimeout: MAX_IDLE_CONNECTION_MS,
    // undici's own 300 s would beat a longer deadline of the caller.
    headersTimeout: 0,
    bodyTimeout: 0,
  })

  async function close(): Promise<void> {
    const destroyed = agent.destroy()
    // A destroyed Agent still waits for connections on their way up.
    connector.abandon()
    await destroyed
  }

  return { agent, close }
}
