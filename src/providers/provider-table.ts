/** What the model chain asks of the providers that are built in: the rows of `profile.ts` and the dialects they name. */
import type { Target } from '../contract/run-request.ts'
import type { Dialect } from './dialect.ts'
import type { Profile } from './profile.ts'

export interface ProviderTable {
  /** The row of one model. null: this version has none, for the provider is not built or its `profile` names nothing. */
  profile(target: Target): Profile | null
  /** null: not built in this version. */
  dialect(name: Dialect['name']): Dialect | null
}
