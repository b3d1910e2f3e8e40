/**
 * What the harness answers over HTTP: the page and its API for the browser, the tools and the callback for the engine. Each
 * side shows who it is: the engine its secrets, the browser that the page it runs is this server's own and who is signed in.
 */
import { randomUUID } from 'node:crypto'
import type { ToolCallBody } from '../../src/contract/tool-exchange.ts'
import { takeCallback } from './callback.ts'
import { CUSTOMER } from './data/demo-data.ts'
import { decide } from './decide.ts'
import type { Harness } from './harness.ts'
import type { Changes } from './plumbing/changes.ts'
import { type Answer, type Incoming, wrong } from './plumbing/http-server.ts'
import { parseOrNull } from './plumbing/lossless-json.ts'
import type { PageFiles } from './plumbing/page-files.ts'
import { CALLBACK_PATH, TOOL_PATH } from './run-body.ts'
import { viewSession } from './session-view.ts'
import { same, type SignIn } from './sign-in.ts'
import { answerTool } from './tools.ts'

export interface RouteParts {
  readonly harness: Harness
  readonly changes: Changes
  readonly page: PageFiles
  readonly signIn: SignIn
  readonly callbackSecrets: readonly string[]
}

const MAX_TEXT = 8000

export function createRoutes(parts: RouteParts): (incoming: Incoming) => Promise<Answer> {
  return async (incoming) => {
    const { method, path, headers } = incoming
    if (path === CALLBACK_PATH && method === 'POST') return takeCallback(incoming, parts.callbackSecrets, parts.harness)
    if (path.startsWith(TOOL_PATH) && method === 'POST') return tool(incoming, parts)
    if (!isOwnPage(incoming)) return wrong(403, 'not from this page')
    if (!path.startsWith('/api/')) return pageFile(incoming, parts)
    const customer = parts.signIn.customerOf(headers)
    return customer === null ? wrong(401, 'nobody is signed in; open the page') : api(customer, incoming, parts)
  }
}

/** Obligation A.7: who calls is known by the header that this harness gave to the engine, and by nothing in the body. */
function tool({ path, headers, body }: Incoming, { harness }: RouteParts): Answer {
  if (!same(headers.authorization ?? '', `Bearer ${harness.toolSecret}`)) return wrong(401, 'unknown caller')
  const call = parseOrNull(body.toString('utf8')) as ToolCallBody | null
  if (call?.tool !== path.slice(TOOL_PATH.length)) return wrong(400, 'not a call of this tool')
  const answer = answerTool(call, harness)
  return answer === null ? wrong(404, 'no such tool') : Response.json(answer)
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
function pageFile({ method, path, headers }: Incoming, { page, signIn }: RouteParts): Answer {
  const file = method === 'GET' ? page(path) : null
  if (path === '/') file?.headers.set('set-cookie', signIn.cookieFor(CUSTOMER, headers.host ?? ''))
  return file ?? wrong(404, 'nothing is here')
}

/** What a page sends, of which nothing is believed. */
type Body = Readonly<Record<string, unknown>>

async function api(customer: string, incoming: Incoming, { harness, changes }: RouteParts): Promise<Answer> {
  const { conversation, database, words } = harness
  const [, , place = '', id = '', deed = ''] = incoming.path.split('/')
  const body = (parseOrNull(incoming.body.toString('utf8')) ?? {}) as Body
  const route = `${incoming.method} ${place}${id === '' ? '' : '/:id'}${deed === '' ? '' : `/${deed}`}`
  if (route === 'GET start') {
    const assistants = database.all`SELECT id, name, offered FROM assistant ORDER BY provider = 'scripted', rowid`
    return Response.json({ locale: words.locale, words: words.page, assistants })
  }
  if (route === 'GET events') return changes.open
  if (route === 'GET sessions') return Response.json({ sessions: conversation.sessionsOf(customer) })
  if (route === 'POST sessions') return newSession(customer, body, harness)
  if (route === 'POST operations/:id') return decision(customer, id, body, harness)
  const session = conversation.session(id)
  if (session?.user_id !== customer) return wrong(404, 'no such conversation')
  switch (route) {
    case 'GET sessions/:id':
      return Response.json(viewSession(session, harness))
    case 'POST sessions/:id/messages':
      return message(id, body, harness)
    case 'POST sessions/:id/stop':
      return (await harness.stop(id)) ? Response.json({}) : wrong(503, 'the engine cannot be reached')
    case 'POST sessions/:id/retry':
      void harness.retry(id)
      return Response.json({})
    case 'POST sessions/:id/look':
      await harness.look(id)
      return Response.json({})
    default:
      return wrong(404, 'nothing is here')
  }
}

function newSession(customer: string, { assistant_id }: Body, { conversation, database }: Harness): Answer {
  const wanted = String(assistant_id)
  const known = database.one`SELECT 1 FROM assistant WHERE id = ${wanted} AND offered = 1`
  if (known === null) return wrong(400, 'assistant_id names no assistant')
  const id = `chat_${randomUUID()}`
  conversation.create(id, wanted, customer)
  return Response.json({ id })
}

function message(session: string, { id, text }: Body, harness: Harness): Answer {
  if (typeof text !== 'string' || text.trim() === '' || text.length > MAX_TEXT) {
    return wrong(400, `text must have 1 to ${MAX_TEXT} characters`)
  }
  // The page names it, so that a message sent again is known; ids of other kinds are not for it to take.
  if (typeof id !== 'string' || !/^msg_[\w-]{8,80}$/.test(id)) {
    return wrong(400, 'id must be msg_ and 8 to 80 letters and digits')
  }
  void harness.say(session, id, text)
  return Response.json({})
}

/** Who may decide is a question of a real harness's permissions; here the customer's page has the buttons. */
function decision(customer: string, id: string, { version, decision: wanted }: Body, harness: Harness): Answer {
  if (typeof version !== 'number' || (wanted !== 'approve' && wanted !== 'decline')) {
    return wrong(400, 'version must be a number and decision "approve" or "decline"')
  }
  if (harness.operations.find(id)?.user_id !== customer) return wrong(404, 'no such operation')
  const decided = decide(id, version, wanted, harness)
  return decided === 'outdated' || decided === 'expired' ? wrong(409, decided) : Response.json({ decided })
}
