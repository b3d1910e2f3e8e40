/**
 * The model port of the loop: a chain of models behind one function that never rejects. Composition only; a step is
 * `model-step.ts`, an attempt `attempt.ts`, and what follows from a failure `retry.ts`.
 */
import type { KeyGate, ModelPort } from '../engine/ports.ts'
import { gigachatCredentials } from './gigachat/credentials.ts'
import { DEFAULT_AUTH_URL, DEFAULT_SCOPE, type TokenSettings } from './gigachat/token-settings.ts'
import { createPartBudget } from './part-budget.ts'
import { askModels, type StepSettings } from './model-step.ts'
import type { RouteSources } from './route.ts'
import { RunMemory } from './run-memory.ts'

export interface ModelOptions extends Omit<RouteSources, 'credentials'> {
  /** One for the whole process: it knows what is under way for each key. */
  readonly gate: KeyGate
  /** From the request until something of the model came. Default 120,000. */
  readonly firstTokenMs?: number
  /** Between two bytes of an answer. Default 120,000. */
  readonly stallMs?: number
  /** Milliseconds since the epoch. Default `Date.now`. */
  readonly now?: () => number
  /** 0 up to 1, for the jitter of backoffs. Default `Math.random`. */
  readonly random?: () => number
  /** Where GigaChat's access tokens come from. Default: the vendor's address, for the keys of persons. */
  readonly gigachat?: TokenSettings
  /** Told of what a key was exchanged for, whenever it is used: header values, secrets all. Default: nobody. */
  readonly onGranted?: (values: readonly string[]) => void
}

/** Everything a run's port works with. */
export type ModelSources = StepSettings

export interface Model {
  /**
   * A port for one run: it remembers from step to step which repairs a model needs, what was warned of and what was fetched.
   * @param through what the run works with instead, made from what all share; default: the same
   */
  forRun(through?: (shared: ModelSources) => ModelSources): RunModel
}

/** A run's model port, and what frees what was fetched for it; called once, when the run has ended. */
export type RunModel = ModelPort & { release(): void }

export function createModel(options: ModelOptions): Model {
  const { egress, gigachat = { authUrl: DEFAULT_AUTH_URL, scope: DEFAULT_SCOPE }, now = Date.now } = options
  const exchange = gigachatCredentials({ ...gigachat, send: (request) => egress.request(request), now })
  const settings: StepSettings = {
    ...options,
    async credentials(...asked) {
      const authorization = await exchange(...asked)
      if (authorization.kind === 'granted') options.onGranted?.(Object.values(authorization.headers))
      return authorization
    },
    firstTokenMs: options.firstTokenMs ?? 120_000,
    stallMs: options.stallMs ?? 120_000,
    now,
    random: options.random ?? Math.random,
  }
  const budget = createPartBudget()
  return {
    forRun(through = (shared) => shared) {
      const memory = new RunMemory(budget)
      const sources = through(settings)
      const port: ModelPort = (...asked) => askModels(sources, memory, ...asked)
      return Object.assign(port, { release: () => memory.parts.release() })
    },
  }
}
