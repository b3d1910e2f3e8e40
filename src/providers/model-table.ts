/**
 * Which rules hold for a model: a vendor's models in groups, and one set of rules for every id that is in none of them.
 *
 * A new model is one pattern in its vendor's table. The rules for all others are the strictest of the newest generation: an
 * older model does with less, while a newer one refuses what it does not know.
 */

export interface ModelTable<Rules> {
  /** The first group with a pattern that fits holds. A pattern is an id, or the beginning of ids with `*` at its end. */
  readonly groups: readonly { readonly models: readonly string[]; readonly rules: Rules }[]
  readonly others: Rules
}

export function rulesFor<Rules>({ groups, others }: ModelTable<Rules>, model: string): Rules {
  return groups.find(({ models }) => models.some((pattern) => fits(pattern, model)))?.rules ?? others
}

export function patternsOf({ groups }: ModelTable<unknown>): string[] {
  return groups.flatMap(({ models }) => models)
}

function fits(pattern: string, model: string): boolean {
  return pattern.endsWith('*') ? model.startsWith(pattern.slice(0, -1)) : model === pattern
}
