import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, openSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { UsageError } from '../usage-error.ts'
import { identityIn } from './engine-identity.ts'
import { endLeftEngine, noteRunning } from './left-engine.ts'

/** An engine of one node, started by this program and ended with it. */
export interface EngineProcess {
  /** Where it takes requests. */
  readonly ingress: string
  readonly admin: string
  /** What its requests to workers are signed with, as workers are told of it. */
  readonly identityKey: string
  /** The file that it writes what it does to. */
  readonly log: string
  /** Resolves when it is gone. */
  readonly gone: Promise<void>
  end(): Promise<void>
}

const host = '127.0.0.1'
const usual = { ingress: 8080, admin: 9070, node: 5122 }
const readyMs = 60_000
const endMs = 15_000

/** Starts the engine with its data in this folder. @throws UsageError where it does not come up, or another program has started one there. */
export async function startEngine(binary: string, folder: string): Promise<EngineProcess> {
  await endLeftEngine(folder)
  const [ingress, admin, node] = [
    await freePort(usual.ingress),
    await freePort(usual.admin),
    await freePort(usual.node),
  ]
  // It holds all that was said.
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  chmodSync(folder, 0o700)
  const identity = await identityIn(folder)
  const log = join(folder, 'server.log')
  const file = openSync(log, 'a', 0o600)
  const child = spawn(binary, ['--base-dir', folder, '--node-name', 'dev'], {
    stdio: ['ignore', file, file],
    // A Ctrl-C of the terminal is for this program, which ends it once the worker is done.
    detached: true,
    env: {
      ...ownEnvironment(process.env),
      RESTATE_CLUSTER_NAME: 'halting-dev',
      RESTATE_WORKER__INVOKER__REQUEST_IDENTITY_PRIVATE_KEY_PEM_FILE: identity.pemFile,
      RESTATE_DISABLE_TELEMETRY: 'true',
      DO_NOT_TRACK: '1',
      RESTATE_LOG_FILTER: 'warn',
      RESTATE_LOG_DISABLE_ANSI_CODES: 'true',
      RESTATE_DEFAULT_NUM_PARTITIONS: '4',
      RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: '256 MB',
      RESTATE_BIND_ADDRESS: `${host}:${node}`,
      RESTATE_ADVERTISED_ADDRESS: `http://${host}:${node}`,
      RESTATE_INGRESS__BIND_ADDRESS: `${host}:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `${host}:${admin}`,
    },
  })
  if (child.pid !== undefined) noteRunning(folder, { program: process.pid, server: child.pid })
  // However this program ends, but for a kill: the next one ends it then.
  const kill = (): void => void child.kill('SIGKILL')
  process.on('exit', kill)
  const gone = new Promise<void>((resolve) => {
    child.once('error', () => resolve())
    child.once('exit', () => resolve())
  }).finally(() => process.off('exit', kill))
  const engine: EngineProcess = {
    ingress: `http://${host}:${ingress}`,
    admin: `http://${host}:${admin}`,
    identityKey: identity.publicKey,
    log,
    gone,
    async end() {
      child.kill('SIGTERM')
      const timer = setTimeout(kill, endMs)
      await gone
      clearTimeout(timer)
    },
  }
  await ready(engine, child)
  return engine
}

/** Keys of models are no affair of the server. */
function ownEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const own = /^(?:PATH|HOME|USER|LANG|LC_\w+|TZ|TMPDIR|XDG_\w+|RUST_\w+|RESTATE_\w+|LD_LIBRARY_PATH)$/
  return Object.fromEntries(Object.entries(env).filter(([name]) => own.test(name)))
}

async function ready(engine: EngineProcess, child: ChildProcess): Promise<void> {
  const until = performance.now() + readyMs
  for (const url of [`${engine.admin}/health`, `${engine.ingress}/restate/health`]) {
    while (!(await answers(url))) {
      const isGone = child.exitCode !== null || child.signalCode !== null || child.pid === undefined
      if (!isGone && performance.now() < until) await pause(200)
      else {
        await engine.end()
        throw new UsageError(`The server did not start. See ${engine.log}.`)
      }
    }
  }
}

async function answers(url: string): Promise<boolean> {
  const response = await fetch(url).catch(() => undefined)
  await response?.arrayBuffer()
  return response?.ok === true
}

/** The usual port, or any that is free where somebody else has that. */
export async function freePort(wanted: number): Promise<number> {
  const server = createServer()
  const isFree = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(wanted, host, () => resolve(true))
  })
  if (!isFree) return freePort(0)
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  // It listens at a port, so its address has one.
  return typeof address === 'object' && address !== null ? address.port : wanted
}
