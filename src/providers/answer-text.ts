/**
 * The text of one answer on its way to the sink, told from the reasoning that some servers write into it between tags. Both
 * methods give how many UTF-16 units were new.
 */
import type { Sink } from './dialect.ts'
import { type Split, type ThinkTags } from './think-tags.ts'
import { TextGather } from './text-gather.ts'

export class AnswerText {
  readonly #gather = new TextGather()
  readonly #sink: Sink
  readonly #tags: ThinkTags | null
  readonly #think: (reasoning: string) => number

  /** @param tags null: every letter is text; @param think takes what stood between tags, gives the units that were new */
  constructor(sink: Sink, tags: ThinkTags | null, think: (reasoning: string) => number) {
    this.#sink = sink
    this.#tags = tags
    this.#think = think
  }

  say(piece: string): number {
    if (piece === '') return 0
    return this.#tags === null ? this.#show(piece) : this.#split(this.#tags.push(piece))
  }

  /** What was held back in case it became a tag. */
  end(): number {
    return this.#tags === null ? 0 : this.#split(this.#tags.end())
  }

  #split({ reasoning, text }: Split): number {
    return this.#think(reasoning) + this.#show(text)
  }

  #show(piece: string): number {
    const shown = this.#gather.push(piece)
    if (shown !== '') this.#sink.text(shown)
    return shown.length
  }

  /** As a part of the answer; null where nothing was said. */
  part(): { readonly type: 'text'; readonly text: string } | null {
    return this.#gather.length === 0 ? null : { type: 'text', text: this.#gather.text() }
  }
}
