/** A reader of `GET /runs/{id}/stream`, as a browser is one: events with their ids, in order, and what text they make. */
import http from 'node:http'
import { once } from 'node:events'
import { createParser } from 'eventsource-parser'
import type { StreamEvent, StreamEventName } from '../../src/contract/stream-event.ts'
import { Signal, within } from './facts.ts'

export type ReadEvent = StreamEvent & { readonly id: string }
type Data<N extends StreamEventName> = Extract<StreamEvent, { event: N }>['data']

export interface EventStream {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly events: readonly ReadEvent[]
  readonly comments: readonly string[]
  /** Everything that came. */
  raw(): string
  /** The first event of this name, as soon as it is there; of those that fit, where a condition is given. */
  event<N extends StreamEventName>(name: N, fits?: (data: Data<N>) => boolean): Promise<Data<N>>
  /** Resolves with all events once the other side has closed. */
  ended(): Promise<readonly ReadEvent[]>
  leave(): void
}

/** Opens a stream. An answer that is none has its status and no events. */
export async function openStream(url: string, headers: http.OutgoingHttpHeaders = {}): Promise<EventStream> {
  const request = http.request(url, { headers, agent: false })
  const events: ReadEvent[] = []
  const comments: string[] = []
  const changed = new Signal()
  let raw = ''
  let closed = false
  request.on('error', () => {})
  request.end()
  const [response] = (await within(once(request, 'response'), () => 'the stream did not open')) as [
    http.IncomingMessage,
  ]
  const parser = createParser({
    onEvent: ({ id = '', event = '', data }) => {
      events.push({ id, event, data: JSON.parse(data) } as ReadEvent)
    },
    onComment: (comment) => comments.push(comment),
  })
  response.on('error', () => {})
  response.setEncoding('utf8').on('data', (text: string) => {
    raw += text
    parser.feed(text)
    changed.emit()
  })
  response.on('close', () => {
    closed = true
    changed.emit()
  })
  const sofar = () => events.map(({ event }) => event).join(' ')
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    events,
    comments,
    raw: () => raw,
    async event<N extends StreamEventName>(name: N, fits: (data: Data<N>) => boolean = () => true) {
      const find = () => events.find((one) => one.event === name && fits(one.data as Data<N>))
      await within(
        changed.until(() => closed || find() !== undefined),
        () => `no event ${name}; there were: ${sofar()}`,
      )
      const found = find()
      if (found === undefined) throw new Error(`the stream closed without an event ${name}; there were: ${sofar()}`)
      return found.data as Data<N>
    },
    async ended() {
      await within(
        changed.until(() => closed),
        () => `the stream goes on; there were: ${sofar()}`,
      )
      return events
    },
    leave: () => request.destroy(),
  }
}

/**
 * What a reader has on its screen after these events: one text a step, kept by the rule of SPEC §9. Throws where an offset
 * does not fit, because then something was lost.
 */
export function screenOf(events: readonly StreamEvent[]): Map<number, string> {
  const texts = new Map<number, string>()
  for (const { event, data } of events) {
    if (event === 'step' && !texts.has(data.step)) texts.set(data.step, '')
    else if (event === 'reset') texts.set(data.step, '')
    else if (event === 'resync') texts.set(data.step, data.text)
    else if (event === 'delta') {
      const before = texts.get(data.step) ?? ''
      if (data.offset > before.length) throw new Error(`a gap: ${before.length} units shown, offset ${data.offset}`)
      texts.set(data.step, before.slice(0, data.offset) + data.text)
    }
  }
  return texts
}

/** The events that are no text: these must be the same, once and in order, for every reader. */
export function landmarks(events: readonly StreamEvent[]): readonly Pick<StreamEvent, 'event' | 'data'>[] {
  return events
    .filter(({ event }) => event !== 'delta' && event !== 'reasoning' && event !== 'resync')
    .map(({ event, data }) => ({ event, data }))
}
