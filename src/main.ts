/**
 * The process: settings in, an engine listening, signals obeyed. Only `bin.ts` imports this file. With `replay FILE` it plays one
 * recorded run again instead, and needs no settings.
 *
 * SIGTERM and SIGINT drain: nothing new starts, runs get SHUTDOWN_GRACE_MS, callbacks are flushed. A second signal exits at
 * once. What nobody caught ends the process too, without grace and with exit code 1: its state is unknown, so what is running
 * is ended truthfully as far as that still works, and what is under STATE_DIR is the next start's. SPEC §12.2.
 */

/**
 * Process 1 of a container never hears a signal that it has no handler for, and reading the modules below is most of a start: an
 * engine that is told to go meanwhile would stay until it is killed. Nothing has begun, so nothing is lost.
 */
const goAtOnce = () => process.exit(0)
const isReplay = process.argv[2] === 'replay'
if (!isReplay) {
  process.on('SIGTERM', goAtOnce)
  process.on('SIGINT', goAtOnce)
}

/**
 * libuv's threads, half of which may look up host names: as many as `egress/shared-lookup.ts` counts on. It reads this when the
 * first one is needed, and reading a module may need one.
 */
process.env['UV_THREADPOOL_SIZE'] ??= '16'

const { pino } = await import('pino')
const { replayCommand } = await import('./cassette/replay-command.ts')
const { createEngine, StartFault } = await import('./compose.ts')
const { denyGlobalFetch } = await import('./egress/open.ts')
const { createLogOutput } = await import('./journal/log-output.ts')
const { readSettings } = await import('./settings.ts')

if (isReplay) process.exit(await replayCommand(process.argv.slice(3)))

const outcome = readSettings(process.env)
if (!outcome.ok) {
  for (const fault of outcome.faults) process.stderr.write(`theloop: ${fault}\n`)
  process.stderr.write('theloop: not started; SPEC.md §12.1 lists every setting\n')
  process.exit(78)
}

const { settings } = outcome
const output = createLogOutput(process.stdout)
const logger = pino({ level: settings.logLevel, base: null }, output)
denyGlobalFetch()
const engine = createEngine(settings, logger)

/** An end after a fault may not take longer: whatever is in its way then is part of what is broken. */
const LAST_RESORT_MS = 15_000

/** A reader of the log lines that is behind gets this long at the end. */
const LAST_LINES_MS = 1000

let stopping = false
let exitCode = 0

async function end(how: { readonly graceMs?: number }): Promise<void> {
  // A close that fails leaves nothing to be done.
  await engine.close(how).catch(() => (exitCode = 1))
  logger.info('stopped')
  await output.flush(LAST_LINES_MS)
  process.exit(exitCode)
}

function stop(signal: NodeJS.Signals): void {
  if (stopping) process.exit(1)
  stopping = true
  logger.info({ signal }, 'draining')
  void end({})
}
process.on('SIGTERM', stop)
process.on('SIGINT', stop)
process.off('SIGTERM', goAtOnce)
process.off('SIGINT', goAtOnce)

function crash(error: unknown, kind: string): void {
  try {
    engine.noteCrash(error, kind)
  } catch {
    // What is broken may be the journal. Thrown from here the process would end at once.
  }
  if (exitCode !== 0) return
  exitCode = 1
  stopping = true
  setTimeout(() => process.exit(1), LAST_RESORT_MS)
  void end({ graceMs: 0 })
}
process.on('uncaughtException', crash)
process.on('unhandledRejection', (reason) => crash(reason, 'unhandledRejection'))

try {
  logger.info({ address: await engine.listen() }, 'listening')
} catch (error) {
  if (error instanceof StartFault) {
    process.stderr.write(`theloop: ${error.message}\n`)
    process.exit(1)
  }
  const why = error instanceof Error && 'code' in error ? String(error.code) : String(error)
  process.stderr.write(`theloop: cannot listen on HOST ${settings.host}, PORT ${settings.port}: ${why}\n`)
  process.exit(1)
}
