/**
 * One thing at a time per session: what is asked for while something else is under way waits for its turn. Callbacks do not
 * wait here: each is one transaction and may come between.
 */
export type Turns = ReturnType<typeof createTurns>

export function createTurns() {
  const last = new Map<string, { readonly quiet: Promise<void>; readonly hurry: AbortController }>()
  return {
    /** Runs `task` after all that was asked for before it in this session; rejects only with what `task` itself throws. */
    take<T>(session: string, task: (hurry: AbortSignal) => Promise<T>): Promise<T> {
      const before = last.get(session)
      // After a hurry, those who come later are in no hurry themselves.
      const hurry = before === undefined || before.hurry.signal.aborted ? new AbortController() : before.hurry
      const turn = (before?.quiet ?? Promise.resolve()).then(() => task(hurry.signal))
      const leave = () => void (last.get(session) === entry && last.delete(session))
      const entry = { hurry, quiet: turn.then(leave, leave) }
      last.set(session, entry)
      return turn
    },
    /** Aborts the `hurry` of what is under way or waits in this session: whoever comes next does not want to wait for it. */
    hurry: (session: string) => last.get(session)?.hurry.abort(),
    /** Resolves when nothing is under way. */
    async settled(): Promise<void> {
      while (last.size > 0) await Promise.all([...last.values()].map(({ quiet }) => quiet))
    },
  }
}
