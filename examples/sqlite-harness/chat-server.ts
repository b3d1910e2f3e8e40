/**
 * The harness as a whole: database, routes and the minute's timer behind one address. It is given an engine and starts none.
 * The address is open before the engine is, because the engine must be told whose pages may read its streams.
 */
import { randomBytes } from 'node:crypto'
import { fillWithDemoData, CUSTOMER } from './demo-data.ts'
import { createChanges } from './changes.ts'
import type { Database } from './database.ts'
import type { EngineAddress } from './engine-client.ts'
import { createHarness, type Harness } from './harness.ts'
import { type Answer, type Incoming, listen, type LocalServer } from './http-server.ts'
import { readPage } from './page-files.ts'
import { createRoutes } from './routes.ts'
import type { Words } from './words.ts'
import { writeAssistants } from './assistants.ts'

export interface ChatServer {
  readonly url: string
  /** From here on it answers; before, everything is 503. Looks after the runs of an earlier process at once. */
  connect(engine: EngineAddress & { readonly callbackSecret: string }): Harness
  close(): Promise<void>
}

export interface ChatParts {
  readonly database: Database
  readonly port: number
  readonly words: Words
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly now: () => Date
}

const SWEEP_EVERY_MS = 60_000

/** Rejects where the port is taken. */
export async function openChatServer(parts: ChatParts): Promise<ChatServer> {
  const { database, words, now } = parts
  const changes = createChanges()
  const toolSecret = keptSecret(database)
  let routes: ((incoming: Incoming) => Promise<Answer>) | null = null
  let harness: Harness | null = null
  let timer: NodeJS.Timeout | null = null
  const notYet: Answer = { status: 503, json: { error: 'not connected yet' } }
  const server: LocalServer = await listen(parts.port, async (incoming) =>
    routes === null ? notYet : routes(incoming),
  )
  fillWithDemoData(database, words.locale)
  writeAssistants(database, parts.environment, words.locale)

  return {
    url: server.url,
    connect({ callbackSecret, ...engine }) {
      const changed = (sessionId: string) => changes.tell(sessionId)
      const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone
      const made = createHarness({
        database,
        engine,
        harnessUrl: server.url,
        toolSecret,
        words,
        timezone,
        now,
        changed,
      })
      const page = readPage(words)
      const customerId = CUSTOMER
      routes = createRoutes({
        harness: made,
        database,
        changes,
        page,
        words,
        customerId,
        callbackSecret,
        toolSecret,
        now,
      })
      void made.sweep(true)
      timer = setInterval(() => void made.sweep(), SWEEP_EVERY_MS)
      harness = made
      return made
    },
    async close() {
      if (timer !== null) clearInterval(timer)
      changes.close()
      await server.close()
      await harness?.close()
    },
  }
}

/** What the engine shows to the tools. It stands in bodies that may be posted again after a restart, so it is kept. */
function keptSecret(database: Database): string {
  const made = randomBytes(24).toString('base64url')
  database.run(`INSERT INTO setting (name, value) VALUES ('tool_secret', ?) ON CONFLICT (name) DO NOTHING`, made)
  const kept = database.one<{ value: string }>(`SELECT value FROM setting WHERE name = 'tool_secret'`)
  return kept?.value ?? made
}
