/**
 * TLS of single hosts: a certificate authority of their own, trusted for them and for nobody else, and a client certificate shown
 * to them and to nobody else. Everything else of TLS stays as it is everywhere: names are checked, nothing is switched off.
 *
 * Opens nothing. What is no PEM is found by `pemProblem` before the process starts.
 */
import { X509Certificate } from 'node:crypto'
import tls from 'node:tls'
import { hostFromText, literalAddress } from './host.ts'

export interface HostTls {
  /** `host` or `host:port` (default 443), each exactly one host and port. */
  readonly hosts: readonly string[]
  /** PEM, one certificate or several: trusted beside the default ones. null: only those. */
  readonly ca: string | null
  /** PEM: the client certificate, with its chain, and its key. null: none is shown. */
  readonly identity: { readonly cert: string; readonly key: string } | null
}

/** By `host:port` in canonical form, an address without brackets: as a connector is asked for them. */
export type SecureContexts = ReadonlyMap<string, tls.SecureContext>

/** One context for all the hosts, made once: reading the default authorities takes milliseconds. Throws on what is no PEM. */
export function secureContexts({ hosts, ca, identity }: HostTls): SecureContexts {
  const context = tls.createSecureContext({
    ...(ca === null ? {} : { ca: [...tls.getCACertificates('default'), ca] }),
    ...identity,
  })
  return new Map(
    hosts.flatMap((entry): [string, tls.SecureContext][] => {
      const [, name = '', port = '443'] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(entry) ?? []
      const host = hostFromText(name)
      return host === null ? [] : [[`${literalAddress(host) ?? host}:${port}`, context]]
    }),
  )
}

/** What cannot be used, or null. Quotes nothing: a key is among it. */
export function pemProblem({ ca, identity }: Pick<HostTls, 'ca' | 'identity'>): 'ca' | 'identity' | null {
  if (ca !== null && !holdsCertificates(ca)) return 'ca'
  if (identity === null) return null
  // An empty text counts for Node as none.
  if (!holdsCertificates(identity.cert) || !identity.key.includes('-----BEGIN ')) return 'identity'
  try {
    tls.createSecureContext(identity)
    return null
  } catch {
    return 'identity'
  }
}

/** Node passes over what it cannot read in a list of authorities, and would then trust fewer than it was given. */
function holdsCertificates(pem: string): boolean {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? []
  if (blocks.length === 0 || blocks.length !== pem.split('-----BEGIN ').length - 1) return false
  try {
    return blocks.every((block) => new X509Certificate(block).raw.byteLength > 0)
  } catch {
    return false
  }
}
