/**
 * `npm run chat`: an engine, a shop with its harness on SQLite, and the address of a page to talk to it. This file reads the
 * environment, puts the parts together and takes them apart again.
 *
 * ENGINE_LOCALE: en (default) or ru. CHAT_PORT: default 3210, or any free one if that is taken. CHAT_DB: the database file. With
 * a provider's key in the environment (ANTHROPIC_API_KEY, …) its assistant can be chosen on the page; without one a scripted
 * assistant answers.
 */
import { fileURLToPath } from 'node:url'
import { type EngineProcess, startEngine } from '../demo/engine-process.ts'
import { type ChatServer, openChatServer } from './chat-server.ts'
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
let engine: EngineProcess | null = null
let server: ChatServer | null = null

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // Before the engine is there, there is nothing to end with care.
  process.once(signal, () => (engine === null ? process.exit(130) : void stop(engine)))
}

try {
  const database = openDatabase(environment['CHAT_DB'] ?? DEFAULT_DATABASE)
  process.once('exit', () => database.close())
  const now = () => new Date()
  const parts = { database, words: wordsOf(locale), environment, now, report }
  const wanted = Number(environment['CHAT_PORT'] ?? DEFAULT_PORT)
  server = await openChatServer({ ...parts, port: wanted }).catch(() => openChatServer({ ...parts, port: 0 }))
  engine = await startEngine({
    ...providerSettings(environment),
    ALLOWED_ORIGINS: `${server.url},${server.url.replace('127.0.0.1', 'localhost')}`,
    ENGINE_LOCALE: locale,
  })
  server.connect({ url: engine.url, token: engine.engineToken, callbackSecrets: [engine.callbackSecret] })
  const models = [...providersIn(environment).map(({ provider }) => provider), 'scripted'].join(', ')
  process.stdout.write(`chat    ${server.url}\nengine  ${engine.url}\nmodels  ${models}\n`)
  process.stdout.write('Ctrl+C ends it; the conversations stay.\n')
} catch (error) {
  report(error)
  process.exit(1)
}

function report(error: unknown): void {
  process.stderr.write(`chat: ${error instanceof Error ? error.message : String(error)}\n`)
}

async function stop(running: EngineProcess): Promise<void> {
  // The engine first: what it still has to deliver finds this server open.
  await running.stop().catch(report)
  await server?.close()
}
