/**
 * Who judges the body of POST /runs. What that takes (form, history rules, providers, URLs, tickets) is put together
 * outside; the server only carries the body in and the verdict out.
 */
import type { Fault } from '../contract/errors.ts'
import type { Json } from '../contract/json.ts'
import type { TraceContext } from '../contract/trace-context.ts'
import type { Admission } from '../runs/ports.ts'

export type AdmissionAnswer =
  | { readonly kind: 'admitted'; readonly admission: Admission }
  /** Answered as 400. Never empty; at most 50 faults. Any code but `invalid_request` says that this alone is wrong. */
  | {
      readonly kind: 'refused'
      readonly code: 'invalid_request' | 'ticket_mismatch' | 'ticket_expired'
      readonly faults: readonly Fault[]
    }

/** Judges a body without starting anything; `trace`: what its headers say of its caller's trace. Never rejects. */
export type Admit = (body: Json, trace: TraceContext | null) => Promise<AdmissionAnswer>
