/**
 * From the bytes of a 2xx answer to the reader of its dialect: UTF-8, then server-sent events, or one JSON document where a
 * server answers with that. It opens nothing, waits for nothing and never throws; what cannot be read is `fault`.
 *
 * The content type is a hint only. A body that begins with `{` or `[` is one JSON document whatever it is called, and where it is
 * none, the stream that it is called; without `text/event-stream` it is a stream only if it begins with a field of one.
 * Everything is bounded: one event, one document, the whole answer. Time is linear in the bytes, however small their pieces.
 */
import { parseJson } from '../contract/json.ts'
import { contentEncodings } from '../egress/content-encodings.ts'
import type { Reader } from './dialect.ts'
import { isEndMark } from './end-mark.ts'
import { BEGINNINGS, EventStream } from './event-stream.ts'
import type { ForeignLine } from './foreign-line.ts'

export interface AnswerHead {
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
}

/** One event, or one JSON document, in characters. */
const MAX_EVENT_LENGTH = 16 * 1024 * 1024
/** The whole answer on the wire: a chunk of 300 bytes a token leaves room for 800,000 tokens. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024

/**
 * What the model said in it, in UTF-16 units: it is kept, shown and sent back whole, so it costs many times what it weighs
 * on the wire. No model says a tenth of this at once.
 */
const MAX_OUTPUT_LENGTH = 16 * 1024 * 1024

const STREAMING = { stream: true } as const

export class AnswerFeed {
  /** What makes this answer unreadable: names status and content type, quotes nothing of the body. */
  fault: string | null = null

  readonly #reader: Reader
  readonly #head: AnswerHead
  readonly #isCompressed: boolean
  readonly #decoder = new TextDecoder()
  readonly #stream: EventStream
  #mode: 'unsure' | 'events' | 'document' = 'unsure'
  /** What came while unsure, without the white space before it. */
  #beginning = ''
  readonly #document: string[] = []
  #documentLength = 0
  #bytes = 0
  /** The stream has ended; an event now is one that its sender did not close. */
  #ended = false

  constructor(reader: Reader, head: AnswerHead) {
    this.#reader = reader
    this.#head = head
    this.#isCompressed = contentEncodings(head.headers).length > 0
    this.#stream = new EventStream(MAX_EVENT_LENGTH, {
      event: (name, data) => this.#event(name, data),
      foreign: (line) => this.#foreign(line),
      tooLong: () => (this.fault ??= `one event is larger than ${MAX_EVENT_LENGTH} characters`),
    })
  }

  #event(name: string | undefined, data: string): void {
    if (this.fault !== null || this.#reader.progress === 'closed') return
    if (!this.#ended || isWhole(data)) this.#reader.event(name, data)
  }

  /** Behind a finish reason nothing but usage is missing: what cannot be read there makes no half answer of a whole one. */
  #foreign(line: ForeignLine): void {
    if (this.fault !== null || this.#reader.progress === 'closed') return
    if (line.kind === 'data') this.#reader.event(line.event, line.data)
    else if (this.#reader.progress === 'open' && !this.#ended) this.fault = 'one line of the stream is no part of one'
  }

  bytes(chunk: Uint8Array): void {
    this.#bytes += chunk.byteLength
    if (this.#bytes > MAX_ANSWER_BYTES) this.fault ??= `the answer is larger than ${MAX_ANSWER_BYTES} bytes`
    if (this.#isCompressed) this.fault ??= `${this.#named()} is compressed, which was not asked for`
    this.#text(this.#decoder.decode(chunk, STREAMING))
    if (this.#reader.outputLength > MAX_OUTPUT_LENGTH)
      this.fault ??= `the model said more than ${MAX_OUTPUT_LENGTH} characters`
  }

  /**
   * The body is over: `whole` as its sender ended it, else it broke. A last event without its blank line is read if it is
   * whole; so is a document.
   */
  end(whole: boolean): void {
    if (this.fault !== null) return
    this.#text(this.#decoder.decode())
    this.#ended = true
    switch (this.#mode) {
      case 'unsure':
        if (this.#beginning !== '') this.fault = this.#misfit()
        else if (whole) this.fault = `empty stream: ${this.#named()} without a byte of an answer`
        return
      case 'events':
        this.#stream.end()
        return
      case 'document':
        this.#readDocument(whole)
    }
  }

  #text(text: string): void {
    if (text === '' || this.fault !== null) return
    switch (this.#mode) {
      case 'events':
        this.#stream.feed(text)
        return
      case 'document':
        this.#keep(text)
        return
      case 'unsure':
        this.#decide(text)
    }
  }

  /** Reads on until the first few characters tell what this is. White space before them means nothing in any form. */
  #decide(text: string): void {
    this.#beginning = this.#beginning === '' ? text.trimStart() : this.#beginning + text
    const beginning = this.#beginning
    const [first] = beginning
    if (first === undefined) return
    if (first === '{' || first === '[') {
      this.#mode = 'document'
      this.#keep(beginning)
    } else if (this.#saysStream() ? first !== '<' : BEGINNINGS.some((field) => beginning.startsWith(field))) {
      this.#mode = 'events'
      this.#stream.feed(beginning)
    } else if (this.#saysStream() || !BEGINNINGS.some((field) => field.startsWith(beginning))) {
      this.fault = this.#misfit()
    } else {
      return
    }
    this.#beginning = ''
  }

  #keep(text: string): void {
    this.#documentLength += text.length
    if (this.#documentLength > MAX_EVENT_LENGTH) {
      this.#document.length = 0
      this.fault = `the JSON body is larger than ${MAX_EVENT_LENGTH} characters`
      return
    }
    this.#document.push(text)
  }

  #readDocument(whole: boolean): void {
    const text = this.#document.join('')
    const parsed = parseJson(text)
    this.#document.length = 0
    if (parsed.ok) return this.#reader.document(parsed.value)
    // It may be a stream all the same, of which the first line has lost its field.
    if (this.#saysStream()) {
      this.#stream.feed(text)
      this.#stream.end()
    }
    if (whole && this.#reader.progress === 'open')
      this.fault ??= `${this.#named()} and a body that is no whole JSON document: ${parsed.reason}`
  }

  #saysStream(): boolean {
    return /^\s*text\/event-stream\b/i.test(this.#head.headers['content-type'] ?? '')
  }

  #misfit(): string {
    return `${this.#named()} where an event stream was asked for`
  }

  /** The media type only: the rest of the header is the sender's text. */
  #named(): string {
    const [type = 'none'] = /^[\w.+-]{1,60}\/[\w.+-]{1,60}/.exec(this.#head.headers['content-type']?.trim() ?? '') ?? []
    return `HTTP ${this.#head.status} with content type ${type}`
  }
}

/** Data that lost its end parses as nothing, save for the two forms a stream can end in. */
function isWhole(data: string): boolean {
  return isEndMark(data) || parseJson(data).ok
}
