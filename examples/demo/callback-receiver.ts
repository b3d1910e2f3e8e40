/**
 * The endpoint that takes results (SPEC §7): it checks the signature, stores, and only then answers 2xx, which tells the
 * engine that the result is stored. What it does not believe it answers 401 and does not read.
 */
import type { RunResult } from '../../src/contract/result.ts'
import { DemoFailure } from './failure.ts'
import { type Answer, type Incoming, type LocalServer, serve } from './local-server.ts'
import { signatureProblem } from './webhook-signature.ts'

/** A result that came by callback, and what was checked. */
export interface Delivered {
  readonly result: RunResult
  /** Equal to the run id, and part of what is signed. */
  readonly webhookId: string
  /** Messages that were not known before. */
  readonly stored: number
}

export interface CallbackReceiver extends LocalServer {
  /** What a run is told as `callback.url`. */
  readonly callbackUrl: string
  /** The result of this run, which may have come already. Rejects with a DemoFailure after `withinMs`. */
  readonly delivered: (runId: string, withinMs: number) => Promise<Delivered>
}

export interface ReceiverParts {
  readonly secret: string
  /** Stores the result's messages; says how many were new. */
  readonly store: (result: RunResult) => number
}

export async function startCallbackReceiver(parts: ReceiverParts): Promise<CallbackReceiver> {
  const arrived = new Map<string, Delivered>()
  const waiting = new Map<string, (delivered: Delivered) => void>()

  function take(incoming: Incoming): Answer {
    if (incoming.path !== PATH) return { status: 404, body: { error: 'nothing is here' } }
    const problem = signatureProblem(incoming, parts.secret, Date.now())
    if (problem !== null) return { status: 401, body: { error: problem } }
    const { payload } = JSON.parse(incoming.body.toString('utf8')) as { readonly payload: RunResult }
    const webhookId = String(incoming.headers['webhook-id'])
    const delivered = { result: payload, webhookId, stored: parts.store(payload) }
    // A try whose answer was lost is made again: the first one counts.
    if (!arrived.has(webhookId)) arrived.set(webhookId, delivered)
    waiting.get(webhookId)?.(delivered)
    return { status: 200, body: { stored: true } }
  }

  const server = await serve(take)
  return {
    ...server,
    callbackUrl: `${server.url}${PATH}`,
    delivered(runId, withinMs) {
      const there = arrived.get(runId)
      if (there !== undefined) return Promise.resolve(there)
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(runId)
          reject(new DemoFailure(`no callback came for ${runId} within ${withinMs / 1000} s`))
        }, withinMs)
        waiting.set(runId, (delivered) => {
          clearTimeout(timer)
          waiting.delete(runId)
          resolve(delivered)
        })
      })
    },
  }
}

const PATH = '/theloop/result'
