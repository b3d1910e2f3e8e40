/**
 * What is recorded of one run: numbered, timed, without secrets, line by line into its file. Cheap and synchronous; once the
 * file takes no more, nothing is kept.
 */
import type { Fault } from '../egress/egress.ts'
import type { Interruption } from '../engine/ports.ts'
import type { CassetteFile } from './cassette-file.ts'
import type { CassetteLine, ReadingsLine, TimedLine } from './format.ts'
import type { Secrets } from './secrets.ts'

type Timeless<L> = L extends TimedLine ? Omit<L, 'at' | 'seq'> : never
type Moment = { readonly at: number; readonly seq: number }

/** Readings are written in such lots. */
const READINGS_A_LINE = 1000
/** Bytes of one answer that are kept back, so that a secret which spans chunks is seen whole. */
const HELD_BYTES = 64 * 1024

export interface TapeOptions {
  readonly file: CassetteFile
  readonly secrets: Secrets
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly now: () => number
}

export class Tape {
  readonly secrets: Secrets
  readonly #options: TapeOptions
  readonly #readings = new Map<string, (number | string)[]>()
  /** How many there have been. */
  readonly #counts = new Map<string, number>()
  readonly #bodies = new Set<TapedBody>()
  #seq = 0
  #exchanges = 0
  #over = false

  constructor(options: TapeOptions) {
    this.#options = options
    this.secrets = options.secrets
  }

  /** The number of a new exchange. */
  nextExchange(): number {
    this.#exchanges += 1
    return this.#exchanges
  }

  /** Something came just now. */
  event(line: Timeless<TimedLine>): void {
    this.line({ ...line, ...this.moment() })
  }

  line(line: CassetteLine): void {
    if (this.#over || !this.#options.file.takes) return
    this.#options.file.append(JSON.stringify(line, this.secrets.plain))
  }

  moment(): Moment {
    this.#seq += 1
    return { at: this.#options.now() - this.#options.startedAt, seq: this.#seq }
  }

  /** Notes what the run was given, and gives it. */
  reading<V extends number | string>(of: string, value: V): V {
    if (this.#over || !this.#options.file.takes) return value
    const values = this.#readings.get(of) ?? []
    values.push(value)
    this.#counts.set(of, (this.#counts.get(of) ?? 0) + 1)
    this.#readings.set(of, values)
    if (values.length >= READINGS_A_LINE) this.#write(of, values)
    return value
  }

  stop(why: Interruption): void {
    this.event({ kind: 'stop', why, readings: Object.fromEntries(this.#counts) })
  }

  body(exchange: number): TapedBody {
    const body = new TapedBody(this, exchange, () => this.#options.file.takes && !this.#over)
    this.#bodies.add(body)
    return body
  }

  forget(body: TapedBody): void {
    this.#bodies.delete(body)
  }

  /** The last line. What comes later is not recorded. */
  end(json: string): void {
    for (const body of this.#bodies) body.flush()
    for (const [of, values] of this.#readings) this.#write(of, values)
    this.line({ kind: 'result', json: this.secrets.text(json) })
    this.#over = true
    this.#bodies.clear()
  }

  #write(of: string, values: readonly (number | string)[]): void {
    this.#readings.delete(of)
    this.line({ kind: 'readings', of, values } satisfies ReadingsLine)
  }
}

interface Held {
  readonly moment: Moment
  readonly bytes: Uint8Array
}

/** The bytes of one answer. */
export class TapedBody {
  readonly #tape: Tape
  readonly #exchange: number
  readonly #takes: () => boolean
  #held: Held[] = []
  #heldBytes = 0

  constructor(tape: Tape, exchange: number, takes: () => boolean) {
    this.#tape = tape
    this.#exchange = exchange
    this.#takes = takes
  }

  chunk(bytes: Uint8Array): void {
    if (!this.#takes()) return
    this.#held.push({ moment: this.#tape.moment(), bytes })
    this.#heldBytes += bytes.length
    if (this.#heldBytes > HELD_BYTES + this.#tape.secrets.longest) this.#let(this.#tape.secrets.longest)
  }

  end(how: 'whole' | 'broken' | 'left', fault: Fault | null): void {
    this.flush()
    this.#tape.event({ kind: 'end', exchange: this.#exchange, how, fault })
    this.#tape.forget(this)
  }

  flush(): void {
    this.#let(0)
  }

  /** Writes all but the last chunks, which hold at least so many bytes. */
  #let(keep: number): void {
    const plain = this.#tape.secrets.chunks(this.#held.map(({ bytes }) => bytes))
    let rest = plain.reduce((sum, { length }) => sum + length, 0)
    const kept: Held[] = []
    for (const [index, { moment }] of this.#held.entries()) {
      const bytes = plain[index] ?? new Uint8Array()
      if (kept.length > 0 || rest - bytes.length < keep) kept.push({ moment, bytes })
      else this.#tape.line({ kind: 'chunk', exchange: this.#exchange, ...moment, ...written(bytes) })
      rest -= bytes.length
    }
    this.#held = kept
    this.#heldBytes = this.#held.reduce((sum, { bytes }) => sum + bytes.length, 0)
  }
}

/** Text where the bytes are whole UTF-8. */
function written(bytes: Uint8Array): { readonly text: string } | { readonly base64: string } {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const text = buffer.toString('utf8')
  return Buffer.from(text, 'utf8').equals(buffer) ? { text } : { base64: buffer.toString('base64') }
}
