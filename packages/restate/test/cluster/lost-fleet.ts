import { spawn, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SessionRequest } from '../../src/service/messages.ts'
import type { SessionStatus } from '../../src/service/status.ts'
import { Cluster, freePort, wait } from './server.ts'

/** A note of a worker: when, which process, what, and about which session. */
export interface Noted {
  readonly atMs: number
  readonly pid: number
  readonly what: string
  readonly session: string
  readonly about: string
}

export interface FleetWorker {
  readonly port: number
  readonly url: string
  readonly child: ChildProcess
}

/** A node, and workers with separate addresses that are killed, stopped and never return. They run worker.ts. */
export class LostFleet {
  readonly cluster: Cluster
  readonly #folder: string
  readonly #processes: ChildProcess[] = []
  readonly #problems: string[] = []

  private constructor(cluster: Cluster, folder: string) {
    this.cluster = cluster
    this.#folder = folder
  }

  static async start(program: string, folder: string): Promise<LostFleet> {
    return new LostFleet(await Cluster.start(program, folder, 1), folder)
  }

  expect(holds: boolean, promise: string): void {
    console.log(`${holds ? 'kept' : 'BROKEN'}: ${promise}`)
    if (!holds) this.#problems.push(promise)
  }

  async worker(port?: number, env: NodeJS.ProcessEnv = {}): Promise<FleetWorker> {
    const at = port ?? (await freePort())
    const program = join(dirname(fileURLToPath(import.meta.url)), 'worker.mjs')
    const child = spawn(process.execPath, [program, String(at), this.#log, this.cluster.admin()], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, RESTATE_LOGGING: 'ERROR', ...env },
    })
    this.#processes.push(child)
    const url = `http://127.0.0.1:${at}`
    await this.cluster.register(url)
    // Waiting work is released soon.
    await this.#change('/services/halting_session', { inactivity_timeout: '2s' })
    return { port: at, url, child }
  }

  async #change(path: string, body: object): Promise<void> {
    await fetch(this.cluster.admin() + path, {
      method: 'PATCH',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  }

  get #log(): string {
    return join(this.#folder, 'log')
  }

  async kill({ child }: FleetWorker): Promise<number> {
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await gone
    return Date.now()
  }

  async ask(session: string, id: string, request: SessionRequest, opening?: object): Promise<void> {
    const body = { id, request, ...(opening !== undefined && { opening }) }
    await this.cluster.call(`halting_session/${session}/request`, body)
  }

  async prompt(session: string, id: string, opening: object): Promise<void> {
    await this.ask(session, id, { type: 'prompt', content: 'go' }, opening)
  }

  async allow(session: string, ...calls: readonly string[]): Promise<void> {
    for (const callId of calls)
      await this.ask(session, `allow ${callId}`, { type: 'answer', callId, answer: { behavior: 'allow' } })
  }

  async until(session: string, holds: (status: SessionStatus) => boolean, seconds = 60): Promise<SessionStatus> {
    for (let left = seconds * 4; ; left--) {
      // The object returns it.
      const status = (await this.cluster.call(`halting_session/${session}/status`)) as SessionStatus
      if (holds(status) || left === 0) return status
      await wait(250)
    }
  }

  noted(what?: string): readonly Noted[] {
    return readFileSync(this.#log, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.split(' '))
      .map(([at, pid, verb = '', session = '', about = '']) => ({
        atMs: Number(at),
        pid: Number(pid),
        what: verb,
        session,
        about,
      }))
      .filter((line) => what === undefined || line.what === what)
  }

  /** Seconds after a moment until each session did something in another process; undefined for one that did not in time. */
  async wentOn(
    sessions: readonly string[],
    {
      sinceMs,
      lost,
      seconds,
    }: { readonly sinceMs: number; readonly lost: readonly FleetWorker[]; readonly seconds: number },
  ): Promise<ReadonlyMap<string, number | undefined>> {
    const dead = new Set(lost.map(({ child }) => child.pid))
    for (;;) {
      const lines = this.noted().filter(({ atMs, pid }) => atMs >= sinceMs && !dead.has(pid))
      const found = new Map(sessions.map((session) => [session, lines.find((line) => line.session === session)?.atMs]))
      const isDone = [...found.values()].every((at) => at !== undefined)
      if (isDone || Date.now() > sinceMs + seconds * 1000)
        return new Map([...found].map(([session, at]) => [session, at === undefined ? at : (at - sinceMs) / 1000]))
      await wait(200)
    }
  }

  /** Calls that were made, by session and id, once for each time. */
  get paid(): readonly string[] {
    return this.noted('paid').map(({ session, about }) => `${session} ${about}`)
  }

  expectNothingTwice(): void {
    const { paid } = this
    const twice = [...new Set(paid.filter((call, at) => paid.indexOf(call) !== at))]
    this.expect(
      twice.length === 0,
      `no call was made twice (${paid.length} were made${twice.map((call) => `, ${call} twice`).join('')})`,
    )
  }

  async end(): Promise<never> {
    let left = await this.cluster.unfinished()
    for (let tries = 40; tries > 0 && left.length > 0; tries--) {
      await wait(250)
      left = await this.cluster.unfinished()
    }
    this.expect(
      left.length === 0,
      `nothing is left in the engine ${left.length === 0 ? '' : JSON.stringify(left)}`.trim(),
    )
    for (const problem of this.#problems) console.error(problem)
    for (const child of this.#processes) child.kill('SIGKILL')
    await this.cluster.stop()
    process.exit(this.#problems.length === 0 ? 0 : 1)
  }
}

/** `s-1 11.2 s, …`. */
export function secondsOf(times: ReadonlyMap<string, number | undefined>): string {
  return [...times].map(([name, at]) => `${name} ${at === undefined ? 'never' : `${at.toFixed(1)} s`}`).join(', ')
}

export function areWithin(times: ReadonlyMap<string, number | undefined>, seconds: number): boolean {
  return [...times.values()].every((at) => at !== undefined && at <= seconds)
}
