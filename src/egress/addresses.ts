/**
 * Which IP addresses the engine may connect to. Pure: it resolves nothing and opens nothing.
 *
 * IPv4 is a block list. IPv6 is an allow-list of global unicast (2000::/3) with its special ranges taken out: so ::1, ::,
 * link-local, unique-local, IPv4-mapped (::ffff:0:0/96), IPv4-compatible and both NAT64 prefixes are refused without
 * being named, and so is whatever form somebody invents next. A network that has only NAT64 cannot be served this way.
 */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** IANA special-purpose registry, IPv4, and one address that clouds use from inside ordinary space. */
const CLOSED_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // Azure's host agent: looks public, answers every virtual machine with its secrets.
  '168.63.129.16/32',
].map((range) => ipaddr.IPv4.parseCIDR(range))

const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3')

/** Inside 2000::/3: protocol assignments with Teredo and ORCHID, documentation, 6to4, documentation again. */
const CLOSED_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'].map((range) =>
  ipaddr.IPv6.parseCIDR(range),
)

/** True for an address of the public internet. `address` is bare text, no brackets; anything else is not public. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4: {
      const parsed = ipaddr.IPv4.parse(address)
      return !CLOSED_IPV4.some((range) => parsed.match(range))
    }
    case 6: {
      // A zone (`fe80::1%eth0`) names an interface of this machine.
      if (address.includes('%')) return false
      const parsed = ipaddr.IPv6.parse(address)
      return parsed.match(GLOBAL_IPV6) && !CLOSED_IPV6.some((range) => parsed.match(range))
    }
    default:
      return false
  }
}

/** True for 127.0.0.0/8 and ::1, in no other form: an IPv4-mapped loopback address is not let through either. */
export function isLoopbackAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return address.startsWith('127.')
    case 6:
      return !address.includes('%') && ipaddr.IPv6.parse(address).toString() === '::1'
    default:
      return false
  }
}
