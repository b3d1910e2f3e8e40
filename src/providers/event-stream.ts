/**
 * The server-sent events of one answer, and the lines among them that are none of a stream's own. Linear and bounded, and the
 * same wherever the text is cut. It never throws.
 *
 * The parser tells of a line that it does not know only where it is given the whole of it: of one that is cut it keeps nothing.
 * So what does not begin like a line of a stream is held back here until it ends. Everything else is the parser's own to hold.
 */
import { createParser, type EventSourceParser } from 'eventsource-parser'
import { type ForeignLine, foreignLine, LONGEST_FOREIGN_LINE } from './foreign-line.ts'

export interface StreamEvents {
  /** `name`: what `event:` says; `data`: the lines of data, joined. */
  event(name: string | undefined, data: string): void
  foreign(line: ForeignLine): void
  /** One event is longer than is read. It is the last that is told. */
  tooLong(): void
}

/** What a line of a stream can begin with: the field names of the grammar, and a comment. */
export const BEGINNINGS = ['data:', 'event:', 'id:', 'retry:', ':']
const LONGEST_BEGINNING = 6
const LF = 0x0a

export class EventStream {
  readonly #parser: EventSourceParser
  /** The beginning of a line that is none of a stream's own, or not yet one. */
  #held = ''
  /** The text so far ends within a line that the parser holds. */
  #inLine = false
  #isOver = false

  /** @param longest UTF-16 units of one event */
  constructor(longest: number, told: StreamEvents) {
    this.#parser = createParser({
      maxBufferSize: longest,
      onEvent: ({ event, data }) => told.event(event, data),
      onError: ({ line = '', type }) => {
        if (type === 'max-buffer-size-exceeded') {
          this.#isOver = true
          told.tooLong()
        } else if (type === 'unknown-field') {
          const foreign = foreignLine(line)
          if (foreign !== null) told.foreign(foreign)
        }
      },
    })
  }

  /** @param piece not empty */
  feed(piece: string): void {
    if (piece.charCodeAt(piece.length - 1) === LF) return this.#pass(piece, false)
    const behind = piece.lastIndexOf('\n') + 1
    const begin = behind + piece.slice(behind).lastIndexOf('\r') + 1
    if (begin === 0 && this.#inLine) return this.#pass(piece, true)
    if (begin > 0) this.#pass(piece.slice(0, begin), false)
    this.#hold(piece.slice(begin))
  }

  /** The text is over, and so are the line and the event that it ended in. */
  end(): void {
    this.#pass('\n\n', false)
  }

  #pass(piece: string, inLine: boolean): void {
    const text = this.#held === '' ? piece : this.#held + piece
    this.#held = ''
    this.#inLine = inLine
    if (!this.#isOver) this.#parser.feed(text)
  }

  /** A line, or more of one, without its end. Of what is too long to be read no more is kept than shows that. */
  #hold(piece: string): void {
    const isUndecided = this.#held.length < LONGEST_BEGINNING
    if (this.#held.length <= LONGEST_FOREIGN_LINE) this.#held += piece
    if (isUndecided && BEGINNINGS.some((beginning) => this.#held.startsWith(beginning))) this.#pass('', true)
  }
}
