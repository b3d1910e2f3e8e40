/** How much of what was fetched all runs of this process hold together, or are about to. It counts; who takes gives back. */

export interface PartBudget {
  /** False: it would be too much, and nothing was taken. */
  take(bytes: number): boolean
  give(bytes: number): void
}

/** Of what all runs of a process hold, in base64. SPEC §10. */
export const MAX_HELD_BYTES = 256 * 1024 * 1024

export function createPartBudget(most = MAX_HELD_BYTES): PartBudget {
  let held = 0
  return {
    take(bytes) {
      if (held + bytes > most) return false
      held += bytes
      return true
    },
    give: (bytes) => void (held -= bytes),
  }
}
