/** Where a recorded stream can be cut, and where it is a whole answer. */
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import type { Api } from './recordings.ts'

/** Whether an event is the one before which the stream is no answer: its end mark, or the finish reason that stands for it. */
export function isEnd(api: Api, { data, event }: EventSourceMessage): boolean {
  switch (api) {
    case 'anthropic-messages':
      return data.includes('"type":"message_stop"')
    case 'openai-responses':
      return /"type":\s*"response\.(?:completed|incomplete|failed)"/.test(data) && data.includes('"output"')
    case 'gigachat-v2':
      return event === 'response.message.done'
    case 'openai-chat':
    case 'gigachat-v1':
      return data.trim() === '[DONE]' || /"finish_reason":\s*"[^"]/.test(data)
  }
}

export interface Block {
  readonly from: number
  readonly to: number
  readonly ends: boolean
}

/** The blocks of a stream, each an event or comments with the blank line after it. */
export function blocksOf(api: Api, bytes: Buffer): Block[] {
  const blocks: Block[] = []
  let ends = false
  const parser = createParser({ onEvent: (event) => void (ends ||= isEnd(api, event)) })
  for (let from = 0; from < bytes.length;) {
    const blank = bytes.indexOf('\n\n', from)
    const to = blank < 0 ? bytes.length : blank + 2
    ends = false
    parser.feed(bytes.toString('utf8', from, to))
    if (to === bytes.length) parser.feed('\n\n')
    blocks.push({ from, to, ends })
    from = to
  }
  return blocks
}

/** At most so many places of a kind in one stream. */
const MOST = 24

/** Places to cut at: borders of events, and bytes inside them, spread over the whole stream. */
export function placesIn(bytes: Buffer, blocks: readonly Block[]): number[] {
  const stride = Math.ceil(blocks.length / MOST)
  const borders = blocks.filter((_, at) => at % stride === 0).map(({ from }) => from)
  const inside = Array.from({ length: MOST }, (_, at) => Math.floor(((at + 0.618) * bytes.length) / MOST))
  const last = blocks.find(({ ends }) => ends)
  const near = last === undefined ? [] : [last.from, last.from + 1, last.to - 3]
  return [...new Set([...borders, ...inside, ...near])]
}
