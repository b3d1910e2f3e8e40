/**
 * Who is asking. A real shop's sign-in takes the place of this file: here whoever opens the page is signed in as the example's
 * customer. What it hands on is the same in both: one customer's id for a request, from a cookie that no script can read, that
 * no other site can send along, and that nobody can make up.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

export interface SignIn {
  /** The value of a `set-cookie` header. */
  cookieFor(customerId: string, host: string): string
  /** null: nobody is signed in, or the cookie is not of ours. */
  customerOf(headers: IncomingHttpHeaders): string | null
}

export function createSignIn(secret: string): SignIn {
  const mark = (customerId: string) => createHmac('sha256', secret).update(`cookie ${customerId}`).digest('base64url')
  return {
    // Behind TLS it says `Secure` too, and its name begins with `__Host-`.
    cookieFor: (customerId, host) =>
      `${nameFor(host)}=${customerId}.${mark(customerId)}; Path=/; HttpOnly; SameSite=Strict`,
    customerOf({ cookie = '', host = '' }) {
      const start = `${nameFor(host)}=`
      const value = cookie.split('; ').find((each) => each.startsWith(start))
      const [customerId = '', shown = ''] = value?.slice(start.length).split('.') ?? []
      return same(shown, mark(customerId)) ? customerId : null
    },
  }
}

/** Cookies do not know ports: two chats on one machine must not overwrite each other's. */
function nameFor(host: string): string {
  return `chat_${host.split(':')[1] ?? ''}`
}

/** In constant time, whatever is shown. */
export function same(shown: string, wanted: string): boolean {
  const [left, right] = [Buffer.from(shown), Buffer.from(wanted)]
  return left.length === right.length && timingSafeEqual(left, right)
}
