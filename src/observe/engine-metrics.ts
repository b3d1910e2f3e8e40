/**
 * Every metric there is: its name, what it means, its labels and its buckets. docs/metrics.md is the table of these; a
 * test compares the two, and the dashboard and the alerts under docs/ may name nothing else.
 *
 * No label holds an id of a run, a session, a user or a tenant, and none a key. Models, tools and currencies come from
 * requests: so many of each are told apart, and what comes later is `other`.
 */
import { createBound, createRegistry, type Label, type Registry } from './instruments.ts'

/** Different values of a label that requests name. */
export const MOST_MODELS = 100
export const MOST_TOOLS = 200
export const MOST_CURRENCIES = 10

/** Seconds: from a cached answer to a run that takes its three minutes and more. */
const LONG_S = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640]
/** Seconds: waits that somebody sits through. */
const WAIT_S = [0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2, 3, 5, 8, 13, 20, 40, 80]
/** Seconds: a disk. */
const DISK_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
const STEPS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 50, 100]

export type EngineMetrics = ReturnType<typeof createEngineMetrics>

/** A set of its own: two engines in one process do not count together. */
export function createEngineMetrics() {
  const registry = createRegistry()
  const metrics = {
    registry,
    ...runMetrics(registry),
    ...modelMetrics(registry),
    ...outsideMetrics(registry),
    ...processMetrics(registry),
  }
  // What is alerted on counts from 0: the first of its kind is an increase, too.
  for (const outcome of ['delivered', 'acked', 'undelivered', 'dropped']) metrics.results.add([outcome], 0)
  for (const outcome of ['ok', 'failed']) metrics.stateWrites.add([outcome], 0)
  for (const outcome of ['exported', 'dropped']) metrics.spans.add([outcome], 0)
  for (const event of ALERTING) metrics.entries.add([event], 0)
  return metrics
}

/** Events of the journal that somebody must look at. */
const ALERTING = [
  'bug',
  'undelivered',
  'dropped_undelivered',
  'write_not_deferred',
  'state_lost',
  'state_unreadable',
  'log_dir_failed',
]

function runMetrics(registry: Registry) {
  return {
    build: registry.gauge({
      name: 'theloop_build_info',
      help: 'Always 1; the version is in the label.',
      labels: closed('version'),
    }),
    runsStarted: registry.counter({ name: 'theloop_runs_started_total', help: 'Runs that were taken.' }),
    runsEnded: registry.counter({
      name: 'theloop_runs_ended_total',
      help: 'Runs that have a result, by status and by the error code or the limit behind it (none: neither).',
      labels: closed('status', 'reason'),
    }),
    runSeconds: registry.histogram(
      {
        name: 'theloop_run_duration_seconds',
        help: 'From the acceptance of a run to its result.',
        labels: closed('status'),
      },
      LONG_S,
    ),
    runFirstToken: registry.histogram(
      {
        name: 'theloop_run_first_token_seconds',
        help: 'From the acceptance of a run to the first token of any model, queues and retries included.',
      },
      WAIT_S,
    ),
    runSteps: registry.histogram({ name: 'theloop_run_steps', help: 'Steps of a run.' }, STEPS),
    stepSeconds: registry.histogram(
      {
        name: 'theloop_step_duration_seconds',
        help: 'One step: the answer of a model with all its attempts, and the calls in it.',
      },
      LONG_S,
    ),
    runsLive: registry.gauge({ name: 'theloop_runs_live', help: 'Runs that are going.' }),
    runsMost: registry.gauge({ name: 'theloop_runs_limit', help: 'MAX_RUNS: so many may be going.' }),
    undelivered: registry.gauge({
      name: 'theloop_results_unstored',
      help: 'Results that are kept and neither delivered nor acked.',
    }),
    draining: registry.gauge({ name: 'theloop_draining', help: '1 from the first SIGTERM on, else 0.' }),
    entries: registry.counter({
      name: 'theloop_journal_entries_total',
      help: 'Entries of the journal by event.',
      labels: closed('event'),
    }),
    journalLost: registry.counter({
      name: 'theloop_journal_lost_lines_total',
      help: 'Entries that are not in LOG_DIR because it could not be written in time.',
    }),
  }
}

function modelMetrics(registry: Registry) {
  const model: Label = { name: 'model', bound: createBound(MOST_MODELS) }
  const byModel = [...closed('provider'), model]
  const tool: Label = { name: 'tool', bound: createBound(MOST_TOOLS) }
  return {
    attempts: registry.counter({
      name: 'theloop_attempts_total',
      help: 'Requests to providers by what came of them: ok, or the error code of the attempt.',
      labels: [...byModel, ...closed('outcome')],
    }),
    attemptSeconds: registry.histogram(
      {
        name: 'theloop_attempt_duration_seconds',
        help: 'From the request of an attempt to its end, the queue before it not counted.',
        labels: byModel,
      },
      LONG_S,
    ),
    attemptFirstToken: registry.histogram(
      {
        name: 'theloop_attempt_first_token_seconds',
        help: 'From the request of an attempt to the first token of its answer.',
        labels: byModel,
      },
      WAIT_S,
    ),
    attemptQueue: registry.histogram(
      {
        name: 'theloop_attempt_queue_seconds',
        help: 'How long an attempt waited for a place at its provider key.',
        labels: closed('provider'),
      },
      WAIT_S,
    ),
    attemptsQueued: registry.gauge({
      name: 'theloop_attempts_queued',
      help: 'Attempts that wait for a place at a provider key.',
    }),
    tokens: registry.counter({
      name: 'theloop_tokens_total',
      help: 'Tokens by kind: input, cache_read, cache_write, output. No token is in two kinds.',
      labels: [...byModel, ...closed('kind')],
    }),
    reasoningTokens: registry.counter({
      name: 'theloop_reasoning_tokens_total',
      help: 'Of the output tokens those of reasoning.',
      labels: byModel,
    }),
    cost: registry.counter({
      name: 'theloop_cost_total',
      help: 'What attempts cost, by the pricing of their requests, in units of the currency.',
      labels: [...byModel, { name: 'currency', bound: createBound(MOST_CURRENCIES) }],
    }),
    calls: registry.counter({
      name: 'theloop_tool_calls_total',
      help: 'Calls of tools that were sent, by what came of them.',
      labels: [tool, ...closed('outcome')],
    }),
    callsUnsent: registry.counter({
      name: 'theloop_tool_calls_not_sent_total',
      help: 'Calls that were decided against before anything was sent, by status and reason.',
      labels: closed('status', 'reason'),
    }),
    callRequests: registry.counter({
      name: 'theloop_tool_requests_total',
      help: 'HTTP requests to tools: a call has several where it is retried.',
      labels: [tool],
    }),
    callSeconds: registry.histogram(
      {
        name: 'theloop_tool_call_duration_seconds',
        help: 'One call of a tool with all its requests.',
        labels: [tool],
      },
      LONG_S,
    ),
    ...keyMetrics(registry),
  }
}

function keyMetrics(registry: Registry) {
  const labels = closed('provider')
  return {
    keys: registry.gauge({ name: 'theloop_keys', help: 'Provider keys that are remembered.', labels }),
    keysPaused: registry.gauge({
      name: 'theloop_keys_paused',
      help: 'Of these the ones a provider has asked to wait for.',
      labels,
    }),
    keyActive: registry.gauge({
      name: 'theloop_key_active_requests',
      help: 'Requests that are under way, over all keys.',
      labels,
    }),
    keyWaiting: registry.gauge({
      name: 'theloop_key_waiting_requests',
      help: 'Requests that wait for a place, over all keys.',
      labels,
    }),
    keyWindow: registry.gauge({
      name: 'theloop_key_window_requests',
      help: 'How many requests a key may have under way: the smallest and the largest window among the keys.',
      labels: closed('provider', 'bound'),
    }),
  }
}

function outsideMetrics(registry: Registry) {
  return {
    callbackAttempts: registry.counter({
      name: 'theloop_callback_attempts_total',
      help: 'Attempts to deliver a result, by the class of the answer (none: there was no answer).',
      labels: closed('answer'),
    }),
    callbackSeconds: registry.histogram(
      { name: 'theloop_callback_duration_seconds', help: 'One attempt to deliver a result.' },
      WAIT_S,
    ),
    results: registry.counter({
      name: 'theloop_results_total',
      help: 'What became of results: delivered, acked, undelivered (the last attempt failed), dropped (nobody had stored it).',
      labels: closed('outcome'),
    }),
    requests: registry.counter({
      name: 'theloop_http_requests_total',
      help: 'Requests that were answered, by route, status and error code (none: no error).',
      labels: closed('route', 'status', 'code'),
    }),
    streams: registry.gauge({ name: 'theloop_streams_open', help: 'Streams that are being read.' }),
    streamsDropped: registry.counter({
      name: 'theloop_streams_dropped_total',
      help: 'Streams that were cut because their reader took nothing.',
    }),
    egressRefused: registry.counter({
      name: 'theloop_egress_refused_total',
      help: 'Calls that were not let out, by purpose and reason.',
      labels: closed('purpose', 'reason'),
    }),
    egressFaults: registry.counter({
      name: 'theloop_egress_faults_total',
      help: 'Calls that got no answer, by purpose and kind of fault.',
      labels: closed('purpose', 'kind'),
    }),
    spans: registry.counter({
      name: 'theloop_spans_total',
      help: 'Spans for OTEL_EXPORTER_OTLP_ENDPOINT: exported, or dropped because it did not take them in time.',
      labels: closed('outcome'),
    }),
    stateWrites: registry.counter({
      name: 'theloop_state_writes_total',
      help: 'Writes to STATE_DIR, by what came of them.',
      labels: closed('outcome'),
    }),
    stateWriteSeconds: registry.histogram(
      {
        name: 'theloop_state_write_duration_seconds',
        help: 'One write to STATE_DIR that waits for the disk, with its wait.',
      },
      DISK_S,
    ),
    stateBytes: registry.counter({
      name: 'theloop_state_written_bytes_total',
      help: 'Bytes written to STATE_DIR.',
    }),
  }
}

function processMetrics(registry: Registry) {
  return {
    lag: registry.gauge({
      name: 'theloop_event_loop_lag_seconds',
      help: 'How late the event loop was within the last ten seconds: on average (mean) and at its worst.',
      labels: closed('stat'),
    }),
    overloaded: registry.gauge({
      name: 'theloop_overloaded',
      help: '1 while no run is taken because of memory or a late event loop, else 0.',
      labels: closed('reason'),
    }),
    cpu: registry.counter({ name: 'process_cpu_seconds_total', help: 'CPU time, user and system.' }),
    resident: registry.gauge({ name: 'process_resident_memory_bytes', help: 'Memory of the process.' }),
    started: registry.gauge({
      name: 'process_start_time_seconds',
      help: 'When the process began, seconds since the epoch.',
    }),
    heapUsed: registry.gauge({ name: 'nodejs_heap_size_used_bytes', help: 'Heap in use.' }),
    heapTotal: registry.gauge({ name: 'nodejs_heap_size_total_bytes', help: 'Heap that is allocated.' }),
    external: registry.gauge({ name: 'nodejs_external_memory_bytes', help: 'Buffers and the like beside the heap.' }),
  }
}

function closed(...names: readonly string[]): Label[] {
  return names.map((name) => ({ name, bound: null }))
}
