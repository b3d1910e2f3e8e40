/**
 * The egress interface over `node:http` alone, a connection a request: for tests that move the clock. undici keeps a timer
 * module-wide and would go on with a clock that stands still after the test.
 */
import http from 'node:http'
import type { TestContext } from 'node:test'
import type { Egress, EgressAnswer } from '../../src/egress/egress.ts'

export function plainEgress(t: TestContext): Egress {
  const open = new Set<http.ClientRequest>()
  t.after(() => open.forEach((request) => request.destroy()))
  return {
    request: ({ body, headers, method, signal, url }) =>
      new Promise((resolve) => {
        const fault = (kind: 'aborted' | 'reset'): EgressAnswer => ({ kind: 'fault', fault: { kind, message: kind } })
        // It knows no list: whoever is elsewhere is on none.
        if (!url.startsWith('http:')) {
          const host = new URL(url).hostname
          return resolve({ kind: 'refused', refusal: { reason: 'host_not_listed', host } })
        }
        const request = http.request(url, { method, headers: { ...headers }, agent: false })
        open.add(request)
        const onAbort = () => request.destroy()
        signal.addEventListener('abort', onAbort, { once: true })
        request.on('close', () => {
          open.delete(request)
          signal.removeEventListener('abort', onAbort)
        })
        request.on('error', () => resolve(fault(signal.aborted ? 'aborted' : 'reset')))
        request.on('response', (response) => {
          response.on('error', () => {})
          const found = Object.entries(response.headers).map(([name, value]) => [name, String(value)])
          resolve({
            kind: 'response',
            response: {
              status: response.statusCode ?? 0,
              headers: Object.fromEntries(found),
              body: response,
              destroy: () => void request.destroy(),
            },
          })
        })
        request.end(body)
      }),
    judge: () => null,
    close: async () => {},
  }
}
