/** Ways to cut the bytes of an answer into what a socket may give at a time. */

function* single(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 1) yield bytes.subarray(at, at + 1)
}

/** Cuts before every byte that continues a character. */
function* torn(bytes: Uint8Array): Generator<Uint8Array> {
  let from = 0
  for (let at = 1; at < bytes.length; at += 1) {
    if (((bytes[at] ?? 0) & 0xc0) !== 0x80) continue
    yield bytes.subarray(from, at)
    from = at
  }
  yield bytes.subarray(from)
}

/** Chunks of these sizes, over and over. */
export function* sized(bytes: Uint8Array, sizes: readonly number[]): Generator<Uint8Array> {
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1
    yield bytes.subarray(at, at + size)
    at += size
  }
}

export const WAYS: readonly (readonly [way: string, cut: (bytes: Uint8Array) => Iterable<Uint8Array>])[] = [
  ['whole', (bytes) => [bytes]],
  ['byte by byte', single],
  ['with every multi-byte character torn', torn],
]
