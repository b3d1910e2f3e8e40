/**
 * Loaded before every test file. In a shared process the runner only notes a leaked rejection, and a warning (listener
 * leak, deprecation) passes silently; here each of them fails the run.
 */
const failures: string[] = []

process.on('unhandledRejection', (reason) => {
  failures.push(`unhandled rejection: ${reason instanceof Error ? (reason.stack ?? reason.message) : String(reason)}`)
})
process.on('uncaughtException', (error) => {
  failures.push(`uncaught exception: ${error.stack ?? error.message}`)
})
process.on('warning', (warning) => {
  if (warning.name === 'ExperimentalWarning') return
  failures.push(`process warning: ${warning.stack ?? warning.message}`)
})
process.on('exit', () => {
  if (failures.length === 0) return
  process.stderr.write(`\n${failures.join('\n\n')}\n`)
  process.exitCode = 1
})
