/**
 * Which repair a fault still offers: one that leaves the request as it is would only repeat what was refused. Pure.
 */
import type { AttemptFault } from './attempt-fault.ts'
import type { Repair } from './dialect.ts'

export interface Offer {
  readonly fault: AttemptFault
  /** Repairs that change nothing more. */
  readonly spent: ReadonlySet<Repair>
}

/**
 * @param done those that the request was made with
 * @param bodyWith the request's body as these would make it
 */
export function offeredRepair(
  fault: AttemptFault,
  done: ReadonlySet<Repair>,
  bodyWith: (repairs: ReadonlySet<Repair>) => string,
): Offer {
  const spentBy = (repair: Repair | null): ReadonlySet<Repair> => {
    if (repair === null || repair === 'new_token' || done.has(repair)) return done
    const mended = new Set([...done, repair])
    return bodyWith(mended) === bodyWith(done) ? mended : done
  }
  // An image that is refused though the model was sent its bytes is left out, as one that could not be fetched.
  const isFetched = fault.repair === 'no_urls' && spentBy('no_urls').has('no_urls')
  const offered: AttemptFault = isFetched ? { ...fault, repair: 'no_fetched' } : fault
  return { fault: offered, spent: spentBy(offered.repair) }
}
