/** The host of an address, as a call names it among its `ownHosts`: with the port where that is not the scheme's. Pure. */
export function ownHost(url: string): string {
  return URL.parse(url)?.host ?? ''
}
