/** A model chain before servers of its own on 127.0.0.1, and a tap that writes down what it is told. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { runId } from '../../src/contract/ids.ts'
import { NO_PARAMS, type Target } from '../../src/contract/run-request.ts'
import type { Attempt } from '../../src/contract/usage.ts'
import type { Egress } from '../../src/egress/egress.ts'
import type { Ask, Interruption, ModelPort, StepAnswer, StepTap } from '../../src/engine/ports.ts'
import { createKeyGate } from '../../src/providers/key-gate.ts'
import type { KeySettings } from '../../src/providers/keys.ts'
import { createModel, type ModelOptions } from '../../src/providers/model.ts'
import { builtIn } from '../../src/providers/built-in.ts'
import { openEgress } from '../egress/test-egress.ts'
import { plainEgress } from './plain-egress.ts'

// ------------------------------------------------------------------------------------------------ what servers send

export const data = (value: unknown): string => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`
export const TX = (content: string): string => data({ choices: [{ index: 0, delta: { content } }] })
export const RE = (reasoning: string): string =>
  data({ choices: [{ index: 0, delta: { reasoning_content: reasoning } }] })
export const CALL = (name: string, args: string): string =>
  data({
    choices: [
      {
        index: 0,
        delta: { tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name, arguments: args } }] },
      },
    ],
  })
export const FIN = (reason = 'stop'): string => data({ choices: [{ index: 0, delta: {}, finish_reason: reason }] })
export const USAGE = (input: number, output?: number): string =>
  data({ choices: [], usage: { prompt_tokens: input, completion_tokens: output } })
export const DONE = data('[DONE]')
/** An ordinary whole answer. */
export const whole = (text: string): string => TX(text) + FIN() + USAGE(10, 2) + DONE

export interface Seen {
  readonly request: IncomingMessage
  readonly body: string
}

export interface Provider {
  readonly port: number
  readonly url: string
  /** Requests so far, bodies read. */
  readonly seen: readonly Seen[]
  /** Sockets closed so far. */
  readonly closed: () => number
  /** Requests being answered at this moment, and the most there ever were. */
  readonly busy: () => number
  readonly mostBusy: () => number
  /** Resolves as soon as `condition` holds; looked at when something happens on the server. */
  readonly until: (condition: (provider: Provider) => boolean) => Promise<void>
}

export type Serve = (response: ServerResponse, seen: Seen, index: number) => void

/** A server that answers its n-th request as told; it closes with all its sockets when the test ends. */
export async function startProvider(t: TestContext, serve: Serve): Promise<Provider> {
  const seen: Seen[] = []
  let closed = 0
  let busy = 0
  let mostBusy = 0
  const waiting = new Set<() => void>()
  const happened = () => waiting.forEach((look) => look())
  const server = http.createServer((request, response) => {
    busy += 1
    mostBusy = Math.max(mostBusy, busy)
    response.on('close', () => {
      busy -= 1
      happened()
    })
    let body = ''
    request.setEncoding('utf8').on('data', (piece: string) => (body += piece))
    request.on('error', () => {})
    request.on('end', () => {
      const entry = { request, body }
      seen.push(entry)
      serve(response, entry, seen.length - 1)
      happened()
    })
  })
  server.on('connection', (socket) => {
    socket.on('error', () => {})
    socket.on('close', () => {
      closed += 1
      happened()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const { port } = server.address() as AddressInfo
  const provider: Provider = {
    port,
    url: `http://127.0.0.1:${port}/v1`,
    seen,
    closed: () => closed,
    busy: () => busy,
    mostBusy: () => mostBusy,
    until(condition) {
      return new Promise((resolve) => {
        const look = () => {
          if (!condition(provider)) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      })
    },
  }
  return provider
}

/** A stream, ended or left open. */
export function stream(response: ServerResponse, text: string, more: { end?: boolean; type?: string } = {}): void {
  response.writeHead(200, { 'content-type': more.type ?? 'text/event-stream' })
  response.flushHeaders()
  response.write(text)
  if (more.end !== false) response.end()
}

export function error(
  response: ServerResponse,
  status: number,
  code: string | null = null,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify({ error: { message: `the server says ${status}`, code } }))
}

/** Each request in turn; the last one for ever. */
export function inTurn(...turns: readonly ((response: ServerResponse, seen: Seen) => void)[]): Serve {
  return (response, seen, index) => turns[Math.min(index, turns.length - 1)]?.(response, seen)
}

// ------------------------------------------------------------------------------------------------ the chain

export function target(more: Partial<Target> = {}): Target {
  return {
    provider: 'openai-compatible',
    model: 'fake-1',
    api_key: null,
    base_url: null,
    profile: null,
    params: NO_PARAMS,
    pricing: null,
    ...more,
  }
}

export const at = (provider: Provider, more: Partial<Target> = {}): Target =>
  target({ base_url: provider.url, ...more })

export function askOf(targets: readonly [Target, ...Target[]], more: Partial<Ask> = {}): Ask {
  return {
    runId: runId('01JE0000000000000000000000'),
    step: 1,
    targets,
    firstTarget: 0,
    system: 'Be brief.',
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }], created_at: '2026-11-30T12:00:00.000Z' }],
    tools: [],
    toolChoice: 'auto',
    outputSchema: null,
    note: null,
    cacheKey: null,
    deadlineAt: Date.now() + 3_600_000,
    giveUpAt: Date.now() + 3_000_000,
    ...more,
  }
}

export const noKeys: KeySettings = { keys: {}, baseUrls: {} }

export type Told =
  | readonly ['text' | 'reasoning' | 'reset', string]
  | readonly ['wait', string, number, position?: number]
  | readonly ['starting', number, number]
  | readonly ['ended', Attempt]
  | readonly ['warn', string]
  | readonly ['fetched', string, string]

export interface TestTap extends StepTap {
  readonly told: readonly Told[]
  /** What a reader of the stream has in view. */
  readonly inView: () => string
  readonly attempts: () => readonly Attempt[]
  /** Names of what was told, in order, deltas of one kind merged. */
  readonly story: () => readonly string[]
  /** Resolves as soon as `condition` holds. */
  readonly until: (condition: (tap: TestTap) => boolean) => Promise<void>
}

/** `heard` is called with everything that is told. */
export function openTap(heard: (told: Told) => void = () => {}): TestTap {
  const told: Told[] = []
  const waiting = new Set<() => void>()
  const tell = (entry: Told) => {
    told.push(entry)
    heard(entry)
    waiting.forEach((look) => look())
  }
  const tap: TestTap = {
    told,
    text: (text) => tell(['text', text]),
    reasoning: (text) => tell(['reasoning', text]),
    reset: (reason) => tell(['reset', reason]),
    wait: (reason, ms, position) =>
      tell(position === undefined ? ['wait', reason, ms] : ['wait', reason, ms, position]),
    attemptStarting: async ({ attempt, target }) => tell(['starting', attempt, target]),
    attemptEnded: (attempt) => tell(['ended', attempt]),
    warn: (warning) => tell(['warn', warning.message]),
    partFetched: ({ host, outcome }) => tell(['fetched', host, outcome]),
    inView() {
      const texts: string[] = []
      for (const entry of told) {
        if (entry[0] === 'reset') texts.length = 0
        if (entry[0] === 'text') texts.push(entry[1])
      }
      return texts.join('')
    },
    attempts: () => told.flatMap((entry) => (entry[0] === 'ended' ? [entry[1]] : [])),
    story: () => told.map(([name]) => name).filter((name, index, names) => name !== names[index - 1]),
    until: (condition) =>
      new Promise((resolve) => {
        const look = () => {
          if (!condition(tap)) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
  }
  return tap
}

export interface Chain {
  readonly port: ModelPort
  readonly tap: TestTap
  readonly gate: ReturnType<typeof createKeyGate>
  readonly ask: (ask: Ask, signal?: AbortSignal) => Promise<StepAnswer>
}

/** The real egress gate with DEV_INSECURE, a gate of its own, backoffs at their shortest. */
export function openChain(t: TestContext, more: Partial<ModelOptions> & { tap?: TestTap } = {}): Chain {
  const { tap = openTap(), ...options } = more
  const gate = createKeyGate()
  const egress: Egress = options.egress ?? openEgress(t)
  const model = createModel({ gate, table: builtIn, keys: noKeys, random: () => 0, ...options, egress })
  const port = model.forRun()
  return { port, tap, gate, ask: (ask, signal = new AbortController().signal) => port(ask, tap, signal) }
}

/** The same over a clock that stands still and jumps over every backoff as soon as it is announced. */
export function openQuickChain(t: TestContext, more: Parameters<typeof openChain>[1] = {}): Chain {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_800_000_000_000 })
  const tap = openTap(([name, reason, ms]) => {
    if (name === 'wait' && reason === 'retry') setImmediate(() => t.mock.timers.tick(ms))
  })
  return openChain(t, { egress: plainEgress(t), tap, ...more })
}

export function textOf(answer: StepAnswer): string {
  assert.equal(answer.kind, 'answer', JSON.stringify(answer))
  assert.ok(answer.kind === 'answer')
  return answer.message.parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

export function failureOf(answer: StepAnswer): {
  readonly code: string
  readonly detail: string
  readonly shown: string
} {
  assert.equal(answer.kind, 'failed', JSON.stringify(answer))
  assert.ok(answer.kind === 'failed')
  return { ...answer.failure, shown: answer.shown }
}

/** A signal and the words to abort it with. */
export function interruption(): { readonly signal: AbortSignal; readonly stop: (why: Interruption) => void } {
  const controller = new AbortController()
  return { signal: controller.signal, stop: (why) => controller.abort(why) }
}
