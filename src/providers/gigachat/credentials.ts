/**
 * GigaChat's credentials: an access token for an authorization key, and nothing where a client certificate speaks for the
 * engine. One for the whole process, so that runs share tokens.
 */
import { fingerprint } from '../../contract/canonical.ts'
import { faultOf } from '../attempt-fault.ts'
import type { Authorization, Credentials } from '../credentials.ts'
import { fetchToken, type TokenSource } from './access-token.ts'
import { TokenCache } from './token-cache.ts'

export function gigachatCredentials(source: TokenSource): Credentials {
  const cache = new TokenCache({ now: source.now })

  return async (apiKey, signal): Promise<Authorization> => {
    if (apiKey === null) return { kind: 'granted', headers: {}, refused: () => {} }
    // A hash: the key itself is kept nowhere.
    const name = fingerprint([source.authUrl, source.scope, apiKey])
    const answer = await cache.get(name, (stop) => fetchToken(source, apiKey, stop), signal)
    if (answer === null) return { kind: 'denied', fault: faultOf('network', 'aborted before there was a token') }
    if (!answer.ok) return { kind: 'denied', fault: answer.fault }
    const { value } = answer.token
    return {
      kind: 'granted',
      headers: { authorization: `Bearer ${value}` },
      refused: () => cache.drop(name, value),
    }
  }
}
