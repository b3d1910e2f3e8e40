/**
 * Recording: each run gets the live sources with a tape between, and its cassette is written beside it (RECORD_DIR).
 *
 * It changes nothing about a run and never fails one: what is recorded is noted on the way through, and a folder that cannot
 * be written to costs the cassette and one line of the journal.
 */
import { instantOf } from '../contract/instant.ts'
import type { Json } from '../contract/json.ts'
import type { CallOrder, JournalEntry, KeyGate, ToolPort } from '../engine/ports.ts'
import type { RunRecord } from '../engine/record.ts'
import type { Credentials } from '../providers/credentials.ts'
import type { Model, ModelSources } from '../providers/model.ts'
import type { RunSources } from '../runs/run-sources.ts'
import type { LateResults } from '../tools/late-results.ts'
import { createTools, type ToolsOptions } from '../tools/tools.ts'
import { CassetteFile, MAX_CASSETTE_BYTES } from './cassette-file.ts'
import { FORMAT, type RunFacts } from './format.ts'
import { credentialsOf, plainRecord, secretsOf } from './plain-record.ts'
import { recordingEgress } from './recording-egress.ts'
import { Secrets } from './secrets.ts'
import { Tape } from './tape.ts'

export interface RecorderOptions {
  /** RECORD_DIR. */
  readonly folder: string
  readonly facts: RunFacts
  /** Of the engine: tokens, the callback secret, API keys. */
  readonly secrets: readonly string[]
  readonly model: Model
  readonly tools: Omit<ToolsOptions, 'now'>
  readonly journal: (entry: JournalEntry) => void
  /** Of one cassette. Default 64 MB. */
  readonly maxBytes?: number
}

export interface Recorder {
  /** The sources of one run with a tape beside them. */
  record(record: RunRecord, live: RunSources): RunSources
  /** Resolves when every cassette whose run has ended is written. */
  flush(): Promise<void>
}

export function createRecorder(options: RecorderOptions): Recorder {
  const closing = new Set<Promise<void>>()
  const backlog = { bytes: 0 }

  function record(run: RunRecord, live: RunSources): RunSources {
    const file = new CassetteFile({
      folder: options.folder,
      runId: run.runId,
      maxBytes: options.maxBytes ?? MAX_CASSETTE_BYTES,
      backlog,
      onFault: (code) => options.journal({ event: 'recording_failed', run_id: run.runId, code }),
    })
    const secrets = new Secrets([...options.secrets, ...secretsOf(run)], [...options.secrets, ...credentialsOf(run)])
    const tape = new Tape({ file, secrets, startedAt: instantOf(run.startedAt), now: live.now })
    tape.line({ kind: 'run', format: FORMAT, facts: options.facts, record: plainRecord(run) })
    const model = options.model.forRun((sources) => tapedModel({ ...sources, now: live.now }, tape))
    return {
      model,
      tools: tapedTools({ ...options.tools, now: live.now }, tape),
      ticket: live.ticket,
      now: () => tape.reading('clock run', live.now()),
      newCallId: () => tape.reading('call_ids', live.newCallId()),
      atDeadline: live.atDeadline,
      stopped(why) {
        tape.stop(why)
        live.stopped(why)
      },
      ended(json) {
        tape.end(json)
        const written = file.close().finally(() => closing.delete(written))
        closing.add(written)
        model.release()
        live.ended(json)
      },
    }
  }

  return {
    record,
    async flush() {
      await Promise.all(closing)
    },
  }
}

function tapedModel(sources: ModelSources, tape: Tape): ModelSources {
  const { credentials, egress, gate, now, random } = sources
  return {
    ...sources,
    egress: recordingEgress(egress, tape, 'model'),
    credentials: tapedCredentials(credentials, tape),
    gate: tapedGate(gate, tape),
    now: () => tape.reading('clock model', now()),
    random: () => tape.reading('random model', random()),
  }
}

function tapedGate(gate: KeyGate, tape: Tape): KeyGate {
  return {
    async acquire(...asked) {
      const slot = await gate.acquire(...asked)
      tape.event({ kind: 'slot', granted: slot !== null })
      return slot
    },
  }
}

function tapedCredentials(credentials: Credentials, tape: Tape): Credentials {
  return async (apiKey, signal) => {
    const authorization = await credentials(apiKey, signal)
    if (authorization.kind === 'granted') {
      for (const value of Object.values(authorization.headers)) tape.secrets.add(value)
    }
    // Plain JSON; the tape writes it and no more.
    const fault = authorization.kind === 'granted' ? null : (authorization.fault as unknown as Json)
    tape.event({ kind: 'authorization', fault })
    return authorization
  }
}

/** Calls run side by side: each has a lane of its own. */
function tapedTools(options: ToolsOptions, tape: Tape): ToolPort {
  const live = createTools(options)
  return {
    checkArgs: live.checkArgs,
    call(order, attemptStarting, signal) {
      const tools = createTools({
        ...options,
        egress: recordingEgress(options.egress, tape, order.callId),
        lateResults: tapedLateResults(options.lateResults, order, tape),
        now: () => tape.reading(`clock ${order.callId}`, options.now()),
        random: () => tape.reading(`random ${order.callId}`, options.random()),
      })
      return tools.call(order, attemptStarting, signal)
    },
  }
}

function tapedLateResults(lateResults: LateResults, { callId }: CallOrder, tape: Tape): LateResults {
  return {
    open: (run, call, onAnswer) =>
      lateResults.open(run, call, (answer) => {
        tape.event({ kind: 'late_result', call_id: callId, answer: answer as unknown as Json })
        onAnswer(answer)
      }),
    record: (...given) => lateResults.record(...given),
  }
}
