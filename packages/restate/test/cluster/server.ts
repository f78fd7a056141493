import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, openSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'

/** A free port of this machine. Another process may take it before it is used. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('A port has a number.')
  return address.port
}

interface Ports {
  readonly ingress: number
  readonly admin: number
  readonly node: number
}

/** Nodes of Restate on this machine, started for a test: they can be killed and restarted. */
export class Cluster {
  readonly #program: string
  readonly #folder: string
  readonly #nodes: { readonly name: string; readonly ports: Ports; process: ChildProcess | undefined }[]

  private constructor(program: string, folder: string, ports: readonly Ports[]) {
    this.#program = program
    this.#folder = folder
    this.#nodes = ports.map((one, index) => ({ name: `n${index + 1}`, ports: one, process: undefined }))
  }

  static async start(program: string, folder: string, nodes: 1 | 3): Promise<Cluster> {
    const ports: Ports[] = []
    for (let index = 0; index < nodes; index++)
      ports.push({ ingress: await freePort(), admin: await freePort(), node: await freePort() })
    const cluster = new Cluster(program, folder, ports)
    for (let index = 0; index < nodes; index++) cluster.#spawn(index)
    await cluster.ready()
    return cluster
  }

  get size(): number {
    return this.#nodes.length
  }

  ingress(index = 0): string {
    return `http://127.0.0.1:${this.#nodes[index]?.ports.ingress}`
  }

  admin(index = 0): string {
    return `http://127.0.0.1:${this.#nodes[index]?.ports.admin}`
  }

  /** Where a node talks to others, and has its metrics. */
  node(index = 0): string {
    return `http://127.0.0.1:${this.#nodes[index]?.ports.node}`
  }

  pid(index = 0): number | undefined {
    return this.#nodes[index]?.process?.pid
  }

  #spawn(index: number): void {
    const node = this.#nodes[index]
    if (node === undefined) throw new Error(`There is no node ${index}.`)
    const data = join(this.#folder, 'data')
    mkdirSync(data, { recursive: true })
    const { ingress, admin, node: own } = node.ports
    const all = this.#nodes.map(({ ports }) => `http://127.0.0.1:${ports.node}`)
    const isCluster = this.#nodes.length > 1
    const log = openSync(join(this.#folder, `${node.name}.log`), 'a')
    node.process = spawn(this.#program, ['--base-dir', data, '--node-name', node.name], {
      stdio: ['ignore', log, log],
      env: {
        ...process.env,
        RESTATE_CLUSTER_NAME: 'halting-test',
        RESTATE_DISABLE_TELEMETRY: 'true',
        DO_NOT_TRACK: '1',
        RESTATE_LOG_FILTER: 'warn',
        RESTATE_DEFAULT_NUM_PARTITIONS: '4',
        RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: '256 MB',
        RESTATE_BIND_ADDRESS: `127.0.0.1:${own}`,
        RESTATE_ADVERTISED_ADDRESS: `http://127.0.0.1:${own}`,
        RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
        RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
        ...(isCluster && {
          RESTATE_AUTO_PROVISION: String(index === 0),
          RESTATE_DEFAULT_REPLICATION: '2',
          RESTATE_METADATA_CLIENT__ADDRESSES: `[${all.map((address) => `"${address}"`).join(',')}]`,
        }),
      },
    })
  }

  /** Kills a node and restarts it. */
  async kill(index = 0): Promise<void> {
    const node = this.#nodes[index]
    if (node?.process === undefined) throw new Error(`Node ${index} does not run.`)
    const gone = new Promise((resolve) => node.process?.once('exit', resolve))
    node.process.kill('SIGKILL')
    await gone
    this.#spawn(index)
  }

  /** Every node accepts requests. */
  async ready(): Promise<void> {
    for (const { ports } of this.#nodes) {
      await answers(`http://127.0.0.1:${ports.admin}/health`)
      await answers(`http://127.0.0.1:${ports.ingress}/restate/health`)
    }
  }

  /** Calls an object as a client does: retries at another node while none answers. */
  call(path: string, body?: unknown): Promise<unknown> {
    return callAt((left) => this.ingress(left % this.size), path, body)
  }

  /** The engine's view of unfinished invocations, for debugging. */
  async unfinished(): Promise<readonly unknown[]> {
    const query =
      "select target, status, retry_count, last_failure, modified_at, journal_size, suspended_waiting_for_completions, pinned_deployment_id from sys_invocation where status <> 'completed'"
    return this.query(query).catch((error: unknown) => [String(error)])
  }

  /** The result of a query. */
  async query(query: string): Promise<readonly Record<string, unknown>[]> {
    const response = await fetch(`${this.admin()}/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ query }),
      signal: AbortSignal.timeout(10_000),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(text)
    // Rows of the engine's own.
    return (JSON.parse(text) as { readonly rows: readonly Record<string, unknown>[] }).rows
  }

  async register(url: string): Promise<void> {
    for (let left = 60; ; left--) {
      const response = await fetch(`${this.admin()}/deployments`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ uri: url, force: true }),
      }).catch(() => undefined)
      if (response?.ok === true) return
      if (left === 0) throw new Error(`${url} could not be registered: ${await response?.text()}`)
      await wait(500)
    }
  }

  async stop(): Promise<void> {
    for (const { process: child } of this.#nodes) {
      if (child === undefined || child.exitCode !== null) continue
      const gone = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGKILL')
      await gone
    }
  }
}

async function answers(url: string): Promise<void> {
  for (let left = 240; ; left--) {
    const response = await fetch(url).catch(() => undefined)
    await response?.arrayBuffer()
    if (response?.ok === true) return
    if (left === 0) throw new Error(`${url} does not answer.`)
    await wait(250)
  }
}

export function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Calls a handler, and retries 120 times while nobody answers, at the address for the remaining tries. */
export async function callAt(address: (left: number) => string, path: string, body?: unknown): Promise<unknown> {
  for (let left = 120; ; left--) {
    const response = await fetch(`${address(left)}/${path}`, {
      method: 'POST',
      ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(20_000),
    }).catch(() => undefined)
    const text = await response?.text().catch(() => undefined)
    if (response?.ok === true && text !== undefined) return text === '' ? undefined : JSON.parse(text)
    if (left === 0) throw new Error(`${path}: ${response?.status} ${text}`)
    await wait(250)
  }
}
