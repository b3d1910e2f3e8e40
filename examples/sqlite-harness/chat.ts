/**
 * `npm run chat`: an engine, a shop with its harness on SQLite, and the address of a page to talk to it. This file reads the
 * environment, puts the parts together and takes them apart again.
 *
 * ENGINE_LOCALE: en (default) or ru. CHAT_PORT: default 3210, or any free one if that is taken. CHAT_DB: the database file. With
 * a provider's key in the environment (ANTHROPIC_API_KEY, …) its assistant can be chosen on the page; without one a scripted
 * assistant answers.
 */
import { fileURLToPath } from 'node:url'
import { startEngine } from '../demo/engine-process.ts'
import { openChatServer } from './chat-server.ts'
import { providerSettings, providersIn } from './data/assistants.ts'
import { wordsOf } from './data/words.ts'
import { openDatabase } from './plumbing/database.ts'

const DEFAULT_PORT = 3210
const environment = process.env
const locale = environment['ENGINE_LOCALE'] === 'ru' ? 'ru' : 'en'
/** Not under version control, and kept from one start to the next. One a language, for the shop's goods have names. */
const DEFAULT_DATABASE = fileURLToPath(
  new URL(`../../node_modules/.cache/theloop/chat-${locale}.sqlite`, import.meta.url),
)
/** What Ctrl+C does: before the engine is there, there is nothing to end with care. */
let stop = async (): Promise<void> => process.exit(130)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop())

try {
  const database = openDatabase(environment['CHAT_DB'] ?? DEFAULT_DATABASE)
  process.once('exit', () => database.close())
  const port = Number(environment['CHAT_PORT'] ?? DEFAULT_PORT)
  const words = wordsOf(locale)
  const server = await openChatServer({ database, words, report, environment, port, startEngine: start })
  const stopEngine = stop
  stop = async () => {
    // The engine first: what it still has to deliver finds this server open.
    await stopEngine().catch(report)
    await server.close()
  }
  const models = [...providersIn(environment).map(({ provider }) => provider), 'scripted'].join(', ')
  process.stdout.write(`chat    ${server.url}\nengine  ${server.harness.engine.url}\nmodels  ${models}\n`)
  process.stdout.write('Ctrl+C ends it; the conversations stay.\n')
} catch (error) {
  report(error)
  process.exit(1)
}

async function start(pageUrl: string) {
  const engine = await startEngine({
    ...providerSettings(environment),
    ALLOWED_ORIGINS: `${pageUrl},${pageUrl.replace('127.0.0.1', 'localhost')}`,
    ENGINE_LOCALE: locale,
  })
  stop = () => engine.stop()
  return { url: engine.url, token: engine.engineToken, callbackSecrets: [engine.callbackSecret] }
}

function report(error: unknown): void {
  process.stderr.write(`chat: ${error instanceof Error ? error.message : String(error)}\n`)
}
