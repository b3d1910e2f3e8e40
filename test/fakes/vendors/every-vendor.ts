/** One act with every vendor there is, side by side, so that what each of them waits for is waited for once. */
import { builtVendors } from './built.ts'
import type { Vendor } from './vendor.ts'

/** Rejects with what went wrong, each with the name of its vendor. */
export async function everyVendor(
  act: (vendor: Vendor) => Promise<void>,
  vendors: readonly Vendor[] = builtVendors,
): Promise<void> {
  const faults = await Promise.all(
    vendors.map(async (vendor) => {
      try {
        await act(vendor)
        return null
      } catch (error) {
        const told = error instanceof Error ? (error.stack ?? error.message) : String(error)
        return `${vendor.provider}: ${told}`
      }
    }),
  )
  const failed = faults.filter((fault) => fault !== null)
  if (failed.length > 0) throw new Error(failed.join('\n\n'))
}

/** One vendor of each dialect, for what takes long. */
export const vendorOfEachDialect: readonly Vendor[] = builtVendors.filter(({ provider }) =>
  ['anthropic', 'openai', 'deepseek', 'gigachat'].includes(provider),
)
