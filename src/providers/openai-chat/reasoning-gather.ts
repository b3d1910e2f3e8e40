/**
 * The reasoning of one answer, from whichever place its server puts it. The first place that brings any is the one for the
 * whole answer: some servers say the same in two places, and it is shown once.
 */
import type { JsonObject } from '../../contract/json.ts'
import type { ReasoningPart } from '../../contract/message.ts'
import type { Sink } from '../dialect.ts'
import { TextGather } from '../text-gather.ts'
import { text, type WireObject } from '../wire-value.ts'
import { ReasoningDetails } from './reasoning-details.ts'
import { fieldWithReasoning, type ReasoningPlace } from './reasoning-fields.ts'

export class ReasoningGather {
  readonly #sink: Sink
  readonly #repeatsDetails: boolean
  readonly #gather = new TextGather()
  #details: ReasoningDetails | null = null
  #place: ReasoningPlace | null = null

  /** @param repeatsDetails see `ChatRules` */
  constructor(sink: Sink, repeatsDetails: boolean) {
    this.#sink = sink
    this.#repeatsDetails = repeatsDetails
  }

  /** Takes what the fields of a delta hold; gives the UTF-16 units that were new. */
  fromFields(delta: WireObject): number {
    const details = delta['reasoning_details']
    let words = ''
    if (Array.isArray(details) && details.length > 0) {
      this.#details ??= new ReasoningDetails(this.#repeatsDetails)
      words = this.#details.push(details)
    }
    const field = fieldWithReasoning(delta)
    return field === null ? this.push(words, 'reasoning_details') : this.push(text(delta[field]), field)
  }

  /** Takes a piece from one place; gives the UTF-16 units that were new. */
  push(piece: string, place: ReasoningPlace): number {
    if (piece === '') return 0
    this.#place ??= place
    if (place !== this.#place) return 0
    const shown = this.#gather.push(piece)
    if (shown !== '') this.#sink.reasoning(shown)
    return shown.length
  }

  /** null where there was none. With an empty text where a server sent encrypted details only: they must go back. */
  part(family: string): ReasoningPart | null {
    const details = this.#details === null || this.#details.size === 0 ? null : this.#details.entries()
    if (this.#gather.length === 0 && details === null) return null
    const provider_data: JsonObject = {
      family,
      field: this.#place ?? 'reasoning_details',
      ...(details === null ? {} : { details }),
    }
    return { type: 'reasoning', text: this.#gather.text(), provider_data }
  }
}
