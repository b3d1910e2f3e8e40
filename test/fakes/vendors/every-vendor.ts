/** One act in many cases side by side, so that what each of them waits for is waited for once. */
import { builtVendors } from './built.ts'
import type { Vendor } from './vendor.ts'

/** Rejects with everything that went wrong, each with the name of its case. */
export async function everyCase<T>(
  cases: Iterable<readonly [name: string, facts: T]>,
  act: (facts: T, name: string) => Promise<void>,
): Promise<void> {
  const faults = await Promise.all(
    [...cases].map(async ([name, facts]) => {
      try {
        await act(facts, name)
        return null
      } catch (error) {
        return `${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`
      }
    }),
  )
  const failed = faults.filter((fault) => fault !== null)
  if (failed.length > 0) throw new Error(failed.join('\n\n'))
}

export function everyVendor(
  act: (vendor: Vendor) => Promise<void>,
  vendors: readonly Vendor[] = builtVendors,
): Promise<void> {
  return everyCase(
    vendors.map((vendor) => [vendor.provider, vendor] as const),
    act,
  )
}

/** One vendor of each dialect, for what takes long. */
export const vendorOfEachDialect: readonly Vendor[] = builtVendors.filter(({ provider }) =>
  ['anthropic', 'openai', 'deepseek', 'gigachat'].includes(provider),
)
