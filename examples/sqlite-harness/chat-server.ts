/**
 * The harness as a whole: database, routes and the minute's timer behind one address. The address is open before the engine
 * is, because the engine must be told whose pages may read its streams.
 */
import { randomBytes } from 'node:crypto'
import timers from 'node:timers/promises'
import { writeAssistants } from './data/assistants.ts'
import { fillWithDemoData } from './data/demo-data.ts'
import type { EngineAddress } from './engine-client.ts'
import { createHarness, type HarnessParts } from './harness.ts'
import { createChanges } from './plumbing/changes.ts'
import type { Database } from './plumbing/database.ts'
import { type Answer, type Incoming, listen, wrong } from './plumbing/http-server.ts'
import { readPage } from './plumbing/page-files.ts'
import { createRoutes } from './routes.ts'
import { createSignIn } from './sign-in.ts'

interface ChatParts extends Pick<HarnessParts, 'database' | 'words' | 'report'> {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly port: number
  /** Given the address of the page, which may read the engine's streams. */
  readonly startEngine: (pageUrl: string) => Promise<EngineAddress & { readonly callbackSecrets: readonly string[] }>
}

const SWEEP_EVERY_MS = 60_000

/** Takes another port where the wanted one is taken. Rejects where the engine does not start. */
export async function openChatServer({ database, words, report, environment, port, startEngine }: ChatParts) {
  fillWithDemoData(database, words)
  writeAssistants(database, environment, words.locale)
  let answer = async (_incoming: Incoming): Promise<Answer> => wrong(503, 'not connected yet')
  const handle = (incoming: Incoming) => answer(incoming)
  const server = await listen(port, handle).catch(() => listen(0, handle))
  const { callbackSecrets, ...engine } = await startEngine(server.url)

  const toolSecret = keptSecret(database, 'tool_secret')
  const pause = (ms: number, signal: AbortSignal) => timers.setTimeout(ms, undefined, { signal })
  const changes = createChanges()
  const parts = { database, words, report, engine, harnessUrl: server.url, toolSecret, pause, changed: changes.tell }
  const harness = createHarness(parts)
  const signIn = createSignIn(keptSecret(database, 'cookie_secret'))
  const routes = createRoutes({ harness, changes, page: readPage(words, engine.url), signIn, callbackSecrets })
  answer = (incoming) =>
    routes(incoming).catch((defect: unknown) => {
      report(defect)
      // The engine tries again.
      return wrong(500, 'the server failed')
    })
  // At once what an earlier process has left, then every minute.
  void harness.sweep(true)
  const timer = setInterval(() => void harness.sweep(), SWEEP_EVERY_MS)

  return {
    url: server.url,
    harness,
    async close(): Promise<void> {
      clearInterval(timer)
      changes.close()
      await server.close()
      await harness.close()
    },
  }
}

/** A secret of this harness, made once. It stands in bodies that may be posted again after a restart, so it is kept. */
function keptSecret({ run, one }: Database, name: string): string {
  const made = randomBytes(24).toString('base64url')
  run`INSERT INTO setting (name, value) VALUES (${name}, ${made}) ON CONFLICT (name) DO NOTHING`
  return one<{ value: string }>`SELECT value FROM setting WHERE name = ${name}`?.value ?? made
}
