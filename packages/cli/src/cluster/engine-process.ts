import { spawn, type ChildProcess } from 'node:child_process'
import { chmodSync, mkdirSync, openSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { UsageError } from '../usage-error.ts'
import { stopOrphanedEngine, recordRunningEngine } from './orphaned-engine.ts'
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'

/** An engine with one node that this program starts and stops. */
export interface EngineProcess {
  /** The address that accepts requests. */
  readonly ingress: string
  readonly admin: string
  /** The public key that verifies its requests to workers, in the form of `--identity-key`. */
  readonly identityKey: string
  /** The log file of the engine. */
  readonly log: string
  /** The address at which the node serves its metrics. */
  readonly node: string
  /** Resolves when it has exited and will not be restarted. */
  readonly gone: Promise<void>
  /** Stops it and starts it again at the same addresses. @throws UsageError if it does not start */
  restart(): Promise<void>
  end(): Promise<void>
}

const host = '127.0.0.1'
const defaultPorts = { ingress: 8080, admin: 9070, node: 5122 }
const startTimeoutMs = 60_000
const stopTimeoutMs = 15_000

/** Starts the engine with its data in this folder. @throws UsageError if it does not start, or another program already runs one there */
export async function startEngine(binary: string, folder: string): Promise<EngineProcess> {
  await stopOrphanedEngine(folder)
  const [ingress, admin, node] = [
    await freePort(defaultPorts.ingress),
    await freePort(defaultPorts.admin),
    await freePort(defaultPorts.node),
  ]
  // The folder contains all conversations.
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  chmodSync(folder, 0o700)
  const identity = await engineIdentity(folder)
  const log = join(folder, 'server.log')
  const file = openSync(log, 'a', 0o600)
  const start = (): ChildProcess =>
    spawn(binary, ['--base-dir', folder, '--node-name', 'dev'], {
      stdio: ['ignore', file, file],
      // In its own process group, so that Ctrl-C reaches only this program, which stops the engine after the worker.
      detached: true,
      env: {
        ...engineEnvironment(process.env),
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
  const engine = new StartedEngine(folder, start, {
    ingress: `http://${host}:${ingress}`,
    admin: `http://${host}:${admin}`,
    node: `http://${host}:${node}`,
    identityKey: identity.publicKey,
    log,
  })
  await engine.ready()
  return engine
}

type Addresses = Pick<EngineProcess, 'ingress' | 'admin' | 'node' | 'identityKey' | 'log'>

class StartedEngine implements EngineProcess {
  readonly ingress: string
  readonly admin: string
  readonly node: string
  readonly identityKey: string
  readonly log: string
  readonly gone: Promise<void>
  readonly #folder: string
  readonly #start: () => ChildProcess
  #child: ChildProcess
  /** True while a restart replaces the process. */
  #isRestarting = false
  #isEnding = false
  #onGone: () => void = () => {}
  /** Kills the engine when this program exits. If this program itself is killed, the next start stops the engine. */
  readonly #kill = (): void => void this.#child.kill('SIGKILL')

  constructor(folder: string, start: () => ChildProcess, addresses: Addresses) {
    this.ingress = addresses.ingress
    this.admin = addresses.admin
    this.node = addresses.node
    this.identityKey = addresses.identityKey
    this.log = addresses.log
    this.#folder = folder
    this.#start = start
    this.gone = new Promise<void>((resolve) => (this.#onGone = resolve)).finally(() => process.off('exit', this.#kill))
    process.on('exit', this.#kill)
    this.#child = this.#begin()
  }

  #begin(): ChildProcess {
    const child = this.#start()
    if (child.pid !== undefined) recordRunningEngine(this.#folder, { program: process.pid, server: child.pid })
    const onGone = (): void => {
      if (!this.#isRestarting) this.#onGone()
    }
    child.once('error', onGone)
    child.once('exit', onGone)
    return child
  }

  async restart(): Promise<void> {
    this.#isRestarting = true
    await this.#endChild()
    // `end` was called during the restart.
    if (this.#isEnding) return
    this.#child = this.#begin()
    this.#isRestarting = false
    await this.ready()
  }

  async end(): Promise<void> {
    this.#isEnding = true
    await this.#endChild()
    // The process may have exited during a restart, which does not report it.
    this.#onGone()
  }

  async #endChild(): Promise<void> {
    const child = this.#child
    if (hasExited(child)) return
    const over = new Promise<void>((resolve) => child.once('exit', () => resolve()))
    child.kill('SIGTERM')
    const timer = setTimeout(this.#kill, stopTimeoutMs)
    await over
    clearTimeout(timer)
  }

  async ready(): Promise<void> {
    const deadline = performance.now() + startTimeoutMs
    for (const url of [`${this.admin}/health`, `${this.ingress}/restate/health`]) {
      while (!(await isHealthy(url))) {
        if (!hasExited(this.#child) && performance.now() < deadline) await pause(200)
        else {
          await this.end()
          throw new UsageError(`The server did not start. See ${this.log}.`)
        }
      }
    }
  }
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null || child.pid === undefined
}

/** The environment without API keys of models, which the server does not need. */
function engineEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const own = /^(?:PATH|HOME|USER|LANG|LC_\w+|TZ|TMPDIR|XDG_\w+|RUST_\w+|RESTATE_\w+|LD_LIBRARY_PATH)$/
  return Object.fromEntries(Object.entries(env).filter(([name]) => own.test(name)))
}

async function isHealthy(url: string): Promise<boolean> {
  const response = await fetch(url).catch(() => undefined)
  await response?.arrayBuffer()
  return response?.ok === true
}

/** Returns the wanted port if it is free, otherwise any free port. */
export async function freePort(wanted: number): Promise<number> {
  const server = createServer()
  const isFree = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(wanted, host, () => resolve(true))
  })
  if (!isFree) return freePort(0)
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  // This cast is safe: the server listens on a port, so its address has one.
  return typeof address === 'object' && address !== null ? address.port : wanted
}

/** The key pair with which an engine signs its requests to workers. */
interface EngineIdentity {
  /** The file with the private key. */
  readonly pemFile: string
  /** The public key, in the form of `--identity-key`. */
  readonly publicKey: string
}

/** The identity of the engine whose data is in this folder; creates it once. */
async function engineIdentity(folder: string): Promise<EngineIdentity> {
  const pemFile = join(folder, 'identity.pem')
  const { privateKey } = generateKeyPairSync('ed25519')
  try {
    await writeFile(pemFile, privateKey.export({ type: 'pkcs8', format: 'pem' }), { flag: 'wx', mode: 0o600 })
  } catch {
    // The file already exists, or reading it below reports the problem.
  }
  return { pemFile, publicKey: publicKeyOf(await readFile(pemFile, 'utf8')) }
}

function publicKeyOf(pem: string): string {
  const der = createPublicKey(createPrivateKey(pem)).export({ type: 'spki', format: 'der' })
  // The last 32 bytes are the raw key.
  return `publickeyv1_${base58(der.subarray(-32))}`
}

const digits = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

function base58(bytes: Uint8Array): string {
  let text = ''
  for (let left = BigInt(`0x${Buffer.from(bytes).toString('hex')}`); left > 0n; left /= 58n)
    text = (digits[Number(left % 58n)] ?? '') + text
  // Base58 writes each leading zero byte as one digit.
  const zeros = bytes.findIndex((byte) => byte !== 0)
  return (digits[0] ?? '').repeat(zeros === -1 ? bytes.length : zeros) + text
}
