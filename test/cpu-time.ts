/** What work costs this thread, for tests of work whose cost must not grow with its square: no other process is measured. */

/** Milliseconds of processor time that this thread has had. */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
