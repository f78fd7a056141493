// A temporary PostgreSQL server for the tests, from the programs that Debian installs. It runs in a temporary folder,
// on a socket there, without privileges.
import { execFileSync, spawnSync, type SpawnSyncReturns } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isWhole } from '../../../core/test/support/deep.ts'

/** A running server, or the reason why it is not available. */
export interface Server {
  readonly title: string
  readonly why?: string
  /** The address of its database. */
  readonly connectionString: string
  stop(): void
}

const none = (why: string): Server => ({ title: 'PostgreSQL', why, connectionString: '', stop: () => {} })

/** Starts a server. */
export function startServer(): Server {
  const bin = programs()
  if (bin === undefined) return none('there is no initdb below /usr/lib/postgresql')
  const user = unprivileged()
  if (user === undefined) return none('the server does not run as root, and there is no person postgres')
  const folder = mkdtempSync(join(existsSync('/dev/shm') && !isWhole ? '/dev/shm' : tmpdir(), 'halting-pg-'))
  const data = join(folder, 'data')
  const run = (program: string, ...args: readonly string[]): SpawnSyncReturns<string> =>
    spawnSync(join(bin, program), args, { encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'], cwd: folder, ...user })
  const stop = (): void => {
    run('pg_ctl', '-D', data, '-m', 'immediate', '-w', 'stop')
    rmSync(folder, { recursive: true, force: true })
  }
  if ('uid' in user) chownSync(folder, user.uid, user.gid)
  const made = run('initdb', '-D', data, '-A', 'trust', '-U', 'halting', '--no-sync', '-E', 'UTF8', '--locale=C')
  // Only the deep check includes the disk.
  const options = `-k ${folder} -c listen_addresses='' -c max_connections=100 ${isWhole ? '' : '-c fsync=off'}`
  const started =
    made.status === 0 ? run('pg_ctl', '-D', data, '-o', options, '-l', join(folder, 'log'), '-w', 'start') : made
  if (started.status !== 0) {
    stop()
    return none(`it does not start (${started.stderr.trim().split('\n').at(-1)})`)
  }
  const version = execFileSync(join(bin, 'postgres'), ['--version'], { encoding: 'utf8' })
  return {
    title: `PostgreSQL ${/\d+\.\d+/.exec(version)?.[0]}`,
    connectionString: `postgres://halting@/postgres?host=${encodeURIComponent(folder)}`,
    stop,
  }
}

function programs(): string | undefined {
  const versions = existsSync('/usr/lib/postgresql') ? readdirSync('/usr/lib/postgresql') : []
  return versions
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => `/usr/lib/postgresql/${version}/bin`)
    .find((folder) => existsSync(join(folder, 'initdb')))
}

/** The user that runs the server. A process that is not root runs it itself. */
function unprivileged(): { readonly uid: number; readonly gid: number } | Record<string, never> | undefined {
  if (process.getuid?.() !== 0) return {}
  const { status, stdout } = spawnSync('id', ['-u', 'postgres'], { encoding: 'utf8' })
  const group = spawnSync('id', ['-g', 'postgres'], { encoding: 'utf8' })
  return status === 0 ? { uid: Number(stdout), gid: Number(group.stdout) } : undefined
}
