/**
 * What the harness answers over HTTP: the page and its API for the browser, the tools and the callback for the engine. Each
 * side shows who it is: the engine its secrets, the browser that the page it runs is this server's own and who is signed in.
 */
import { randomUUID } from 'node:crypto'
import type { ToolCallBody } from '../../src/contract/tool-exchange.ts'
import { takeCallback } from './callback.ts'
import type { Changes } from './plumbing/changes.ts'
import { CUSTOMER } from './data/demo-data.ts'
import type { Words } from './data/words.ts'
import type { Database } from './plumbing/database.ts'
import type { Harness } from './harness.ts'
import type { Answer, Incoming } from './plumbing/http-server.ts'
import { parseOrNull } from './plumbing/lossless-json.ts'
import type { PageFiles } from './plumbing/page-files.ts'
import type { SessionRow } from './rows.ts'
import { CALLBACK_PATH, TOOL_PATH } from './run-body.ts'
import { viewSession } from './session-view.ts'
import { same, type SignIn } from './sign-in.ts'
import { answerTool } from './tools.ts'

export interface RouteParts {
  readonly harness: Harness
  readonly database: Database
  readonly changes: Changes
  readonly page: PageFiles
  readonly signIn: SignIn
  readonly words: Words
  readonly callbackSecrets: readonly string[]
  readonly toolSecret: string
  readonly now: () => Date
  /** Work that goes on after an answer; what it rejects with is told to whoever looks after the process. */
  readonly behind: (work: Promise<unknown>) => void
}

const MAX_TEXT = 8000

export function createRoutes(parts: RouteParts): (incoming: Incoming) => Promise<Answer> {
  return async (incoming) => {
    const { method, path } = incoming
    if (path === CALLBACK_PATH && method === 'POST') return callback(incoming, parts)
    if (path.startsWith(TOOL_PATH) && method === 'POST') return tool(incoming, parts)
    if (!isOwnPage(incoming)) return wrong(403, 'not from this page')
    if (!path.startsWith('/api/')) return (method === 'GET' ? pageFile(incoming, parts) : null) ?? NOTHING
    const customer = parts.signIn.customerOf(incoming.headers)
    return customer === null ? wrong(401, 'nobody is signed in; open the page') : api(customer, incoming, parts)
  }
}

function callback({ headers, body }: Incoming, { harness, callbackSecrets, now }: RouteParts): Answer {
  return takeCallback({ headers, body }, callbackSecrets, now().getTime(), (result) => harness.store(result))
}

/** Obligation A.7: who calls is known by the header that this harness gave to the engine, and by nothing in the body. */
function tool({ path, headers, body }: Incoming, { harness, toolSecret, words }: RouteParts): Answer {
  if (!same(headers.authorization ?? '', `Bearer ${toolSecret}`)) return wrong(401, 'unknown caller')
  const call = parseOrNull(body.toString('utf8')) as ToolCallBody | null
  if (call === null || call.tool !== path.slice(TOOL_PATH.length)) return wrong(400, 'not a call of this tool')
  const answer = answerTool(call, { ...harness, words })
  return answer === null ? wrong(404, 'no such tool') : ok(answer)
}

/** A page of somebody else can neither read nor send here: other hosts, origins and forms are refused. */
function isOwnPage({ method, headers }: Incoming): boolean {
  const host = headers.host ?? ''
  // Also what keeps a foreign name that leads to this address away.
  if (!/^(127\.0\.0\.1|localhost):\d+$/.test(host)) return false
  if (headers.origin !== undefined && headers.origin !== `http://${host}`) return false
  return method === 'GET' || headers['content-type'] === 'application/json'
}

/** Opening the page is all the signing in that there is. */
function pageFile({ path, headers }: Incoming, { page, signIn }: RouteParts): Answer | null {
  const file = page(path)
  if (file === null || path !== '/') return file
  return { ...file, headers: { ...file.headers, 'set-cookie': signIn.cookieFor(CUSTOMER, headers.host ?? '') } }
}

async function api(customer: string, incoming: Incoming, parts: RouteParts): Promise<Answer> {
  const { harness, now } = parts
  const [, , place = '', id = '', deed = ''] = incoming.path.split('/')
  const route = `${incoming.method} ${place}${id === '' ? '' : '/:id'}${deed === '' ? '' : `/${deed}`}`
  if (route === 'GET start') return start(parts)
  if (route === 'GET events') return { opened: (response) => parts.changes.open(response) }
  if (route === 'GET sessions') return ok({ sessions: harness.conversation.sessionsOf(customer).map(listed) })
  if (route === 'POST sessions') return newSession(customer, incoming, parts)
  if (route === 'POST operations/:id') return decision(customer, id, incoming, parts)
  const session = harness.conversation.session(id)
  if (session?.user_id !== customer) return wrong(404, 'no such conversation')
  switch (route) {
    case 'GET sessions/:id':
      return ok(viewSession(session, harness, now()))
    case 'POST sessions/:id/messages':
      return said(session, incoming, parts)
    case 'POST sessions/:id/stop':
      return (await harness.stop(id)) === 'unreachable' ? wrong(503, 'the engine cannot be reached') : ok({})
    case 'POST sessions/:id/retry':
      parts.behind(harness.retry(id))
      return ok({})
    case 'POST sessions/:id/look':
      await harness.look(id)
      return ok({})
    default:
      return NOTHING
  }
}

function start({ database, words }: RouteParts): Answer {
  const assistants = database.all`SELECT id, name, offered FROM assistant ORDER BY provider = 'scripted', rowid`
  return ok({ locale: words.locale, words: words.page, assistants })
}

function listed({ id, title, status }: SessionRow) {
  return { id, title, status }
}

function newSession(customer: string, incoming: Incoming, { harness, database }: RouteParts): Answer {
  const assistantId = textOf(incoming, 'assistant_id')
  const known = database.one`SELECT 1 FROM assistant WHERE id = ${assistantId} AND offered = 1`
  if (known === null) return wrong(400, 'assistant_id names no assistant')
  const id = `chat_${randomUUID()}`
  harness.conversation.create({ id, assistantId, userId: customer })
  return ok({ id })
}

function said(session: SessionRow, incoming: Incoming, { harness, behind }: RouteParts): Answer {
  const text = textOf(incoming, 'text')
  const messageId = textOf(incoming, 'id')
  if (text.trim() === '' || text.length > MAX_TEXT) return wrong(400, `text must have 1 to ${MAX_TEXT} characters`)
  // The page names it, so that a message sent again is known; ids of other kinds are not for it to take.
  if (!/^msg_[\w-]{8,80}$/.test(messageId)) return wrong(400, 'id must be msg_ and 8 to 80 letters and digits')
  behind(harness.say(session.id, messageId, text).handled)
  return ok({})
}

/** Who may decide is a question of a real harness's permissions; here the customer's page has the buttons. */
function decision(customer: string, id: string, incoming: Incoming, { harness, behind }: RouteParts): Answer {
  const { version, decision: wanted } = bodyOf(incoming)
  if (typeof version !== 'number' || (wanted !== 'approve' && wanted !== 'decline')) {
    return wrong(400, 'version must be a number and decision "approve" or "decline"')
  }
  if (harness.operations.find(id)?.user_id !== customer) return wrong(404, 'no such operation')
  const { kind, followed } = harness.decide(id, version, wanted)
  behind(followed)
  return kind === 'outdated' || kind === 'expired' ? wrong(409, kind) : ok({ decided: kind })
}

function bodyOf({ body }: Incoming): Readonly<Record<string, unknown>> {
  const value = parseOrNull(body.toString('utf8'))
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function textOf(incoming: Incoming, field: string): string {
  const value = bodyOf(incoming)[field]
  return typeof value === 'string' ? value : ''
}

function ok(json: unknown): Answer {
  return { status: 200, json }
}

function wrong(status: number, error: string): Answer {
  return { status, json: { error } }
}

const NOTHING: Answer = wrong(404, 'nothing is here')
