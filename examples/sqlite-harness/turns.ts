/**
 * One thing at a time per session: what is asked for while something else is under way waits for its turn. Callbacks do not
 * wait here: each is one transaction and may come between.
 */
export interface Turns {
  /** Runs `task` after all that was asked for before it in this session; rejects only with what `task` itself throws. */
  take<T>(sessionId: string, task: () => Promise<T>): Promise<T>
  /** Resolves when nothing is under way. */
  settled(): Promise<void>
}

export function createTurns(): Turns {
  const last = new Map<string, Promise<unknown>>()
  return {
    take(sessionId, task) {
      const before = last.get(sessionId) ?? Promise.resolve()
      const turn = before.then(task, task)
      const quiet = turn.then(
        () => undefined,
        () => undefined,
      )
      last.set(sessionId, quiet)
      void quiet.then(() => {
        if (last.get(sessionId) === quiet) last.delete(sessionId)
      })
      return turn
    },
    async settled() {
      while (last.size > 0) await Promise.all(last.values())
    },
  }
}
