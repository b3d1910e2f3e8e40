/**
 * One engine at a time in a STATE_DIR: a file that says whose it is. A process that was killed leaves it behind, so it is
 * judged: on the same machine by whether its process lives, from another one (a container of the same volume has its own
 * name and its own process ids) by whether it is still being touched.
 */
import { promises as fs } from 'node:fs'
import { hostname } from 'node:os'
import { codeOf } from './state-disk.ts'

/** The owner touches its lock this often. */
const TOUCH_MS = 5000
/** A lock of another machine that nobody touched for so long is left behind. */
const LEFT_BEHIND_MS = 20_000

export type LockOutcome =
  | { readonly ok: true; readonly release: () => Promise<void> }
  /** One sentence for the operator. */
  | { readonly ok: false; readonly reason: string }

export async function takeLock(path: string): Promise<LockOutcome> {
  const mine = JSON.stringify({ pid: process.pid, host: hostname() })
  for (let tries = 0; tries < 3; tries += 1) {
    try {
      await fs.writeFile(path, mine, { flag: 'wx', mode: 0o600 })
      return { ok: true, release: keep(path) }
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') return { ok: false, reason: `its lock cannot be written (${codeOf(error)})` }
    }
    const owner = await livingOwner(path)
    if (owner !== null) return { ok: false, reason: owner }
    // Moved aside first: of two that judge at once only one moves it.
    const aside = `${path}.${process.pid}`
    await fs.rename(path, aside).catch(() => {})
    await fs.rm(aside, { force: true })
  }
  return { ok: false, reason: 'another engine took its lock in the same moment' }
}

function keep(path: string): () => Promise<void> {
  const touching = setInterval(() => {
    const now = new Date()
    fs.utimes(path, now, now).catch(() => {})
  }, TOUCH_MS)
  touching.unref()
  return async () => {
    clearInterval(touching)
    await fs.rm(path, { force: true })
  }
}

/** Why the lock must be respected; null: it was left behind. */
async function livingOwner(path: string): Promise<string | null> {
  try {
    const [text, { mtimeMs }] = await Promise.all([fs.readFile(path, 'utf8'), fs.stat(path)])
    if (text === '' && Date.now() - mtimeMs < TOUCH_MS) return 'another engine is just taking it'
    const { pid, host } = ownerOf(text)
    if (host !== hostname()) {
      return Date.now() - mtimeMs < LEFT_BEHIND_MS
        ? `another engine on ${host} uses it (touched less than ${LEFT_BEHIND_MS / 1000} s ago)`
        : null
    }
    // This very process id: an earlier life of the same container.
    if (pid === process.pid || !isAlive(pid)) return null
    return `another engine uses it (process ${pid}); where that process is none, remove the file lock in it`
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? null : `its lock cannot be read (${codeOf(error)})`
  }
}

/** A lock torn off while it was written names nobody. */
function ownerOf(text: string): { readonly pid: number; readonly host: string } {
  try {
    const owner = JSON.parse(text) as { readonly pid: number; readonly host: string }
    return { pid: owner.pid, host: owner.host }
  } catch {
    return { pid: 0, host: hostname() }
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) !== 'ESRCH'
  }
}
