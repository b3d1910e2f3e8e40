/** What of a request's params will be left out or changed, told before a run has begun. Pure. SPEC §3.2, §6.4. */
import type { Warning } from '../contract/result.ts'
import type { Target } from '../contract/run-request.ts'
import type { Repair } from './dialect.ts'
import { hasProfile, profileFor } from './profile.ts'
import { fittingParams, targetPlace } from './wire-params.ts'

const NO_REPAIRS: ReadonlySet<Repair> = new Set()

/**
 * The warnings that the requests to these models will carry, word for word, by the same rules. What only the conversation
 * decides, or the answer of a provider, is told when it turns up. A target without a row has none.
 */
export function paramWarnings(targets: readonly Target[]): Warning[] {
  return targets.flatMap((target, index) => {
    if (!hasProfile(target)) return []
    const facts = { target, profile: profileFor(target), place: targetPlace(index), repairs: NO_REPAIRS }
    return fittingParams(facts).warnings
  })
}
