/** The providers of this version: the rows of `profile.ts` with the dialects they name. */
import { anthropic } from './anthropic/dialect.ts'
import type { Dialect } from './dialect.ts'
import { gigachat } from './gigachat/dialect.ts'
import { concurrencyOf, DEFAULT_SCOPE, type Scope } from './gigachat/token-settings.ts'
import { openaiChat } from './openai-chat/dialect.ts'
import { openaiResponses } from './openai-responses/dialect.ts'
import { hasProfile, profileFor } from './profile.ts'
import type { ProviderTable } from './provider-table.ts'

const dialects: Readonly<Partial<Record<Dialect['name'], Dialect>>> = {
  anthropic,
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  gigachat,
}

/** `gigachatScope`: whose key the operator has; it says how many requests one key may have under way. */
export function providerTable(gigachatScope: Scope): ProviderTable {
  const concurrency = concurrencyOf(gigachatScope)
  return {
    profile(target) {
      if (!hasProfile(target)) return null
      const profile = profileFor(target)
      return profile.exchangesKey ? { ...profile, concurrency } : profile
    },
    dialect: (name) => dialects[name] ?? null,
  }
}

/** The table of an engine whose operator has said nothing. */
export const builtIn = providerTable(DEFAULT_SCOPE)
