/**
 * Wrong inputs by the hundred thousand: answers of providers through every dialect, requests to every endpoint, answers of
 * tools through whole calls. Ends with 1 at the first that is not borne, with its seed and the smallest form found.
 *
 *     npm run fuzz                                    # a million inputs, from a seed that is printed
 *     FUZZ_SEED=56 FUZZ_COUNT=1 npm run fuzz answers  # one again; also requests, tools
 */
import { answers } from './answers.ts'
import { openTarget } from './endpoints.ts'
import { hunt, type Hunt } from './hunt.ts'
import { seedFrom } from './random.ts'
import { toolAnswers } from './tool-answers.ts'

type Kind = 'answers' | 'requests' | 'tools'

/** How much of all inputs each kind gets: the cheap ones more. */
const SHARES: Readonly<Record<Kind, number>> = { answers: 0.8, tools: 0.12, requests: 0.08 }

const HUNTS: Readonly<Record<Kind, (hunt: Hunt) => Promise<void>>> = {
  answers: (of) => hunt(answers, of),
  tools: (of) => hunt(toolAnswers, { ...of, beside: 100 }),
  requests: async (of) => {
    const target = await openTarget()
    try {
      await hunt(target.quarry, { ...of, beside: 8 })
      await target.finish()
    } finally {
      await target.close()
    }
  },
}

/**
 * Rejects with what was not borne.
 * @param total of all kinds together, or of the one
 */
export async function fuzz(
  { seed, total, only }: { readonly seed: number; readonly total: number; readonly only: Kind | null },
  tell: (line: string) => void,
): Promise<void> {
  for (const kind of Object.keys(SHARES) as Kind[]) {
    if (only !== null && kind !== only) continue
    const count = only === null ? Math.ceil(total * SHARES[kind]) : total
    const from = process.cpuUsage()
    await HUNTS[kind]({ seed, count })
    const { system, user } = process.cpuUsage(from)
    tell(`${count} ${kind} borne in ${((system + user) / 1e6).toFixed(1)} s of CPU (FUZZ_SEED=${seed})`)
  }
}

if (import.meta.main) {
  const total = Number(process.env['FUZZ_COUNT'] ?? 1_000_000)
  const [, , word = ''] = process.argv
  const only = Object.hasOwn(SHARES, word) ? (word as Kind) : null
  await fuzz({ seed: seedFrom('FUZZ_SEED'), total, only }, (line) => console.log(line))
}
