/** A harness that sees to its runs, or does not: what becomes of one is drawn before it starts. */
import http from 'node:http'
import type { JsonObject } from '../../src/contract/json.ts'
import { runBody, type Accepted } from '../conformance/engine-client.ts'
import { ENGINE_TOKEN } from '../fakes/engine-process.ts'
import type { Random } from '../fuzz/random.ts'

/** How its result is stored; the last two are never acked. */
export type Ending = 'waited' | 'delivered' | 'acked' | 'forgotten' | 'refused'

export interface Fate {
  readonly ending: Ending
  readonly reader: 'none' | 'whole' | 'leaves'
  /** A run of a model that holds is cancelled; nothing else ends it. */
  readonly model: 'talks' | 'calls' | 'holds' | 'fills' | 'scripted'
  readonly hasSession: boolean
  /** Of how many keys of the provider which one. */
  readonly key: number
}

export const isUnstored = ({ ending }: Fate) => ending === 'forgotten' || ending === 'refused'

const KEYS = 40

/** Half of them are never acked. */
export function drawFate(random: Random): Fate {
  const ending: Ending = random.chance(0.5)
    ? random.pick(['forgotten', 'forgotten', 'refused'])
    : random.pick(['waited', 'delivered', 'delivered', 'acked', 'acked'])
  const waits = ending === 'waited'
  return {
    ending,
    reader: waits ? 'none' : random.pick(['none', 'none', 'whole', 'leaves']),
    model: random.pick(['talks', 'talks', 'talks', 'calls', 'scripted', waits ? 'talks' : 'holds']),
    hasSession: random.chance(0.5),
    key: random.int(KEYS),
  }
}

interface Answered {
  readonly status: number
  readonly text: string
}

export class Harness {
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: 64 })
  readonly #address: string
  readonly #peers: string

  constructor(address: string, peers: string) {
    this.#address = address
    this.#peers = peers
  }

  close(): void {
    this.#agent.destroy()
  }

  /** A run from its request until nothing more is done about it: its id, or null where it was waited for. Rejects with what was not as it should be. */
  async live(fate: Fate, name: string): Promise<string | null> {
    const { status, text } = await this.send('POST', '/runs', this.#body(fate, name))
    if (fate.ending === 'waited') {
      if (status !== 200 || !text.includes('"status":"completed"')) throw new Error(`${name}: ${status} ${text}`)
      return null
    }
    if (status !== 202) throw new Error(`${name}: ${status} ${text}`)
    const accepted = JSON.parse(text) as Accepted
    const { pathname, search } = new URL(accepted.stream_url)
    const stream = `${pathname}${search}`
    if (fate.reader === 'leaves') await this.#leave(stream)
    const ended = fate.reader === 'whole' ? this.send('GET', stream) : null
    if (fate.model === 'holds') await this.#expect('POST', `/runs/${accepted.run_id}/cancel`)
    if (ended !== null && !(await ended).text.includes('event: done')) throw new Error(`${name}: no end of its stream`)
    if (fate.ending === 'acked') {
      // Its end is the end of its stream.
      await this.#expect('GET', stream)
      await this.#expect('POST', `/runs/${accepted.run_id}/ack`)
    }
    return accepted.run_id
  }

  #body({ ending, hasSession, key, model }: Fate, name: string): JsonObject {
    const tool = { name: 'look', description: 'look', input_schema: { type: 'object' }, effect: 'read' }
    return runBody({
      idempotency_key: name,
      ...(model !== 'scripted' && {
        llm: { provider: 'openai-compatible', model, base_url: `${this.#peers}/v1`, api_key: `provider-key-${key}` },
        tools: [{ ...tool, url: `${this.#peers}/tool` }],
      }),
      ...(hasSession && { meta: { session_id: name } }),
      ...(ending === 'waited' && { wait: true }),
      ...(ending === 'delivered' && { callback: { url: `${this.#peers}/takes` } }),
      ...(ending === 'refused' && { callback: { url: `${this.#peers}/refuses` } }),
    })
  }

  async #expect(method: string, path: string): Promise<void> {
    const { status, text } = await this.send(method, path)
    if (status !== 200) throw new Error(`${method} ${path.split('?', 1)[0]}: ${status} ${text}`)
  }

  send(method: string, path: string, body?: JsonObject): Promise<Answered> {
    return new Promise((resolve, reject) => {
      const request = this.#open(method, path, body)
      request.on('error', reject)
      request.on('response', (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (part: string) => (text += part))
        response.on('error', reject)
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      })
      request.end(body === undefined ? undefined : JSON.stringify(body))
    })
  }

  /** Opens a stream and goes as soon as something of it is there. */
  #leave(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const request = this.#open('GET', path)
      request.on('error', reject)
      request.on('response', (response) => {
        response.on('error', () => {})
        response.once('data', () => {
          request.off('error', reject).on('error', () => {})
          request.destroy()
          resolve()
        })
      })
      request.end()
    })
  }

  #open(method: string, path: string, body?: JsonObject): http.ClientRequest {
    const headers = {
      authorization: `Bearer ${ENGINE_TOKEN}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    }
    return http.request(`${this.#address}${path}`, { method, headers, agent: this.#agent })
  }
}
