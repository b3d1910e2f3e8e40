/**
 * SPEC §9.1: the brain of `useChat` over a run's stream: it sends through the harness, reads the stream, loses its
 * connection, comes back.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test, type TestContext } from 'node:test'
import { HttpAgent } from '@ag-ui/client'
import { AbstractChat, DefaultChatTransport, type ChatState, type UIMessage } from 'ai'
import { asksFor, inHalves, type Play, refuses, says, startProvider } from '../fakes/provider-server.ts'
import { ok, startTools } from '../fakes/tool-server.ts'
import { runBody, type Accepted } from './engine-client.ts'
import { gate, type Gate } from './facts.ts'
import { getAsFetch, type Headers } from './foreign-readers.ts'
import { sharedEngine } from './shared-engine.ts'

const engine = sharedEngine()

/** A run of these plays, and what a page has of it. */
async function startRun(t: TestContext, plays: readonly Play[]): Promise<Accepted> {
  const client = await engine.client()
  const tools = await startTools(t, { getOrders: ok(1) })
  const provider = await startProvider(t, plays)
  return client.start(runBody({ llm: provider.llm(), tools: [tools.tool('getOrders')] }))
}

interface Line {
  /** Cuts the connection that is open, as a network does. */
  cut(): void
  readonly lastId: () => string | undefined
}

type SendMessages = DefaultChatTransport<UIMessage>['sendMessages']

/** Starts a run where a page would ask its back end to, and reads its stream. */
class RunTransport extends DefaultChatTransport<UIMessage> {
  readonly #start: () => Promise<Accepted>
  readonly page: { stream_url: string }

  constructor(start: () => Promise<Accepted>, fetch: typeof globalThis.fetch, replay: boolean, headers: () => Headers) {
    const page = { stream_url: '' }
    super({
      fetch,
      resumeStreamIsReplay: replay,
      prepareReconnectToStreamRequest: () => ({ api: `${page.stream_url}&format=ai-sdk`, headers: headers() }),
    })
    this.#start = start
    this.page = page
  }

  override async sendMessages({ chatId, abortSignal }: Parameters<SendMessages>[0]) {
    this.page.stream_url = (await this.#start()).stream_url
    const stream = await this.reconnectToStream({ chatId, ...(abortSignal === undefined ? {} : { abortSignal }) })
    assert.ok(stream !== null)
    return stream
  }
}

class Chat extends AbstractChat<UIMessage> {
  constructor(transport: RunTransport, told: unknown[]) {
    const state: ChatState<UIMessage> = {
      status: 'ready',
      error: undefined,
      messages: [],
      pushMessage: (message) => void state.messages.push(structuredClone(message)),
      popMessage: () => void state.messages.pop(),
      replaceMessage: (index, message) => void (state.messages[index] = structuredClone(message)),
      snapshot: (thing) => structuredClone(thing),
    }
    super({
      transport,
      state,
      onToolCall: ({ toolCall }) => void told.push(toolCall),
      onData: (part) => void told.push(part),
    })
  }
}

function textOf(chat: Chat): string {
  const parts = chat.messages.at(-1)?.parts ?? []
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

/** A `fetch` whose connection can be cut, and which knows the last id that came. */
function cuttable(): { readonly fetch: typeof globalThis.fetch; readonly line: Line } {
  let cut = () => {}
  let lastId: string | undefined
  const fetch = async (url: string | URL | Request, init: RequestInit = {}) => {
    const answer = await getAsFetch(url as string, init.headers as Headers, init.signal ?? null)
    if (answer.body === null) return answer
    const reader = answer.body.getReader()
    let rest = ''
    const decoder = new TextDecoder()
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        cut = () => {
          controller.error(new TypeError('network error'))
          void reader.cancel()
        }
      },
      async pull(controller) {
        const { done, value } = await reader.read()
        if (done) {
          controller.close()
          return
        }
        rest = (rest + decoder.decode(value, { stream: true })).slice(-20_000)
        lastId = [...rest.matchAll(/^id: (\S+)\n/gm)].at(-1)?.[1] ?? lastId
        controller.enqueue(value)
      },
    })
    return new Response(body, answer)
  }
  return { fetch, line: { cut: () => cut(), lastId: () => lastId } }
}

/** Resolves once the chat shows this text; it is looked at after each turn of the event loop. */
async function shows(chat: Chat, text: string): Promise<void> {
  const late = Date.now() + 15_000
  while (textOf(chat) !== text) {
    assert.ok(Date.now() < late, `it shows ${textOf(chat)} and not ${text}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Breaks off once, then answers in two halves with the hold between them. */
const plays = (hold: Gate): Play[] => [
  (answer) => {
    answer.text('Broken')
    answer.cut()
  },
  inHalves('Half of ', hold.opened, 'the answer.'),
]

for (const replay of [true, false]) {
  const how = replay ? 'by a replay from the start' : 'by what comes behind its last id'
  test(`§9.1 useChat: a reset takes text back, and a lost connection is made good ${how}`, async (t) => {
    const hold = gate()
    const { fetch, line } = cuttable()
    const told: { type?: string }[] = []
    const headers = (): Headers => {
      const id = replay ? undefined : line.lastId()
      return id === undefined ? {} : { 'last-event-id': id }
    }
    const chat = new Chat(new RunTransport(() => startRun(t, plays(hold)), fetch, replay, headers), told)
    const sent = chat.sendMessage({ text: 'Where is order 12345?' })
    await shows(chat, 'Broken')
    await shows(chat, 'Half of ')
    line.cut()
    await sent
    assert.equal(chat.status, 'error')
    const resumed = chat.resumeStream()
    hold.open()
    await resumed
    assert.equal(chat.status, 'ready')
    assert.equal(textOf(chat), 'Half of the answer.')
    assert.equal(chat.messages.length, 2)
    assert.equal(chat.messages[1]?.parts.filter(({ type }) => type === 'text').length, 1)
    assert.ok(told.some(({ type }) => type === 'data-wait'))
  })
}

test('§9.1 useChat: an id of another life of the run begins again, and nothing is doubled', async (t) => {
  const hold = gate()
  const { fetch, line } = cuttable()
  let headers: Headers = {}
  const transport = new RunTransport(
    () => startRun(t, plays(hold)),
    fetch,
    true,
    () => headers,
  )
  const chat = new Chat(transport, [])
  const sent = chat.sendMessage({ text: 'x' })
  await shows(chat, 'Half of ')
  line.cut()
  await sent
  headers = { 'last-event-id': 'r7-3~st' }
  hold.open()
  await chat.resumeStream()
  assert.equal(textOf(chat), 'Half of the answer.')
  assert.equal(chat.messages.length, 2)
})

test('§9.1 useChat: a run that is over is read again whole, and with its last id there is nothing to resume', async (t) => {
  const { fetch, line } = cuttable()
  let headers: Headers = {}
  const transport = new RunTransport(
    () => startRun(t, [says('Done.')]),
    fetch,
    true,
    () => headers,
  )
  const chat = new Chat(transport, [])
  await chat.sendMessage({ text: 'x' })
  await chat.resumeStream()
  assert.deepEqual([textOf(chat), chat.messages.length, chat.status], ['Done.', 2, 'ready'])
  headers = { 'last-event-id': line.lastId() ?? '' }
  await chat.resumeStream()
  assert.deepEqual([textOf(chat), chat.messages.length, chat.status], ['Done.', 2, 'ready'])
})

test('§9.1 useChat: tools are never the page’s to run, and nothing is sent by itself when they have ended', async (t) => {
  const told: unknown[] = []
  let runs = 0
  const start = () => {
    runs += 1
    return startRun(t, [asksFor(['getOrders', {}]), says('Done.')])
  }
  const chat = new Chat(new RunTransport(start, cuttable().fetch, true, () => ({})), told)
  await chat.sendMessage({ text: 'x' })
  assert.deepEqual([textOf(chat), told, runs], ['Done.', [], 1])
})

test('§9.1 useChat: a run that fails is an error with the sentence for the end user, and its facts are there', async (t) => {
  const chat = new Chat(
    new RunTransport(
      () => startRun(t, [refuses(401)]),
      cuttable().fetch,
      true,
      () => ({}),
    ),
    [],
  )
  await chat.sendMessage({ text: 'x' })
  const facts = chat.messages.at(-1)?.metadata as { status: string; error: { code: string; message: string } }
  assert.deepEqual([chat.status, facts.status, facts.error.code], ['error', 'failed', 'provider_auth'])
  assert.equal(chat.error?.message, facts.error.message)
})

/** The guide's code in this language that names the word, without its import. */
function snippet(word: string): string {
  const guide = readFileSync(new URL('../../docs/guides/harness.md', import.meta.url), 'utf8')
  const found = [...guide.matchAll(/^```js\n([\s\S]*?)^```$/gm)].find(([, code]) => code?.includes(word) === true)
  assert.ok(found?.[1] !== undefined, `the guide shows no ${word}`)
  return found[1].replace(/^import .*\n/gm, '')
}

test('§9.1 the transport and the agent that the guide for harnesses shows work as they stand', async (t) => {
  t.mock.method(globalThis, 'fetch', async (url: string, init: RequestInit = {}) => {
    if (url === '/chat') return Response.json(await startRun(t, [asksFor(['getOrders', {}]), says('Done.')]))
    return getAsFetch(url, {}, init.signal ?? null)
  })
  const asyncFunction = (async () => {}).constructor as FunctionConstructor
  const open = asyncFunction('DefaultChatTransport', `${snippet('DefaultChatTransport')}\nreturn new RunTransport()`)
  const chat = new Chat(await open(DefaultChatTransport), [])
  await chat.sendMessage({ text: 'x' })
  assert.deepEqual([chat.status, textOf(chat)], ['ready', 'Done.'])

  const { stream_url } = await startRun(t, [says('Hello.')])
  const read = asyncFunction('HttpAgent', 'stream_url', 'initialMessages', `${snippet('HttpAgent')}\nreturn shown`)
  const asked = { id: 'msg_1', role: 'user', content: 'Where is order 12345?' }
  const shown = (await read(HttpAgent, stream_url, [asked])) as { role: string; content: string }[]
  assert.deepEqual(
    shown.map(({ role, content }) => [role, content]),
    [
      ['user', 'Where is order 12345?'],
      ['assistant', 'Hello.'],
    ],
  )
})

test('the engine of this file ended in peace', () => engine.finish())
