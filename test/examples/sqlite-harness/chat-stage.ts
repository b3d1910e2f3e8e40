/**
 * The chat as its tests see it: the real engine process, the harness on a database in memory, a clock that a test can move, and
 * the page's own requests. Everything is closed with the test.
 */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { openChatServer } from '../../../examples/sqlite-harness/chat-server.ts'
import { type Database, openDatabase } from '../../../examples/sqlite-harness/plumbing/database.ts'
import type { Harness } from '../../../examples/sqlite-harness/harness.ts'
import type { Card, Item, SessionView } from '../../../examples/sqlite-harness/session-view.ts'
import { wordsOf } from '../../../examples/sqlite-harness/data/words.ts'
import { CALLBACK_SECRET, ENGINE_TOKEN, type EngineProcess, startEngine } from '../../fakes/engine-process.ts'
import { within } from '../../conformance/facts.ts'

export interface Stage {
  readonly url: string
  readonly database: Database
  readonly harness: Harness
  readonly engine: () => EngineProcess
  /** Moves the harness's clock. */
  advance(ms: number): void
  /** Kills the engine without a word and starts another one at the same address. */
  killEngine(): Promise<void>
  restartEngine(): Promise<void>
  ask(
    method: 'GET' | 'POST',
    path: string,
    body?: unknown,
  ): Promise<{ readonly status: number; readonly body: unknown }>
  newSession(assistant?: string): Promise<string>
  /** An assistant that plays this script at every run, whatever it is asked. */
  addAssistant(id: string, script: unknown, tools?: readonly string[]): void
  /** As if nothing had been refunded or cancelled. */
  restock(): void
  say(session: string, text: string): Promise<string>
  view(session: string): Promise<SessionView>
  /** The view, as soon as it fits. */
  until(session: string, fits: (view: SessionView) => boolean): Promise<SessionView>
}

/** Whose end the stage has: a test's, or a file's. */
interface Closer {
  after(close: () => Promise<void>): unknown
}

export interface StageSettings {
  /** Of the engine. */
  readonly environment?: Readonly<Record<string, string>>
  readonly locale?: 'en' | 'ru'
}

export async function openStage(t: Closer, { environment = {}, locale = 'en' }: StageSettings = {}): Promise<Stage> {
  let ahead = 0
  const database = openDatabase(':memory:', () => new Date(Date.now() + ahead))
  const defects: unknown[] = []
  const settings = { SHUTDOWN_GRACE_MS: '200', ENGINE_LOCALE: locale, ...environment }
  /** The one that runs is the last; all have the first one's address. */
  const engines: EngineProcess[] = []
  const engine = () => {
    const newest = engines.at(-1)
    assert.ok(newest)
    return newest
  }
  const start = async (more: Readonly<Record<string, string>>) => {
    engines.push(await startEngine({ ...settings, ...more }))
  }
  let allowed = {}
  const server = await openChatServer({
    database,
    port: 0,
    words: wordsOf(locale),
    environment: {},
    report: (error) => defects.push(error),
    async startEngine(pageUrl) {
      allowed = { ALLOWED_ORIGINS: pageUrl }
      await start(allowed)
      return { url: engine().address, token: ENGINE_TOKEN, callbackSecrets: [CALLBACK_SECRET] }
    },
  })
  const cookie = await signIn(server.url)

  async function kill(): Promise<void> {
    engine().signal('SIGKILL')
    await engine().exited
  }

  t.after(async () => {
    await kill()
    await server.close()
    database.close()
    assert.deepEqual(defects, [])
  })

  async function ask(method: 'GET' | 'POST', path: string, body?: unknown) {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { cookie, ...(method === 'GET' ? {} : { 'content-type': 'application/json' }) },
      ...(method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }),
    })
    return { status: response.status, body: await response.json() }
  }

  async function view(session: string): Promise<SessionView> {
    const { status, body } = await ask('GET', `/api/sessions/${session}`)
    if (status !== 200) throw new Error(`the view was answered ${status}`)
    return body as SessionView
  }

  let said = 0
  return {
    url: server.url,
    database,
    harness: server.harness,
    engine,
    advance: (ms) => void (ahead += ms),
    killEngine: kill,
    restartEngine: () => start({ ...allowed, PORT: new URL(engine().address).port }),
    ask,
    async newSession(assistant = 'scripted') {
      const { body } = await ask('POST', '/api/sessions', { assistant_id: assistant })
      return (body as { id: string }).id
    },
    addAssistant(id, script, tools = []) {
      const params = JSON.stringify({ extra: { script } })
      database.run`INSERT INTO assistant (id, name, provider, model, params, prompt, tools)
        VALUES (${id}, ${id}, 'scripted', ${id}, ${params}, '', ${JSON.stringify(tools)}) ON CONFLICT (id) DO NOTHING`
    },
    restock() {
      database.run`DELETE FROM refund`
      database.run`UPDATE "order" SET status = 'processing' WHERE id = '1003'`
    },
    async say(session, text) {
      said += 1
      const id = `msg_${session.slice(-12)}-${said}`
      const { status, body } = await ask('POST', `/api/sessions/${session}/messages`, { id, text })
      if (status !== 200) throw new Error(`the message was answered ${status}: ${JSON.stringify(body)}`)
      return id
    },
    view,
    async until(session, fits) {
      const stop = new AbortController()
      const events = await fetch(`${server.url}/api/events`, { headers: { cookie }, signal: stop.signal })
      let seen = await view(session)
      try {
        // The stream of changes says when to look again, as it does for the page.
        const looked = (async () => {
          if (fits(seen)) return seen
          for await (const _change of events.body ?? []) {
            seen = await view(session)
            if (fits(seen)) return seen
          }
          throw new Error('the stream of changes ended')
        })()
        return await within(looked, () => `the view never fitted: ${JSON.stringify(seen)}`)
      } finally {
        stop.abort()
      }
    },
  }
}

/** One stage for most tests of a file, opened by the first that needs it; each finds the shop as it was in the beginning. */
export function sharedStage(prepare: (stage: Stage) => void = () => undefined): () => Promise<Stage> {
  const closers: (() => Promise<void>)[] = []
  let opened: Promise<Stage> | null = null
  after(async () => {
    for (const close of closers.toReversed()) await close()
  })
  return async () => {
    opened ??= openStage({ after: (close) => closers.push(close) }).then((stage) => {
      prepare(stage)
      return stage
    })
    const stage = await opened
    stage.restock()
    return stage
  }
}

/** What a browser has after it opened the page. */
export async function signIn(url: string): Promise<string> {
  const page = await fetch(url)
  await page.text()
  return page.headers.get('set-cookie')?.split(';')[0] ?? ''
}

/** What the assistant and the customer said, and which cards and notices stand where, one word an item. */
export function outline({ items }: SessionView): string[] {
  return items.flatMap((item) => {
    if (item.kind === 'run') return []
    if (item.kind === 'card')
      return [`card ${item.card.tool} ${item.card.status}${item.card.set_aside ? ' aside' : ''}`]
    return item.kind === 'notice' ? [`notice ${item.notice}`] : [`${item.kind}: ${item.text}`]
  })
}

export function cardsOf({ items }: SessionView): Card[] {
  return items.flatMap((item: Item) => (item.kind === 'card' ? [item.card] : []))
}

export const isIdle = ({ status }: SessionView) => status === 'idle'
export const waitsForDecision = ({ status }: SessionView) => status === 'awaiting_tool'
