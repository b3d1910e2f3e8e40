/**
 * The body of an HTTP error, as text. The status alone says enough, so whatever has come of the body by the end is used, and no
 * more of it is read than a fault may need. Never rejects.
 */
import type { EgressResponse } from '../egress/egress.ts'

const MAX_ERROR_BYTES = 64 * 1024

export class ErrorBody {
  /** What has come so far. */
  text = ''

  /** Resolves at its end, at the bound, when it breaks, or with the first piece that comes when nobody waits any more. */
  async read(response: EgressResponse, isAwaited: () => boolean): Promise<void> {
    const decoder = new TextDecoder()
    let bytes = 0
    try {
      for await (const chunk of response.body) {
        if (!isAwaited()) return
        this.text += decoder.decode(chunk.subarray(0, MAX_ERROR_BYTES - bytes), { stream: true })
        bytes += chunk.byteLength
        if (bytes >= MAX_ERROR_BYTES) return
      }
    } catch {
      // What came of it is used.
    }
  }
}
