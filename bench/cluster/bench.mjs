// A node of the engine with workers, and sessions on it as an HTTP client sees them.
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sessionObject } from '@halting/restate'
import { Cluster } from '../../packages/restate/test/cluster/server.ts'
import { Workers } from '../../packages/restate/test/cluster/workers.ts'

const workerProgram = fileURLToPath(new URL('worker.mjs', import.meta.url))

export class Bench {
  cluster
  workers
  #folder
  #names = 0
  #asked = new Map()

  /** Its workers are processes of their own. */
  static async start(program, folder, count = 1) {
    mkdirSync(folder, { recursive: true })
    const bench = new Bench()
    bench.#folder = folder
    bench.cluster = await Cluster.start(program, folder, 1)
    await bench.employ(count)
    return bench
  }

  /** Replaces the workers by this many. `given`: their arguments after the port. */
  async employ(count, given = []) {
    await this.workers?.stop()
    const onMessage = (_worker, { id, ...answer }) => {
      this.#asked.get(id)?.(answer)
      this.#asked.delete(id)
    }
    const logFile = join(this.#folder, 'workers.log')
    this.workers = await Workers.start({ program: workerProgram, given, logFile, onMessage, execArgv: ['--expose-gc'] }, count)
    await this.cluster.register(this.workers.url)
  }

  async stop() {
    await this.workers.stop()
    await this.cluster.stop()
  }

  /** A session name that was not used before. */
  name() {
    return `s${this.#names++}`
  }

  /** Sends a request to a worker process and returns its reply. */
  ask(order, worker = this.workers.ready[0]) {
    const id = this.#names++
    return new Promise((resolve) => {
      this.#asked.set(id, resolve)
      worker.tell({ ...order, id })
    })
  }

  async post(path, body) {
    const response = await fetch(`${this.cluster.ingress()}/${path}`, {
      method: 'POST',
      ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }

  /** Begins a session. */
  prompt(play, key) {
    return this.post(`${sessionObject}/${key}/prompt`, { id: 'p', content: 'Go.', opening: play })
  }

  /** Waits until its run has ended. */
  async ended(key) {
    const { state, result } = await this.post(`${sessionObject}/${key}/result`, { id: 'p', wait: true })
    if (state !== 'answered' || result.subtype !== 'success') throw new Error(`${key}: ${state} ${JSON.stringify(result)}`)
    return result
  }

  /** Runs a session from its prompt to its result. */
  async halting(play, key = this.name()) {
    await this.prompt(play, key)
    const { num_turns: turns } = await this.ended(key)
    if (turns !== play.turns + 1) throw new Error(`${key} had ${turns} turns.`)
  }

  /** Does the same work with a handler that was written by hand. */
  async bare(play, key = this.name()) {
    const messages = await this.post(`bare/${key}/run`, play)
    if (messages !== 2 * play.turns + 1) throw new Error(`${key} had ${messages} messages.`)
  }

  cpuMsOf({ process: { pid } }) {
    return usageOf(pid).cpuMs
  }

  /** CPU time so far and memory, of the workers and of the server. */
  usage() {
    const workers = this.workers.ready.map(({ process: { pid } }) => usageOf(pid))
    const sum = (key) => workers.reduce((all, each) => all + each[key], 0)
    return { workers: { cpuMs: sum('cpuMs'), rssMb: sum('rssMb') }, server: usageOf(this.cluster.pid()) }
  }
}

/** As Linux reports it. */
function usageOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const rssKb = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return { cpuMs: (Number(fields[11]) + Number(fields[12])) * 10, rssMb: Number(rssKb) / 1_024 }
}

/** Does this many things, at most `most` of them at once. */
export async function atOnce(count, most, act) {
  let next = 0
  const lane = async () => {
    while (next < count) await act(next++)
  }
  await Promise.all(Array.from({ length: Math.min(most, count) }, lane))
}
