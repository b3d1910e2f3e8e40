/**
 * Two self-signed certificates for servers on 127.0.0.1, made for these tests and trusted by nothing else. They are valid
 * from 2020 to 2120; the keys protect nothing.
 */
import type { TestContext } from 'node:test'
import tls from 'node:tls'

/** For localhost, api.provider.example, tools.example and 127.0.0.1. */
export const namedCertificate = {
  cert: `-----BEGIN CERTIFICATE-----
MIIBnjCCAUSgAwIBAgIBATAKBggqhkjOPQQDAjAdMRswGQYDVQQDDBJ0aGVsb29w
IHRlc3QgbmFtZWQwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMB0x
GzAZBgNVBAMMEnRoZWxvb3AgdGVzdCBuYW1lZDBZMBMGByqGSM49AgEGCCqGSM49
AwEHA0IABOi5X/uZf2nwxw3NU07Go1QmoOVFpmLqfSXfsKVqLZuZ4ZaMw4q5cu5d
EibA8p1K8duUdnWLgy0Omwxfh69tbpCjczBxMD8GA1UdEQQ4MDaCCWxvY2FsaG9z
dIIUYXBpLnByb3ZpZGVyLmV4YW1wbGWCDXRvb2xzLmV4YW1wbGWHBH8AAAEwDwYD
VR0TAQH/BAUwAwEB/zAdBgNVHQ4EFgQUAQFzmp0x171+7cZb5SmFEQNt3zswCgYI
KoZIzj0EAwIDSAAwRQIgWQ7JWcKRELkVVxl2km06bO9LKThy96SUMEsawBuy97oC
IQCt403ggDRxuCClj/PQKwrQIm+sIKf6Uf4WabxM31fZpg==
-----END CERTIFICATE-----`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg28HStl5MgBmjN9eW
jWKJXADnx9XkQqR2zs8Wij1ztVmhRANCAATouV/7mX9p8McNzVNOxqNUJqDlRaZi
6n0l37Clai2bmeGWjMOKuXLuXRImwPKdSvHblHZ1i4MtDpsMX4evbW6Q
-----END PRIVATE KEY-----`,
}

/** For other.example only. */
export const otherCertificate = {
  cert: `-----BEGIN CERTIFICATE-----
MIIBdjCCAR2gAwIBAgIBAjAKBggqhkjOPQQDAjAdMRswGQYDVQQDDBJ0aGVsb29w
IHRlc3Qgb3RoZXIwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMB0x
GzAZBgNVBAMMEnRoZWxvb3AgdGVzdCBvdGhlcjBZMBMGByqGSM49AgEGCCqGSM49
AwEHA0IABFM2e/ts34DAXUA3RpYh0orzqT/BtLLH3txeEn3B4obnQcPakMSrT/0z
EkfY0ikdvkI1NlmnbpX+uqtVHrHwxLejTDBKMBgGA1UdEQQRMA+CDW90aGVyLmV4
YW1wbGUwDwYDVR0TAQH/BAUwAwEB/zAdBgNVHQ4EFgQU0bFLyJNRziljCQGqg70a
32yWdK8wCgYIKoZIzj0EAwIDRwAwRAIgUqaRhk6t7YLuC5dieiF95gpuQnhgcOtj
9FB/XwsnDxUCIDgU1zerEyMmOnoUgKllLVk7oF26eLvK5s9Qf6YroYAV
-----END CERTIFICATE-----`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgdZoJN4yjvFSi6+9L
WleCXGJBuoLz10rTWWeSKK7AMoyhRANCAARTNnv7bN+AwF1AN0aWIdKK86k/wbSy
x97cXhJ9weKG50HD2pDEq0/9MxJH2NIpHb5CNTZZp26V/rqrVR6x8MS3
-----END PRIVATE KEY-----`,
}

/** Trusts both certificates until the test ends. */
export function trustTestCertificates(t: TestContext): void {
  const before = tls.getCACertificates('default')
  tls.setDefaultCACertificates([...before, namedCertificate.cert, otherCertificate.cert])
  t.after(() => tls.setDefaultCACertificates(before))
}
