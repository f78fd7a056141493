import { spawn, type ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FullStatus } from '../../src/service/full-status.ts'
import { demand } from './programs.ts'
import { wait, type Cluster } from './server.ts'
import type { SessionOnCluster } from './session-on-cluster.ts'

const here = dirname(fileURLToPath(import.meta.url))

/** Prints a promise that holds; ends the check if it does not. */
export function checkPromise(holds: boolean, promise: string): void {
  demand(holds, `BROKEN: ${promise}`)
  console.log(`kept: ${promise}`)
}

export const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

/** Total size of the files in a folder. */
export function bytesOnDisk(path: string): number {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).blocks * 512, 0)
}

/** A worker of these checks (growth-worker.ts) that can be killed. */
export class GrowthWorker {
  #child: ChildProcess | undefined
  readonly #port: number
  readonly #log: string
  readonly #admin: string
  readonly #ingress: string

  /** @param ingress With it, the worker records its attempts, and its sessions may have tenants. */
  constructor(port: number, log: string, admin: string, ingress = '') {
    this.#port = port
    this.#log = log
    this.#admin = admin
    this.#ingress = ingress
  }

  start(payloads = '', maxRecords = '', program = 'growth-worker', ingress = this.#ingress): void {
    const args = [
      join(here, `${program}.mjs`),
      String(this.#port),
      this.#log,
      this.#admin,
      payloads,
      maxRecords,
      ingress,
    ]
    const env = { ...process.env, RESTATE_LOGGING: 'ERROR' }
    this.#child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'], env })
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await gone
  }
}

/** What workers noted about a session. */
export function noted(log: string, what: string, session: string): readonly string[] {
  return readFileSync(log, 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, , verb, about]) => verb === what && about === session)
    .map(([, , , , more = '']) => more)
}

export async function reaches(
  session: SessionOnCluster,
  holds: (status: FullStatus) => boolean,
  ms = 60_000,
): Promise<FullStatus> {
  for (const until = Date.now() + ms; ; await wait(50)) {
    const status = await session.status()
    if (holds(status)) return status
    demand(Date.now() < until, `The session does not get there: ${JSON.stringify(status)}`)
  }
}

export const isOver = ({ state, runId, isWorking }: FullStatus): boolean =>
  state === 'idle' && runId !== undefined && !isWorking

/** Bytes of the state of a session, by the part of the key before the first slash. */
export async function stateOf(cluster: Cluster, session: string): Promise<ReadonlyMap<string, number>> {
  const rows = await cluster.query(
    `SELECT split_part(key, '/', 1) AS kind, sum(value_length) AS bytes FROM state WHERE service_key = '${session}' GROUP BY 1`,
  )
  return new Map(rows.map(({ kind, bytes }) => [String(kind), Number(bytes)]))
}
