/**
 * PS-29: one very large event in tiny pieces. It takes time in proportion to its size, has a cap, and holds up nobody else.
 *
 * One vendor of each dialect: what reads the bytes is the same for all of them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtVendors } from '../fakes/vendors/built.ts'
import { Conversation } from '../fakes/vendors/conversation.ts'
import { vendorOfEachDialect } from '../fakes/vendors/every-vendor.ts'
import { goesOn } from '../fakes/vendors/next-run.ts'
import type { Play } from '../fakes/vendors/turn.ts'
import type { VendorAnswer } from '../fakes/vendors/vendor-answer.ts'
import { sharedWorld } from '../fakes/vendors/vendor-world.ts'
import { cpuMs } from '../cpu-time.ts'

const world = sharedWorld()

const MIB = 1024 * 1024

/** An answer whose events go out in writes of 1 KiB. */
const inPieces =
  (write: (answer: VendorAnswer) => void): Play =>
  async (answer) => {
    await answer.sliced(1024, () => write(answer))
    answer.finish()
  }

for (const { provider } of vendorOfEachDialect) {
  test(`${provider}: a text of 8 MiB in one event and 1 KiB writes arrives whole, in linear time`, async () => {
    const timed = async (length: number) => {
      const conversation = new Conversation(await world.open())
      conversation.user('Tell me everything.')
      const words = 'ü🙂ab'.repeat(length / 8)
      const from = cpuMs()
      const { faults, result } = await conversation.run(provider, [inPieces((answer) => answer.text(words))])
      assert.deepEqual(faults, [])
      assert.deepEqual([result.status, result.text === words], ['completed', true])
      return cpuMs() - from
    }
    const small = await timed(MIB / 2)
    const [large] = await Promise.all([timed(8 * MIB), shortRun()])
    // In proportion it is 16 times as long; what looks again at all that has come, at every write, takes 256 times as long.
    assert.ok(large < 48 * small + 2000, `${Math.round(small)} ms for 512 KiB, ${Math.round(large)} ms for 8 MiB`)

    async function shortRun(): Promise<void> {
      const conversation = new Conversation(await world.open())
      conversation.user('Where is order 77?')
      await goesOn(conversation, provider)
    }
  })

  test(`${provider}: arguments of 8 MiB are refused, told to the model, and poison nothing`, async () => {
    const conversation = new Conversation(await world.open())
    conversation.user('Where is order 77?')
    const args = JSON.stringify({ id: 'x'.repeat(8 * MIB) })
    const huge: Play = async (answer) => {
      await answer.sliced(64 * 1024, () => void answer.call('find_order', args))
      answer.finish()
    }
    const { faults, received, result } = await conversation.run(provider, [huge, { text: 'Less, then.' }])
    assert.deepEqual(faults, [])
    assert.deepEqual([result.status, result.text], ['completed', 'Less, then.'])
    assert.deepEqual(
      result.tool_calls.map(({ attempts, status }) => [status, attempts]),
      [['invalid', 0]],
    )
    assert.ok((received[1]?.text.length ?? 0) < MIB, 'what was too large does not go back')
    await goesOn(conversation, provider)
  })

  test(`${provider}: an event without an end is given up at the cap, and the next attempt answers`, async () => {
    const conversation = new Conversation(await world.open())
    conversation.user('Tell me everything.')
    const endless: Play = async (answer) => {
      answer.text('It is ')
      const line = `data: ${'x'.repeat(64 * 1024)}`
      await answer.sliced(64 * 1024, () => answer.raw(line.repeat(1024)))
      answer.finish()
    }
    const { faults, received, result } = await conversation.run(provider, [endless, { text: 'It is shipped.' }])
    assert.deepEqual(faults, [])
    assert.deepEqual([result.status, result.text], ['completed', 'It is shipped.'])
    assert.deepEqual(
      result.usage.attempts.map(({ error_code: code }) => code),
      ['malformed', null],
    )
    assert.equal(await received[0]?.closed, 'cut', 'the rest is not read')
    await goesOn(conversation, provider)
  })
}

test('the engine and the fake vendors end with nothing under way', async () => {
  const { live } = await world.open()
  for (const { provider } of builtVendors) await live(provider)?.quiet()
  await world.close()
})
