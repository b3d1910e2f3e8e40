/** The egress gate with a counter at it: what was not let out, and what got no answer. It changes nothing about a call. */
import type { Egress } from '../egress/egress.ts'
import type { EngineMetrics } from './engine-metrics.ts'

export function countedEgress(egress: Egress, metrics: Pick<EngineMetrics, 'egressRefused' | 'egressFaults'>): Egress {
  return {
    ...egress,
    async request(call) {
      const answer = await egress.request(call)
      if (answer.kind === 'refused') metrics.egressRefused.add([call.purpose, answer.refusal.reason])
      // What the engine itself broke off is no fault of the network.
      if (answer.kind === 'fault' && answer.fault.kind !== 'aborted')
        metrics.egressFaults.add([call.purpose, answer.fault.kind])
      return answer
    },
  }
}
