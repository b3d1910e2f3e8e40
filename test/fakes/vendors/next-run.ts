/** The proof that whatever a run left behind is a history: a next run on it, with a step of tools, goes through. */
import { randomUUID } from 'node:crypto'
import type { ProviderName } from '../../../src/contract/run-request.ts'
import type { Conversation, RunFacts } from './conversation.ts'
import { assertSound } from './sound-run.ts'

/** @param facts such as a model, or the key of the run before, which must be free again */
export async function goesOn(conversation: Conversation, provider: ProviderName, facts: RunFacts = {}): Promise<void> {
  conversation.user('And now?')
  // A vendor knows its own answers by their words: no other may say the same.
  const text = `On it goes (${randomUUID()}).`
  const calls = [{ tool: 'find_client', args: { name: 'Ann' } }]
  const turns = [{ thinking: 'What was that?', calls }, { text }]
  const ran = await conversation.run(provider, turns, facts)
  // What was thought behind an ephemeral note, or with a repair, may be of no more use.
  assertSound(ran, { provider, turns, dropped: null })
}
