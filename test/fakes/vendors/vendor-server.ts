/**
 * One fake vendor on 127.0.0.1. A request is judged by the vendor's rules first; what it refuses is answered with the vendor's
 * own error, what passes with the next play of its key. Each run has a key of its own, so that any number of runs share one
 * server. Everything that is wrong with a request is remembered under its key.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { isObject, type WireObject } from '../../../src/providers/wire-value.ts'
import { Signal, within } from '../../conformance/facts.ts'
import { bodyText, listen, type Owner } from './http-server.ts'
import { Issued } from './issued.ts'
import { Judge, type Refusal } from './judge.ts'
import { startTokenServer, type TokenServer } from './token-server.ts'
import { oneCallEach, type Play } from './turn.ts'
import type { Vendor } from './vendor.ts'
import { play } from './vendor-answer.ts'
import type { Received } from './vendor-request.ts'

export interface LiveVendor {
  readonly vendor: Vendor
  /** `<PROVIDER>_BASE_URL` of an engine that is sent here. */
  readonly baseUrl: string
  /** Where keys are exchanged; null: they are shown as they are. */
  readonly tokens: TokenServer | null
  /** What the requests under a key are answered, one after another. */
  expect(key: string, plays: readonly Play[]): void
  received(key: string): readonly Received[]
  /** The n-th request under a key, from 1, as soon as it is there. */
  nth(key: string, number: number): Promise<Received>
  /** What was wrong with the requests under a key. */
  faults(key: string): readonly string[]
  /** Own reasoning under a key that no longer fitted what stood before it. */
  dropped(key: string): number
  /** Resolves once no answer is under way. */
  quiet(): Promise<void>
}

interface Line {
  readonly plays: readonly Play[]
  readonly received: Received[]
  readonly faults: string[]
  dropped: number
  answered: number
  active: number
}

export async function startVendor(owner: Owner, vendor: Vendor): Promise<LiveVendor> {
  const tokens = vendor.provider === 'gigachat' ? await startTokenServer(owner) : null
  const server = new VendorServer(vendor, tokens)
  const http = createServer((request, response) => void server.take(request, response))
  server.baseUrl = (await listen(owner, http)) + vendor.basePath
  return server
}

class VendorServer implements LiveVendor {
  readonly vendor: Vendor
  readonly tokens: TokenServer | null
  baseUrl = ''
  readonly #issued = new Issued()
  readonly #lines = new Map<string, Line>()
  readonly #changed = new Signal()
  #open = 0

  constructor(vendor: Vendor, tokens: TokenServer | null) {
    this.vendor = vendor
    this.tokens = tokens
  }

  expect(key: string, plays: readonly Play[]): void {
    const played = this.vendor.oneCall ? oneCallEach(plays) : plays
    this.#lines.set(key, { plays: played, received: [], faults: [], dropped: 0, answered: 0, active: 0 })
  }

  received(key: string): readonly Received[] {
    return this.#line(key).received
  }

  faults(key: string): readonly string[] {
    return this.#line(key).faults
  }

  dropped(key: string): number {
    return this.#line(key).dropped
  }

  async nth(key: string, number: number): Promise<Received> {
    const { received } = this.#line(key)
    const what = () => `${this.vendor.provider} has had ${received.length} requests; request ${number} was waited for`
    await within(
      this.#changed.until(() => received.length >= number),
      what,
    )
    return received[number - 1] as Received
  }

  async quiet(): Promise<void> {
    await within(
      this.#changed.until(() => this.#open === 0),
      () => `${this.vendor.provider} still writes ${this.#open} answers`,
    )
  }

  #line(key: string): Line {
    const line = this.#lines.get(key)
    if (line === undefined) throw new Error(`no plays under this key at ${this.vendor.provider}`)
    return line
  }

  async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => {})
    const closed = new Promise<'whole' | 'cut'>((resolve) => {
      response.on('close', () => resolve(response.writableFinished ? 'whole' : 'cut'))
    })
    const text = await bodyText(request)
    const key = this.#keyOf(request)
    const line = key === null ? undefined : this.#lines.get(key)
    if (key === null || line === undefined) return this.#refuse(response, refusal(401, 'invalid key'))
    this.#enter(line, response)
    const body = parsed(text)
    const path = request.url ?? ''
    const number = line.received.length + 1
    line.received.push({ number, key, path, headers: request.headers, text, body: body ?? {}, closed })
    this.#changed.emit()
    if (path !== this.vendor.path) return this.#fail(line, response, refusal(404, `no such path: ${path}`))
    if (body === null) return this.#fail(line, response, refusal(400, 'the body is not valid JSON'))
    if (line.active > this.vendor.streamsAtOnce) {
      return this.#fail(line, response, refusal(429, 'Too many requests'))
    }
    await this.#judged(line, body, request, response)
  }

  /** A stream counts until its answer is written or its connection gone. */
  #enter(line: Line, response: ServerResponse): void {
    line.active += 1
    this.#open += 1
    let left = false
    const leave = () => {
      if (left) return
      left = true
      line.active -= 1
      this.#open -= 1
      this.#changed.emit()
    }
    response.on('finish', leave)
    response.on('close', leave)
  }

  /** The key a request is for: what it shows, or what its token was exchanged for. */
  #keyOf({ headers }: IncomingMessage): string | null {
    const bearer = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1]
    const shown = bearer ?? headers['x-api-key']
    if (typeof shown !== 'string') return null
    return this.tokens === null ? shown : this.tokens.keyOf(shown)
  }

  async #judged(line: Line, body: WireObject, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const judge = new Judge(this.vendor.refusalStatus)
    if (request.headers.authorization !== undefined && request.headers['x-api-key'] !== undefined) {
      judge.note('the key is shown in two headers')
    }
    const broken = illFormed(body, '')
    if (broken !== null) judge.refuse(`The request body is not valid JSON: no low surrogate in string: ${broken}`)
    const answering = this.vendor.judge(body, request.headers, this.#issued, judge)
    line.faults.push(...judge.notes)
    line.dropped += judge.dropped
    if (judge.refusal !== null) return this.#fail(line, response, judge.refusal)
    const next = line.plays[line.answered]
    line.answered += 1
    if (next === undefined) return this.#fail(line, response, refusal(400, `request ${line.answered} is one too many`))
    const answer = answering(response)
    if (typeof next === 'function') await next(answer, line.received.at(-1) as Received)
    else play(next, answer)
  }

  #fail(line: Line, response: ServerResponse, facts: Refusal): void {
    line.faults.push(`${facts.status} ${facts.message}`)
    this.#refuse(response, facts)
  }

  #refuse(response: ServerResponse, facts: Refusal): void {
    response.writeHead(facts.status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(this.vendor.error(facts)))
  }
}

function refusal(status: number, message: string): Refusal {
  return { status, message, param: '', code: '' }
}

function parsed(text: string): WireObject | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** Where a string holds half a pair, also one inside a JSON text; null: nowhere. */
function illFormed(value: unknown, place: string): string | null {
  if (typeof value === 'string')
    return value.isWellFormed() && !/(?<!\\)(?:\\\\)*\\ud[89a-f]/i.test(value) ? null : place
  if (Array.isArray(value)) return firstOf(value.entries(), place)
  return isObject(value) ? firstOf(Object.entries(value), place) : null
}

function firstOf(entries: Iterable<readonly [string | number, unknown]>, place: string): string | null {
  for (const [key, member] of entries) {
    const broken = illFormed(member, `${place}.${key}`)
    if (broken !== null) return broken
  }
  return null
}
