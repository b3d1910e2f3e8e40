/**
 * What the harness answers over HTTP: the page and its API for the browser, the tools and the callback for the engine. Each
 * side shows who it is: the engine its secrets, the browser that the page it runs is this server's own.
 */
import { randomUUID, timingSafeEqual } from 'node:crypto'
import type { ToolCallBody } from '../../src/contract/tool-exchange.ts'
import { takeCallback } from './callback.ts'
import type { Changes } from './changes.ts'
import type { Database } from './database.ts'
import type { Harness } from './harness.ts'
import type { Answer, Incoming } from './http-server.ts'
import { parseOrNull } from './lossless-json.ts'
import type { PageFiles } from './page-files.ts'
import { CALLBACK_PATH, TOOL_PATH } from './run-body.ts'
import type { SessionRow } from './rows.ts'
import { viewSession } from './session-view.ts'
import { answerTool } from './tools.ts'
import type { Words } from './words.ts'

export interface RouteParts {
  readonly harness: Harness
  readonly database: Database
  readonly changes: Changes
  readonly page: PageFiles
  readonly words: Words
  /** Who is signed in: the sign-in itself is not part of the example. */
  readonly customerId: string
  readonly callbackSecret: string
  readonly toolSecret: string
  readonly now: () => Date
}

const MAX_TEXT = 8000

export function createRoutes(parts: RouteParts): (incoming: Incoming) => Promise<Answer> {
  return async (incoming) => {
    const { method, path } = incoming
    if (path === CALLBACK_PATH && method === 'POST') return callback(incoming, parts)
    if (path.startsWith(TOOL_PATH) && method === 'POST') return tool(incoming, parts)
    if (path.startsWith('/api/')) return isOwnPage(incoming) ? api(incoming, parts) : wrong(403, 'not from this page')
    return (method === 'GET' ? parts.page(path) : null) ?? wrong(404, 'nothing is here')
  }
}

function callback({ headers, body }: Incoming, { harness, callbackSecret, now }: RouteParts): Answer {
  const answer = takeCallback({ headers, body }, callbackSecret, now().getTime(), (result) => harness.store(result))
  return { status: answer.status, json: answer.body }
}

function tool({ path, headers, body }: Incoming, { harness, toolSecret }: RouteParts): Answer {
  const shown = Buffer.from(headers.authorization ?? '')
  const wanted = Buffer.from(`Bearer ${toolSecret}`)
  if (shown.length !== wanted.length || !timingSafeEqual(shown, wanted)) return wrong(401, 'unknown caller')
  const call = parseOrNull(body.toString('utf8')) as ToolCallBody | null
  if (call === null || call.tool !== path.slice(TOOL_PATH.length)) return wrong(400, 'not a call of this tool')
  const answer = answerTool(call, harness)
  return answer === null ? wrong(404, 'no such tool') : ok(answer)
}

/** A page of somebody else can neither read nor send here: other hosts, origins and forms are refused. */
function isOwnPage({ method, headers }: Incoming): boolean {
  const host = headers.host ?? ''
  if (!/^(127\.0\.0\.1|localhost):\d+$/.test(host)) return false
  if (headers.origin !== undefined && headers.origin !== `http://${host}`) return false
  return method === 'GET' || headers['content-type'] === 'application/json'
}

async function api(incoming: Incoming, parts: RouteParts): Promise<Answer> {
  const { method } = incoming
  const [, , place = '', id = '', deed = ''] = incoming.path.split('/').map(decodeURIComponent)
  const route = `${method} ${place}${id === '' ? '' : '/:id'}${deed === '' ? '' : `/${deed}`}`
  if (route === 'GET start') return start(parts)
  if (route === 'GET events') return { opened: (response) => parts.changes.open(response) }
  if (route === 'GET sessions') return sessions(parts)
  if (route === 'POST sessions') return newSession(incoming, parts)
  if (route === 'POST operations/:id') return decision(id, incoming, parts)
  const session = ownSession(id, parts)
  if (session === null) return wrong(404, 'no such conversation')
  switch (route) {
    case 'GET sessions/:id':
      return ok(viewSession(session, parts.harness))
    case 'POST sessions/:id/messages':
      return said(session, incoming, parts)
    case 'POST sessions/:id/stop':
      return (await parts.harness.stop(id)) === 'unreachable' ? wrong(503, 'the engine cannot be reached') : ok({})
    case 'POST sessions/:id/retry':
      return (await parts.harness.retry(id)) ? ok({}) : wrong(409, 'nothing is unanswered')
    default:
      return wrong(404, 'nothing is here')
  }
}

function start({ database, words }: RouteParts): Answer {
  const assistants = database.all(`SELECT id, name FROM assistant ORDER BY provider = 'scripted', rowid`)
  return ok({ locale: words.locale, words: words.page, assistants })
}

function sessions({ harness, customerId }: RouteParts): Answer {
  const rows = harness.conversation.sessionsOf(customerId)
  return ok({ sessions: rows.map(({ id, title, status, changed_at }) => ({ id, title, status, changed_at })) })
}

function newSession(incoming: Incoming, { harness, database, customerId }: RouteParts): Answer {
  const assistantId = textOf(incoming, 'assistant_id')
  const known = database.one('SELECT 1 FROM assistant WHERE id = ?', assistantId)
  if (known === null) return wrong(400, 'assistant_id names no assistant')
  const id = `chat_${randomUUID()}`
  harness.conversation.create({ id, assistantId, userId: customerId })
  return ok({ id })
}

async function said(session: SessionRow, incoming: Incoming, { harness }: RouteParts): Promise<Answer> {
  const text = textOf(incoming, 'text')
  const messageId = textOf(incoming, 'id')
  if (text.trim() === '' || text.length > MAX_TEXT) return wrong(400, `text must have 1 to ${MAX_TEXT} characters`)
  // The page names it, so that a message sent again is known; ids of other kinds are not for it to take.
  if (!/^msg_[\w-]{8,80}$/.test(messageId)) return wrong(400, 'id must be msg_ and 8 to 80 letters and digits')
  await harness.say(session.id, messageId, text)
  return ok({})
}

/** Who may decide is a question of a real harness's permissions; here whoever has the page may. */
async function decision(id: string, incoming: Incoming, { harness, customerId }: RouteParts): Promise<Answer> {
  const { version, decision: wanted } = bodyOf(incoming)
  if (typeof version !== 'number' || (wanted !== 'approve' && wanted !== 'decline')) {
    return wrong(400, 'version must be a number and decision "approve" or "decline"')
  }
  const operation = harness.operations.find(id)
  if (operation === null || operation.user_id !== customerId) return wrong(404, 'no such operation')
  const decided = await harness.decide(id, version, wanted)
  return decided.kind === 'outdated' ? wrong(409, 'outdated') : ok({ decided: decided.kind })
}

function ownSession(id: string, { harness, customerId }: RouteParts): SessionRow | null {
  const session = harness.conversation.session(id)
  return session?.user_id === customerId ? session : null
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
