/**
 * Which item of a response an event belongs to: the one under its `output_index`. Gateways change ids with every event, or use
 * one id for all, so an id counts only where one of the two events tells no index; and where nothing known is told, the item
 * before is meant.
 */
import { isObject, place, text, type WireObject } from '../wire-value.ts'
import type { OutputItem } from './output-items.ts'

export class ItemIndex {
  readonly #byIndex = new Map<number, OutputItem>()
  readonly #byId = new Map<string, OutputItem>()
  readonly #numbered = new Set<OutputItem>()
  #last: OutputItem | null = null

  /** null: no known item is meant, or `accepts` says that it cannot be. */
  find(event: WireObject, accepts: (item: OutputItem) => boolean): OutputItem | null {
    const item = this.#meant(event)
    if (item === null || !accepts(item)) return null
    this.add(event, item)
    return item
  }

  /** From now on the event's index and id, as far as it tells them, lead to this item. */
  add(event: WireObject, item: OutputItem): void {
    const index = place(event['output_index'])
    const id = idOf(event)
    if (index !== null) {
      this.#byIndex.set(index, item)
      this.#numbered.add(item)
    }
    if (id !== '' && event['item'] !== undefined) this.#byId.set(id, item)
    this.#last = item
  }

  #meant(event: WireObject): OutputItem | null {
    const index = place(event['output_index'])
    const named = this.#byId.get(idOf(event)) ?? null
    if (index === null) return named ?? this.#last
    return this.#byIndex.get(index) ?? (named !== null && !this.#numbered.has(named) ? named : null)
  }
}

function idOf({ item, item_id: id }: WireObject): string {
  return text(id) || (isObject(item) ? text(item['id']) : '')
}
