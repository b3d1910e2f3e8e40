/** What holds for every run whose provider had nothing to say against it. */
import assert from 'node:assert/strict'
import type { ProviderName } from '../../../src/contract/run-request.ts'
import type { Status } from '../../../src/contract/result.ts'
import type { Tokens } from '../../../src/contract/usage.ts'
import { vendors } from './all-vendors.ts'
import type { Ran } from './conversation.ts'
import { oneCallEach, TURN_USAGE, type Turn } from './turn.ts'
import { tokensOf } from './vendor.ts'

export interface SoundFacts {
  readonly provider: ProviderName
  /** What its answers were, all of them whole. */
  readonly turns: readonly Turn[]
  readonly status?: Status
  /** Own reasoning that could not be used; null: whatever it was. Default 0. */
  readonly dropped?: number | null
}

/** One request an answer, nothing refused or objected to, and every token counted once. */
export function assertSound(ran: Ran, { dropped = 0, provider, status = 'completed', turns }: SoundFacts): void {
  const { result } = ran
  assert.deepEqual(ran.faults, [])
  assert.equal(result.status, status, JSON.stringify(result.error))
  const vendor = vendors.find((one) => one.provider === provider)
  const answers = vendor?.oneCall === true ? oneCallEach(turns).length : turns.length
  assert.deepEqual(
    result.usage.attempts.map((attempt) => [attempt.provider, attempt.status, attempt.error_code]),
    Array.from({ length: answers }, () => [provider, 'ok', null]),
  )
  if (dropped !== null) assert.equal(ran.dropped, dropped, 'own reasoning that no longer fits what stands before it')
  const each = tokensOf(TURN_USAGE, vendor?.tells ?? { cacheWrite: true, reasoning: true })
  for (const [count, tokens] of Object.entries(each) as [keyof Tokens, number][]) {
    assert.equal(result.usage[count], answers * tokens, count)
  }
  assert.equal(result.usage.complete, true)
}
