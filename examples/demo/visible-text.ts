/**
 * The text of one step as a reader of the stream must keep it (SPEC §9). Pure, and all a browser needs to be right also after
 * a lost connection, a replay or a second attempt of the model.
 */
import type { StreamEvent } from '../../src/contract/stream-event.ts'

/** The step's text after an event of the stream; events that say nothing of text leave it as it is. */
export function textAfter(text: string, { event, data }: StreamEvent): string {
  if (event === 'delta') return text.slice(0, data.offset) + data.text
  if (event === 'resync') return data.text
  // A new step begins with nothing, and a reset voids what was shown of its step.
  if (event === 'step' || event === 'reset') return ''
  return text
}
