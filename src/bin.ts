#!/usr/bin/env node
/**
 * `theloop` as it is installed: `main.ts`, once the Node it is started with can run it. An older one would end somewhere inside
 * a dependency with a fault that says nothing, so nothing is imported before. Only what every Node can read may stand here.
 */
const OLDEST = 24

if (Number.parseInt(process.versions.node, 10) < OLDEST) {
  process.stderr.write(`theloop: needs Node ${OLDEST} or newer, and this is Node ${process.versions.node}\n`)
  process.exit(1)
}
await import('./main.ts')
