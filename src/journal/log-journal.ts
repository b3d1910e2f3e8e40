/**
 * The journal as log lines: every entry becomes one pino JSON line with its facts. Entries come cleared of secrets, and
 * without content save where LOG_CONTENT wants it (SPEC §12.3); what decides the level is whether somebody should look.
 */
import type { Logger } from 'pino'
import type { JournalEntry } from '../engine/ports.ts'

/** Somebody must look: a bug, a result that nobody will get, a journal that is not kept. */
const ERRORS = new Set([
  'bug',
  'crashed',
  'undelivered',
  'dropped_undelivered',
  'log_dir_failed',
  'state_lost',
  'state_unreadable',
])
/** Somebody may want to look. */
const WARNINGS = new Set([
  'overload_began',
  'failed',
  'write_not_deferred',
  'repeat',
  'recording_failed',
  'traces_failed',
])
/** The milestones of a run; everything else is detail. */
const MILESTONES = new Set([
  'accepted',
  'ended',
  'delivered',
  'acked',
  'redelivery',
  'cancelled',
  'callback_attempt',
  'log_dir_back',
  'overload_ended',
  'traces_back',
])

export function createLogJournal(logger: Logger): (entry: JournalEntry) => void {
  return (entry) => {
    const { event } = entry
    if (ERRORS.has(event)) logger.error(entry, event)
    else if (WARNINGS.has(event)) logger.warn(entry, event)
    else if (MILESTONES.has(event)) logger.info(entry, event)
    else logger.debug(entry, event)
  }
}
