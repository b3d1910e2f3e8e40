/** Which traces are recorded: OTEL_TRACES_SAMPLER and its argument. Pure. */
import { assertNever } from '../contract/assert-never.ts'
import { isSampled, type Sampler } from '../contract/trace-context.ts'

export const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

export type SamplerName = (typeof SAMPLERS)[number]

/** `ratio`: from 0 to 1, what `traceidratio` keeps. */
export function createSampler(name: SamplerName, ratio: number): Sampler {
  switch (name) {
    case 'always_on':
      return () => true
    case 'always_off':
      return () => false
    case 'traceidratio':
      return (traceId) => isWithin(traceId, ratio)
    case 'parentbased_always_on':
      return (_traceId, parent) => parent === null || isSampled(parent)
    case 'parentbased_always_off':
      return (_traceId, parent) => parent !== null && isSampled(parent)
    case 'parentbased_traceidratio':
      return (traceId, parent) => (parent === null ? isWithin(traceId, ratio) : isSampled(parent))
    default:
      return assertNever(name)
  }
}

/** As many bits of the id as a double holds. */
const DIGITS = 13

/**
 * By the last digits of the id, as OpenTelemetry's consistent sampling reads them: what a smaller ratio keeps a larger
 * one does.
 */
function isWithin(traceId: string, ratio: number): boolean {
  return Number.parseInt(traceId.slice(-DIGITS), 16) >= (1 - ratio) * 16 ** DIGITS
}
