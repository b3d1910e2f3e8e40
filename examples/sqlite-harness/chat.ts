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
import { providerSettings, providersIn } from './assistants.ts'
import { type ChatServer, openChatServer } from './chat-server.ts'
import { openDatabase } from './database.ts'
import { wordsOf } from './words.ts'

const DEFAULT_PORT = 3210
const environment = process.env
const locale = environment['ENGINE_LOCALE'] === 'ru' ? 'ru' : 'en'
/** Not under version control, and kept from one start to the next. One a language, for the shop's goods have names. */
const DEFAULT_DATABASE = fileURLToPath(
  new URL(`../../node_modules/.cache/theloop/chat-${locale}.sqlite`, import.meta.url),
)

const database = openDatabase(environment['CHAT_DB'] ?? DEFAULT_DATABASE)
const server = await open(Number(environment['CHAT_PORT'] ?? DEFAULT_PORT))
const engine: EngineProcess = await startEngine({
  ...providerSettings(environment),
  ALLOWED_ORIGINS: `${server.url},${server.url.replace('127.0.0.1', 'localhost')}`,
  ENGINE_LOCALE: locale,
})
server.connect({ url: engine.url, token: engine.engineToken, callbackSecret: engine.callbackSecret })

const providers = providersIn(environment).map(({ provider }) => provider)
process.stdout.write(
  `chat    ${server.url}\nengine  ${engine.url}\nmodels  ${[...providers, 'scripted'].join(', ')}\nCtrl+C ends it; the conversations stay.\n`,
)
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop())

async function open(port: number): Promise<ChatServer> {
  const parts = { database, words: wordsOf(locale), environment, now: () => new Date() }
  try {
    return await openChatServer({ ...parts, port })
  } catch {
    return openChatServer({ ...parts, port: 0 })
  }
}

async function stop(): Promise<void> {
  // The engine first: what it still has to deliver finds this server open.
  await engine.stop().catch((error: unknown) => process.stderr.write(`chat: ${String(error)}\n`))
  await server.close()
  database.close()
}
