/**
 * Debian's nginx in front of a server on 127.0.0.1, as an operator would begin: `proxy_pass` and nothing else. Its own
 * process, below a folder of its own, ended with its test. Where it is not installed the tests behind it are skipped.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, chmodSync, constants, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { within } from '../conformance/facts.ts'
import { freePort } from './free-port.ts'

const NGINX = '/usr/sbin/nginx'

/** Why tests with nginx are skipped; false where they are not. */
export const nginxSkip: string | false = canRun() ? false : `${NGINX} is not installed: nothing was tested behind nginx`

function canRun(): boolean {
  try {
    accessSync(NGINX, constants.X_OK)
    return true
  } catch {
    return false
  }
}

export interface Nginx {
  readonly port: number
  readonly url: string
}

/** Only what it needs to live in its folder, Debian's `gzip on`, and one `proxy_pass`. */
function config(folder: string, port: number, upstream: number): string {
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  return `daemon off;
pid ${folder}/pid;
events {}
http {
  access_log off;
  gzip on;
  ${paths.join('\n  ')}
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://127.0.0.1:${upstream};
    }
  }
}
`
}

export async function startNginx(t: TestContext, upstream: number): Promise<Nginx> {
  const folder = mkdtempSync(join(tmpdir(), 'nginx-'))
  // Its workers have another user.
  chmodSync(folder, 0o755)
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  // A port that was free a moment ago may be taken by the next: then another one.
  for (let tries = 1; ; tries += 1) {
    const port = await freePort()
    writeFileSync(join(folder, 'nginx.conf'), config(folder, port, upstream))
    const child = spawn(NGINX, ['-p', folder, '-c', 'nginx.conf', '-e', 'error.log'], { stdio: 'ignore' })
    // Not SIGKILL: its workers would be left behind.
    const kill = () => child.kill('SIGTERM')
    process.on('exit', kill)
    const exited = once(child, 'exit').then(() => void process.off('exit', kill))
    if (await within(listens(child, port), () => 'nginx does not listen')) {
      t.after(async () => {
        child.kill('SIGTERM')
        await within(exited, () => 'nginx does not end')
      })
      return { port, url: `http://127.0.0.1:${port}` }
    }
    await exited
    const log = readFileSync(join(folder, 'error.log'), 'utf8')
    if (tries === 5 || !log.includes('Address already in use')) throw new Error(`nginx did not start: ${log}`)
  }
}

/** True once the port takes a connection; false when nginx has gone. */
async function listens(child: ChildProcess, port: number): Promise<boolean> {
  while (child.exitCode === null && child.signalCode === null) {
    const socket = connect(port, '127.0.0.1')
    const taken = await new Promise<boolean>((resolve) => {
      socket.on('connect', () => resolve(true))
      socket.on('error', () => resolve(false))
    })
    socket.destroy()
    if (taken) return true
  }
  return false
}
