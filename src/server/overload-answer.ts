/**
 * What is said where the process has too much to do for another run (SPEC §12.2). With no run going one is taken all the same:
 * what is in the way then is not runs, and waiting would not end it.
 */
import type { ErrorFacts } from './error-answer.ts'
import type { ServerOptions } from './server-options.ts'

const WHY = {
  memory: 'this engine is short of memory',
  event_loop: 'this engine has too much to do at once',
} as const

/** null: a run may be taken, as far as memory and time go. */
export async function overloadFacts({ overload, store }: ServerOptions): Promise<ErrorFacts | null> {
  const reason = overload()
  if (reason === null || (await store.counts()).running === 0) return null
  return { code: 'overloaded', message: `${WHY[reason]}: nothing was started. Send the same request again later` }
}
