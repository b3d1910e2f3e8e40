/** The conversation that the demo plays, in three acts. A scripted model follows it to the word, a real one in its own words. */
import type { RunResult } from '../../src/contract/result.ts'
import { approve, operationOf, question } from './approvals.ts'
import { DemoFailure } from './failure.ts'
import type { Harness } from './harness.ts'
import type { Screen } from './screen.ts'
import { approvedScript, orderScript, refundScript } from './scripts.ts'
import type { Shop } from './shop.ts'

export interface StoryParts {
  readonly harness: Harness
  readonly shop: Shop
  readonly screen: Screen
}

/** A real model may ask back before it asks for the refund. */
const ASKS = 3
/** Runs that go on after approvals, before it is said that this leads nowhere. */
const CONTINUATIONS = 3

export async function play({ harness, shop, screen }: StoryParts): Promise<void> {
  let messages = 0

  async function customer(text: string, script: readonly unknown[]): Promise<RunResult> {
    messages += 1
    const id = `msg_${messages}`
    screen.line('customer', text, 'bold')
    harness.conversation.customerSaid(id, text, new Date())
    return harness.run({ idempotencyKey: id, originRequestId: id, script })
  }

  screen.title('1  A question: the model looks an order up (and is told to wait by its provider)')
  await customer('Where is my order 12345?', orderScript)

  screen.title('2  A refund: the tool defers, the run ends and waits for nobody')
  let result = await customer('It arrived, but it is broken. Please refund it in full.', refundScript)
  for (let asked = 1; asked < ASKS && result.status === 'completed'; asked += 1) {
    result = await customer('Yes. Please ask for the full refund now.', refundScript)
  }
  if (result.status !== 'awaiting_tool') {
    throw new DemoFailure(`no refund was asked for; the last run ended ${result.status}`)
  }

  for (let round = 1; result.status === 'awaiting_tool'; round += 1) {
    if (round > CONTINUATIONS) throw new DemoFailure(`still awaiting_tool after ${CONTINUATIONS} approvals`)
    screen.title('3  An approval, outside the engine; then a run goes on without a new user message')
    decide(result)
    result = await harness.run({
      idempotencyKey: `${result.run_id}:approved`,
      originRequestId: result.origin_request_id,
      script: approvedScript,
    })
  }
  if (result.status !== 'completed') throw new DemoFailure(`the last run ended ${result.status}`)
  if (shop.refundsMade() !== 1) throw new DemoFailure(`${shop.refundsMade()} refunds were made instead of one`)

  /** The demo presses the button itself, after showing what a human would see. */
  function decide({ pending, ...asking }: RunResult): void {
    for (const call of pending) {
      const operation = operationOf(call, shop)
      const [head = '', ...lines] = question({ pending, ...asking }, call, operation)
      screen.line('approve?', head, 'bold')
      for (const line of lines) screen.line('', line)
      const answer = approve(call, operation, shop)
      // A double click: the second one finds the refund made and the call answered.
      harness.conversation.answerCall(answer)
      harness.conversation.answerCall(approve(call, operation, shop))
      screen.line('approved', `by the demo itself, twice; carried out once: ${JSON.stringify(answer.result)}`, 'green')
    }
  }
}
