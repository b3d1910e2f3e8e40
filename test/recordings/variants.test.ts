/** Every recorded answer as another server would send it: what it says stays the same. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readChunks, type Read } from './reading.ts'
import { bytesOf, recordings, skipped } from './recordings.ts'
import { VARIANTS } from './variants.ts'

/** What an answer says, without the form in which it came. */
function said({ fault, reading, shown, thought }: Read): unknown {
  const { complete, parts, provider_data, refusal, responseId, stop, usage } = reading
  return {
    unreadable: fault,
    complete,
    parts: parts.map((part) =>
      part.type === 'tool_call'
        ? [part.tool, part.args, part.fault, part.provider_data?.['id']]
        : [part.type, part.text],
    ),
    fault: reading.fault?.class ?? null,
    shown: shown(),
    thought: thought(),
    phases: provider_data?.['phases'],
    refusal,
    responseId,
    stop,
    usage,
  }
}

const plain = new Map(recordings.map((recording) => [recording.file, bytesOf(recording)] as const))
const told = new Map<string, unknown>()

for (const [variant, vary] of Object.entries(VARIANTS)) {
  test(`a recorded answer says the same with ${variant}`, { skip: skipped }, () => {
    let varied = 0
    for (const recording of recordings) {
      if (recording.kind === 'error') continue
      const bytes = plain.get(recording.file)
      assert.ok(bytes)
      const other = vary(bytes, recording)
      if (other === null) continue
      varied += 1
      if (!told.has(recording.file)) told.set(recording.file, said(readChunks(recording, [bytes])))
      assert.deepEqual(said(readChunks(recording, [other])), told.get(recording.file), recording.file)
    }
    assert.ok(varied > 0)
  })
}
