/**
 * What the operator may say of GigaChat's access tokens: where they are asked for, and whose the authorization key is.
 * Data only.
 */

/** Persons, companies that pay before, companies that pay after. A key is good for its own scope alone. */
export const SCOPES = ['GIGACHAT_API_PERS', 'GIGACHAT_API_B2B', 'GIGACHAT_API_CORP'] as const
export type Scope = (typeof SCOPES)[number]

export const DEFAULT_SCOPE: Scope = 'GIGACHAT_API_PERS'

/** A host and a port of its own, beside that of the API. */
export const DEFAULT_AUTH_URL = 'https://ngw.devices.sberbank.ru:9443/api/v2/oauth'

export interface TokenSettings {
  readonly authUrl: string
  readonly scope: Scope
}

/** Streams that one key may have at once; one more is answered 429. Companies can buy more, which no answer tells. */
export function concurrencyOf(scope: Scope): number {
  return scope === 'GIGACHAT_API_PERS' ? 1 : 10
}
