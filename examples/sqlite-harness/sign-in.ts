/**
 * Who is asking. A real shop's sign-in takes the place of this file: here whoever opens the page is signed in as the example's
 * customer. What it hands on is the same in both: one customer's id for a request, from a cookie that no script can read, that
 * no other site can send along, and that nobody can make up.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

export type SignIn = ReturnType<typeof createSignIn>

export function createSignIn(secret: string) {
  const signed = (customer: string) =>
    `${customer}.${createHmac('sha256', secret).update(`cookie ${customer}`).digest('base64url')}`
  // Cookies do not know ports: two chats on one machine must not overwrite each other's.
  const nameFor = (host: string) => `chat_${host.split(':')[1] ?? ''}`
  return {
    /** The value of a `set-cookie` header. Behind TLS it says `Secure` too, and its name begins with `__Host-`. */
    cookieFor: (customer: string, host: string) =>
      `${nameFor(host)}=${signed(customer)}; Path=/; HttpOnly; SameSite=Strict`,
    /** null: nobody is signed in, or the cookie is not of ours. */
    customerOf({ cookie = '', host = '' }: IncomingHttpHeaders): string | null {
      const start = `${nameFor(host)}=`
      const shown =
        cookie
          .split('; ')
          .find((each) => each.startsWith(start))
          ?.slice(start.length) ?? ''
      const [customer = ''] = shown.split('.')
      return same(shown, signed(customer)) ? customer : null
    },
  }
}

/** In constant time, whatever is shown. */
export function same(shown: string, wanted: string): boolean {
  const [left, right] = [Buffer.from(shown), Buffer.from(wanted)]
  return left.length === right.length && timingSafeEqual(left, right)
}
