/** A request as a fake vendor sees it: whole, with its body parsed. Types only. */
import type { IncomingHttpHeaders } from 'node:http'
import type { WireObject } from '../../../src/providers/wire-value.ts'

export interface Received {
  /** 1 for the first request under its key. */
  readonly number: number
  readonly key: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** The body as it came. */
  readonly text: string
  readonly body: WireObject
  /** `whole`: the answer was written to its end. `cut`: the connection was gone before. */
  readonly closed: Promise<'whole' | 'cut'>
}
