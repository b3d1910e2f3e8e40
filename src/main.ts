#!/usr/bin/env node
/**
 * The process: settings in, an engine listening, signals obeyed. Nothing imports this file. With `replay FILE` it plays one
 * recorded run again instead, and needs no settings.
 *
 * SIGTERM and SIGINT drain: nothing new starts, runs get SHUTDOWN_GRACE_MS, callbacks are flushed. A second signal exits at
 * once.
 */
import { pino } from 'pino'
import { replayCommand } from './cassette/replay-command.ts'
import { createEngine, StartFault } from './compose.ts'
import { denyGlobalFetch } from './egress/open.ts'
import { readSettings } from './settings.ts'

if (process.argv[2] === 'replay') process.exit(await replayCommand(process.argv.slice(3)))

const outcome = readSettings(process.env)
if (!outcome.ok) {
  for (const fault of outcome.faults) process.stderr.write(`theloop: ${fault}\n`)
  process.stderr.write('theloop: not started; SPEC.md §12.1 lists every setting\n')
  process.exit(78)
}

const { settings } = outcome
// Synchronous, so that the last lines before an exit are written.
const logger = pino({ level: settings.logLevel, base: null }, pino.destination({ fd: 1, sync: true }))
denyGlobalFetch()
const engine = createEngine(settings, logger)

let stopping = false
function stop(signal: NodeJS.Signals): void {
  if (stopping) process.exit(1)
  stopping = true
  logger.info({ signal }, 'draining')
  void engine.close().then(() => {
    logger.info('stopped')
    process.exit(0)
  })
}
process.on('SIGTERM', stop)
process.on('SIGINT', stop)

for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error)
    logger.fatal({ stack: engine.redact(stack) }, event)
    // The state of the process is unknown: end what is running truthfully, then go.
    void engine.close({ graceMs: 0 }).finally(() => process.exit(1))
  })
}

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
