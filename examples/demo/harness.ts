/**
 * Carries one run from its request to its stored result: post, watch the stream, take the callback. What is said in which
 * order is the story's business.
 */
import type { RunResult } from '../../src/contract/result.ts'
import type { CallbackReceiver } from './callback-receiver.ts'
import type { Conversation } from './conversation.ts'
import type { EngineClient } from './engine-client.ts'
import { readEvents } from './event-reader.ts'
import { DemoFailure } from './failure.ts'
import { createLiveView } from './live-view.ts'
import { RUN_TIMEOUT_MS, type RunFacts, runRequest, type RunSetting } from './run-request.ts'
import type { Screen } from './screen.ts'
import { usageTable } from './usage-table.ts'

export interface Harness {
  readonly conversation: Conversation
  /** The stored result of a run over the whole history. Throws a DemoFailure if the run failed. */
  run(facts: Omit<RunFacts, 'messages'>): Promise<RunResult>
}

export interface HarnessParts {
  readonly conversation: Conversation
  readonly engine: EngineClient
  readonly receiver: CallbackReceiver
  readonly setting: RunSetting
  readonly screen: Screen
}

/** The engine gives a result within the run's time; the rest is for tries of the callback. */
const CALLBACK_WITHIN_MS = 60_000

export function createHarness({ conversation, engine, receiver, setting, screen }: HarnessParts): Harness {
  return {
    conversation,
    async run(facts) {
      const messages = conversation.history()
      const { run_id, stream_url } = await engine.startRun(runRequest({ ...facts, messages }, setting))
      screen.line('run', `${run_id}, ${messages.length} message${messages.length === 1 ? '' : 's'} of history`, 'dim')

      const show = createLiveView(screen)
      // A browser would do this with `stream_url`, which opens this one run's stream and nothing else.
      const signal = AbortSignal.timeout(RUN_TIMEOUT_MS + 5000)
      for await (const event of readEvents(stream_url, { signal })) show(event)

      const { result, webhookId, stored } = await receiver.delivered(run_id, CALLBACK_WITHIN_MS)
      if (webhookId !== result.run_id) throw new DemoFailure('the callback is signed for another run')
      screen.line('callback', `signature verified (webhook-id ${webhookId})`, 'green')
      screen.line('', `${stored} new message${stored === 1 ? '' : 's'} stored, answered 200; status ${result.status}`)
      for (const line of usageTable(result.usage)) screen.line('', line, 'dim')
      if (result.error !== null) throw new DemoFailure(`the run failed, ${result.error.code}: ${result.error.message}`)
      return result
    },
  }
}
