/**
 * GigaChat's authorization host: exchanges an authorization key for an access token, and refuses what the real one refuses. The
 * API beside it asks here whose token it was shown.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Signal, within } from '../../conformance/facts.ts'
import { bodyText, listen, type Owner } from './http-server.ts'

export interface TokenServer {
  readonly url: string
  /** The authorization key behind a token; null where it was never given out, or was revoked. */
  keyOf(token: string): string | null
  /** From now on the API answers 401 to every token given out so far. */
  revoke(): void
  /** Keys whose exchange never gets an answer. */
  readonly silentFor: Set<string>
  /** Resolves once a key has been shown. */
  asked(key: string): Promise<void>
  readonly faults: readonly string[]
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const SCOPE = /^scope=GIGACHAT_API_(?:PERS|B2B|CORP)$/
const HALF_AN_HOUR_MS = 30 * 60 * 1000

export async function startTokenServer(owner: Owner): Promise<TokenServer> {
  const keys = new Map<string, string>()
  const faults: string[] = []
  const silentFor = new Set<string>()
  const shown = new Set<string>()
  const changed = new Signal()
  let count = 0

  function refusal(request: IncomingMessage, body: string): { readonly code: number; readonly message: string } | null {
    const [scheme, key] = (request.headers.authorization ?? '').split(' ')
    if (scheme !== 'Basic' || key === undefined || !/^[A-Za-z0-9+/]+=*$/.test(key)) {
      return { code: 4, message: "Can't decode 'Authorization' header" }
    }
    if (!UUID.test(String(request.headers['rquid']))) return { code: 1, message: 'RqUID is missing or is no uuid' }
    if (request.headers['content-type'] !== 'application/x-www-form-urlencoded') {
      return { code: 5, message: 'scope is empty' }
    }
    return SCOPE.test(body) ? null : { code: 1, message: 'scope data format invalid' }
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyText(request)
    const key = (request.headers.authorization ?? '').slice('Basic '.length)
    const fault = request.url === '/api/v2/oauth' ? refusal(request, body) : { code: 0, message: 'no such path' }
    if (fault !== null) {
      faults.push(fault.message)
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(fault))
      return
    }
    shown.add(key)
    changed.emit()
    if (silentFor.has(key)) return
    count += 1
    const token = `eyJ-access-token-${count}`
    keys.set(token, key)
    const told = { access_token: token, expires_at: Date.now() + HALF_AN_HOUR_MS }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(told))
  }

  const server = createServer((request, response) => void answer(request, response))
  const address = await listen(owner, server)
  return {
    url: `${address}/api/v2/oauth`,
    keyOf: (token) => keys.get(token) ?? null,
    revoke: () => keys.clear(),
    silentFor,
    asked: (key) =>
      within(
        changed.until(() => shown.has(key)),
        () => 'the key was never shown',
      ),
    faults,
  }
}
