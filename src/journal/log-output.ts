/**
 * Where log lines go: a stream that may have a slow reader, or none any more. A line never waits for it: what the reader has
 * not taken is kept up to a bound, and what is over it is counted and told once there is room. It never throws.
 */
import type { Writable } from 'node:stream'

export interface LogOutput {
  /** One line, with its break. */
  write(line: string): void
  /** Resolves once everything is handed to the system, or after so long: a reader that is stuck holds up no end. */
  flush(ms: number): Promise<void>
}

/** Bytes that wait for a reader. */
const MAX_WAITING_BYTES = 8_388_608

export function createLogOutput(
  stream: Pick<Writable, 'write' | 'writableLength' | 'on'>,
  maxWaitingBytes: number = MAX_WAITING_BYTES,
): LogOutput {
  let lost = 0
  // Nobody reads any more (EPIPE): that is told nowhere, for there is nowhere to tell it.
  stream.on('error', () => {})

  function write(line: string): void {
    if (stream.writableLength > maxWaitingBytes) {
      lost += 1
      return
    }
    if (lost > 0) stream.write(`${JSON.stringify({ level: 40, time: Date.now(), lost, msg: 'log lines were lost' })}\n`)
    lost = 0
    stream.write(line)
  }

  function flush(ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (stream.writableLength === 0) return resolve()
      const timer = setTimeout(resolve, ms)
      // Taken behind all that waits. `drain` would not do: it comes only where much has waited.
      stream.write('', () => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  return { write, flush }
}
