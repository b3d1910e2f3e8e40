/**
 * One thing at a time per session: what is asked for while something else is under way waits for its turn. Callbacks do not
 * wait here: each is one transaction and may come between.
 */
export interface Turns {
  /** Runs `task` after all that was asked for before it in this session; rejects only with what `task` itself throws. */
  take<T>(session: string, task: (hurry: AbortSignal) => Promise<T>): Promise<T>
  /** Aborts the `hurry` of what is under way or waits in this session: whoever comes next does not want to wait for it. */
  hurry(session: string): void
  /** Resolves when nothing is under way. */
  settled(): Promise<void>
}

export function createTurns(): Turns {
  const last = new Map<string, { readonly quiet: Promise<void>; readonly hurry: AbortController }>()
  return {
    take(session, task) {
      const before = last.get(session)
      // After a hurry, those who come later are in no hurry themselves.
      const hurry = before === undefined || before.hurry.signal.aborted ? new AbortController() : before.hurry
      const run = () => task(hurry.signal)
      const turn = (before?.quiet ?? Promise.resolve()).then(run)
      const quiet = turn.then(
        () => undefined,
        () => undefined,
      )
      last.set(session, { quiet, hurry })
      void quiet.then(() => {
        if (last.get(session)?.quiet === quiet) last.delete(session)
      })
      return turn
    },
    hurry: (session) => last.get(session)?.hurry.abort(),
    async settled() {
      while (last.size > 0) await Promise.all([...last.values()].map(({ quiet }) => quiet))
    },
  }
}
