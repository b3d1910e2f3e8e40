/**
 * The harness as a whole: database, routes and the minute's timer behind one address. It is given an engine and starts none.
 * The address is open before the engine is, because the engine must be told whose pages may read its streams.
 */
import { randomBytes } from 'node:crypto'
import timers from 'node:timers/promises'
import { createChanges } from './plumbing/changes.ts'
import { writeAssistants } from './data/assistants.ts'
import { fillWithDemoData } from './data/demo-data.ts'
import type { Words } from './data/words.ts'
import type { Database } from './plumbing/database.ts'
import type { EngineAddress } from './engine-client.ts'
import { createHarness, type Harness } from './harness.ts'
import { type Answer, type Incoming, listen } from './plumbing/http-server.ts'
import { readPage } from './plumbing/page-files.ts'
import { createRoutes } from './routes.ts'
import { createSignIn } from './sign-in.ts'

export interface ChatServer {
  readonly url: string
  /** From here on it answers; before, everything is 503. Looks after the runs of an earlier process at once. */
  connect(engine: EngineAddress & { readonly callbackSecrets: readonly string[] }): Harness
  close(): Promise<void>
}

export interface ChatParts {
  readonly database: Database
  readonly port: number
  readonly words: Words
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly now: () => Date
  /** Told of a defect: the work is left, and the safety net finds what it left. */
  readonly report: (error: unknown) => void
}

const SWEEP_EVERY_MS = 60_000

/** Rejects where the port is taken. */
export async function openChatServer(parts: ChatParts): Promise<ChatServer> {
  const { database, words, environment, report } = parts
  const changes = createChanges()
  const toolSecret = keptSecret(database, 'tool_secret')
  const signIn = createSignIn(keptSecret(database, 'cookie_secret'))
  const behind = (work: Promise<unknown>) => void work.catch(report)
  const notYet: Answer = { status: 503, json: { error: 'not connected yet' } }
  let answer = async (_incoming: Incoming): Promise<Answer> => notYet
  let harness: Harness | null = null
  let timer: NodeJS.Timeout | undefined
  const server = await listen(parts.port, (incoming) => answer(incoming))
  fillWithDemoData(database, words)
  writeAssistants(database, environment, words.locale)

  return {
    url: server.url,
    connect({ callbackSecrets, ...engine }) {
      const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone
      const pause = (ms: number, signal: AbortSignal) => timers.setTimeout(ms, undefined, { signal })
      const address = { harnessUrl: server.url, toolSecret, timezone }
      const made = createHarness({ ...parts, ...address, engine, pause, changed: (id) => changes.tell(id) })
      const page = readPage(words, engine.url)
      answer = createRoutes({ ...parts, harness: made, changes, page, signIn, behind, callbackSecrets, toolSecret })
      behind(made.sweep(true))
      timer = setInterval(() => behind(made.sweep()), SWEEP_EVERY_MS)
      harness = made
      return made
    },
    async close() {
      clearInterval(timer)
      changes.close()
      await server.close()
      await harness?.close()
    },
  }
}

/** A secret of this harness, made once. It stands in bodies that may be posted again after a restart, so it is kept. */
function keptSecret({ run, one }: Database, name: string): string {
  const made = randomBytes(24).toString('base64url')
  run`INSERT INTO setting (name, value) VALUES (${name}, ${made}) ON CONFLICT (name) DO NOTHING`
  return one<{ value: string }>`SELECT value FROM setting WHERE name = ${name}`?.value ?? made
}
