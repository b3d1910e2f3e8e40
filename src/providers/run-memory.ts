/**
 * What a run has learnt about its models, kept from one step to the next: which repairs each of them needs, what was warned of,
 * what was fetched. It goes with the run.
 */
import type { Warning } from '../contract/result.ts'
import type { Repair } from './dialect.ts'
import type { PartBudget } from './part-budget.ts'
import { RunParts } from './run-parts.ts'

export class RunMemory {
  readonly parts: RunParts
  /** By index of the model. */
  readonly #repairs = new Map<number, Set<Repair>>()
  readonly #warned = new Set<string>()

  constructor(budget: PartBudget) {
    this.parts = new RunParts(budget)
  }

  /** The working set itself. */
  repairsOf(index: number): Set<Repair> {
    const known = this.#repairs.get(index)
    if (known !== undefined) return known
    const made = new Set<Repair>()
    this.#repairs.set(index, made)
    return made
  }

  /** Those of this model that were not told before. */
  newWarnings(warnings: readonly Warning[], index: number): readonly Warning[] {
    return warnings.filter(({ code, path, message }) => {
      const name = JSON.stringify([index, code, path, message])
      const isNew = !this.#warned.has(name)
      this.#warned.add(name)
      return isNew
    })
  }
}
