/** Ends an exhaustive switch: a new arm of the union does not compile until it is handled. Reaching it is a bug. */
export function assertNever(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`)
}
