/**
 * A model inside the engine that plays its script. It stands where the egress gate stands: what comes out are the status,
 * headers and bytes of a streamed answer, which then pass the same reader, deadlines, retries and accounting as any other.
 * It opens no socket. An abort, or `destroy`, stops it at once, in the middle of a pause too.
 */
import type { Egress, EgressAnswer } from '../../egress/egress.ts'
import type { Target } from '../../contract/run-request.ts'
import type { Ask } from '../../engine/ports.ts'
import { estimateTokens } from '../estimate.ts'
import { pause } from '../pause.ts'
import { type ChunkHead, deltaChunk, endMark, errorBody, piecesOf, usageChunk } from './chunks.ts'
import { fillArgs, fillText } from './placeholders.ts'
import { type Move, movesOf, type StatusMove, type ToolCallMove, type UsageMove } from './script.ts'

export interface Play {
  readonly ask: Ask
  readonly target: Target
  /** Which request to this model in this step this is: 1, 2 … */
  readonly tries: number
}

/** A few milliseconds' work for the whole engine. */
const PIECES_A_TURN = 256

/** What sends the requests of a scripted model. */
export function playScript(play: Play): Egress['request'] {
  return async ({ signal }) => {
    const moves = movesOf(play.target, play.ask.step, play.tries)
    const stop = new AbortController()
    if (signal.aborted) return stopped
    signal.addEventListener('abort', () => stop.abort(), { once: true, signal: stop.signal })

    let first = 0
    for (; first < moves.length; first += 1) {
      const move = moves[first]
      if (move === undefined || !('wait_ms' in move)) break
      if (!(await pause(move.wait_ms, stop.signal))) return stopped
    }
    const opening = moves[first]
    if (opening !== undefined && 'silence' in opening) {
      await pause(null, stop.signal)
      return stopped
    }
    if (opening !== undefined && 'cut' in opening) {
      stop.abort()
      return { kind: 'fault', fault: { kind: 'reset', message: 'the script broke the connection' } }
    }
    const destroy = () => stop.abort()
    if (opening !== undefined && 'status' in opening) {
      return { kind: 'response', response: { ...refusal(opening, stop), destroy } }
    }
    const body = stream(play, moves.slice(first), stop)
    const headers = { 'content-type': 'text/event-stream', 'x-request-id': `scripted-${play.ask.step}-${play.tries}` }
    return { kind: 'response', response: { status: 200, headers, body, destroy } }
  }
}

const stopped: EgressAnswer = { kind: 'fault', fault: { kind: 'aborted', message: 'the scripted call was aborted' } }

function refusal(move: StatusMove, stop: AbortController) {
  const seconds = move.retry_after_s
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (seconds != null) headers['retry-after'] = String(seconds)
  async function* body(): AsyncGenerator<Uint8Array> {
    yield errorBody(move.status, move.body)
    stop.abort()
  }
  return { status: move.status, headers, body: body() }
}

/** What a stream has told so far, and what of it the end still owes. */
interface Told {
  calls: number
  bytes: number
  finished: boolean
  usage: boolean
}

async function* stream(play: Play, moves: readonly Move[], stop: AbortController): AsyncGenerator<Uint8Array> {
  const { ask, target, tries } = play
  const id = `chatcmpl-scripted-${ask.step}-${tries}`
  const head: ChunkHead = { id, created: Math.floor(Date.now() / 1000), model: target.model }
  const told: Told = { calls: 0, bytes: 0, finished: false, usage: false }
  try {
    yield deltaChunk(head, { role: 'assistant', content: '' })
    for (const move of moves) {
      await hold('wait_ms' in move ? move.wait_ms : 0, stop.signal)
      if ('silence' in move) await hold(null, stop.signal)
      else if ('cut' in move) throw new Error('the script broke the connection')
      else if ('text' in move) yield* said(head, 'content', fillText(move.text, ask.messages), move, told, stop.signal)
      else if ('reasoning' in move) {
        yield* said(head, 'reasoning_content', fillText(move.reasoning, ask.messages), move, told, stop.signal)
      } else if ('tool_call' in move) yield call(head, play, move, told)
      else if ('finish' in move) yield finish(head, move.finish, told)
      else if ('usage' in move) yield* counts(head, move, told)
    }
    if (!told.finished) yield finish(head, told.calls > 0 ? 'tool_calls' : 'stop', told)
    if (!told.usage) yield usageChunk(head, estimated(ask, told))
    yield endMark()
  } finally {
    stop.abort()
  }
}

async function* said(
  head: ChunkHead,
  field: 'content' | 'reasoning_content',
  text: string,
  { chunk, pace_ms: paceMs }: { readonly chunk?: number | null; readonly pace_ms?: number | null },
  told: Told,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  told.bytes += Buffer.byteLength(text)
  for (const [index, piece] of piecesOf(text, chunk ?? undefined).entries()) {
    // What has no pace of its own would else go on to its end before anything else has its turn, a cancel included.
    if (index % PIECES_A_TURN === PIECES_A_TURN - 1) await nextTurn()
    if (index > 0) await hold(paceMs ?? 0, signal)
    yield deltaChunk(head, { [field]: piece })
  }
}

function call(head: ChunkHead, { ask, tries }: Play, { tool_call: wanted }: ToolCallMove, told: Told): Uint8Array {
  const index = told.calls
  told.calls += 1
  const { messages } = ask
  const text =
    wanted.args_text == null
      ? JSON.stringify(fillArgs(wanted.args ?? {}, messages))
      : fillText(wanted.args_text, messages)
  told.bytes += Buffer.byteLength(text)
  const id = wanted.id ?? `scripted_${ask.step}_${tries}_${index}`
  return deltaChunk(head, {
    tool_calls: [{ index, id, type: 'function', function: { name: wanted.name, arguments: text } }],
  })
}

function finish(head: ChunkHead, reason: string, told: Told): Uint8Array {
  told.finished = true
  return deltaChunk(head, {}, reason)
}

function* counts(head: ChunkHead, { usage }: UsageMove, told: Told): Generator<Uint8Array> {
  told.usage = true
  if (usage !== null) yield usageChunk(head, usage)
}

function estimated(ask: Ask, told: Told): NonNullable<UsageMove['usage']> {
  const input = Buffer.byteLength(ask.system) + Buffer.byteLength(JSON.stringify(ask.messages))
  return { input_tokens: estimateTokens(input), output_tokens: estimateTokens(told.bytes) }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Goes on after `ms`, at once for 0; throws when the answer was stopped by then. */
async function hold(ms: number | null, signal: AbortSignal): Promise<void> {
  const goesOn = ms === 0 ? !signal.aborted : await pause(ms, signal)
  if (!goesOn) throw new Error('the scripted answer was stopped')
}
