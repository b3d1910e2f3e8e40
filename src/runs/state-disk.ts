/**
 * What the files of STATE_DIR ask of the system, and nothing else: a test puts a disk that is full or broken in its place.
 *
 * Small writes are made at once, on this thread: they go to the system's memory and take a microsecond or two, where the way
 * to another thread and back takes fifteen and more. What waits for a disk (opening, syncing, removing) or takes a while (a
 * large write) goes there.
 */
import fs from 'node:fs'

export interface StateDisk {
  /** For adding at its end. `isNew`: it must not be there yet. Rejects with the system's error, as all of these do. */
  open(path: string, isNew: boolean): Promise<number>
  /** Whether it is there. At once. */
  isThere(path: string): boolean
  openDirectory(path: string): Promise<number>
  truncate(file: number, length: number): Promise<void>
  /** All of it, now. Throws the system's error. */
  write(file: number, bytes: Uint8Array): void
  /** The same for what takes a while. */
  writeLarge(file: number, bytes: Uint8Array): Promise<void>
  /** Resolves once what was written outlasts a loss of power. */
  sync(file: number): Promise<void>
  syncDirectory(directory: number): Promise<void>
  /** Now. Throws as `write` does. */
  close(file: number): void
  unlink(path: string): Promise<void>
}

export const realDisk: StateDisk = {
  open: (path, isNew) => told((done) => fs.open(path, isNew ? 'ax' : 'a', 0o600, done)),
  isThere: (path) => fs.existsSync(path),
  openDirectory: (path) => told((done) => fs.open(path, 'r', done)),
  truncate: (file, length) => told((done) => fs.ftruncate(file, length, done)),
  write(file, bytes) {
    for (let written = 0; written < bytes.length;) written += fs.writeSync(file, bytes, written)
  },
  async writeLarge(file, bytes) {
    for (let written = 0; written < bytes.length;) {
      written += await told<number>((done) => fs.write(file, bytes, written, done))
    }
  },
  sync: (file) => told((done) => fs.fdatasync(file, done)),
  syncDirectory: (directory) => told((done) => fs.fsync(directory, done)),
  close: (file) => fs.closeSync(file),
  unlink: (path) => told((done) => fs.unlink(path, done)),
}

/** `fs.promises` takes twice the time for the same. */
function told<T = void>(call: (done: (error: Error | null, value?: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    call((error, value) => (error === null ? resolve(value as T) : reject(error)))
  })
}

/** The system's code for what went wrong, such as `ENOSPC`. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'UNKNOWN'
}
