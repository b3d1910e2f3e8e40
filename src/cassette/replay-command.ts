/** `theloop replay FILE`: a recorded run, run again, and what became of it in words. Exit code 0: the same. */
import { writeSync } from 'node:fs'
import { replayCassette } from './replay.ts'

const USAGE = 'usage: theloop replay FILE, a cassette written under RECORD_DIR'

/** The exit code: 0 the same, 1 different or not to be replayed, 2 called wrongly. */
export async function replayCommand(given: readonly string[]): Promise<number> {
  const [path] = given
  if (path === undefined || given.length > 1) {
    say(2, USAGE)
    return 2
  }
  const replay = await replayCassette(path)
  switch (replay.kind) {
    case 'same':
      say(1, 'same')
      return 0
    case 'same_but_times':
      say(1, `same, but for times: ${replay.difference}`)
      return 0
    case 'different':
      say(1, ['different', replay.difference, ...replay.said].join('\n'))
      return 1
    case 'unplayable':
      say(2, `theloop: ${replay.fault}`)
      return 1
  }
}

function say(stream: 1 | 2, text: string): void {
  writeSync(stream, `${text}\n`)
}
