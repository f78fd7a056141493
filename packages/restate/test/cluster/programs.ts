import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { wait } from './server.ts'

export function demand(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what)
}

/** Polls until the condition holds, for at most a minute. */
export async function until(holds: () => boolean | Promise<boolean>, what: () => string): Promise<void> {
  for (let left = 600; !(await holds()); left--) {
    demand(left > 0, what())
    await wait(100)
  }
}

/** A program that was started; it is ended by its id. */
export class Program {
  readonly child: ChildProcess
  #said = ''

  constructor(child: ChildProcess) {
    this.child = child
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => (this.#said += String(text)))
  }

  /** Its output so far. */
  get output(): string {
    return this.#said
  }

  get isGone(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null
  }

  async ended(): Promise<number | string | null> {
    if (!this.isGone) await new Promise((resolve) => this.child.once('close', resolve))
    return this.child.exitCode ?? this.child.signalCode
  }

  async says(text: string): Promise<void> {
    await until(
      () => {
        demand(!this.isGone || this.output.includes(text), `It ended with ${this.child.exitCode}: ${this.output}`)
        return this.output.includes(text)
      },
      () => `It does not say "${text}": ${this.output}`,
    )
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<number | string | null> {
    if (!this.isGone) this.child.kill(signal)
    return this.ended()
  }
}

export interface StartOptions {
  readonly cwd?: string
  readonly env?: NodeJS.ProcessEnv
}

/** Programs of one check, in its folder and with a separate home there. */
export class Programs {
  readonly folder: string
  readonly home: string
  readonly #started: Program[] = []

  constructor(folder: string) {
    this.folder = folder
    this.home = join(folder, 'home')
    mkdirSync(this.home, { recursive: true })
  }

  start(command: string, args: readonly string[], { cwd, env }: StartOptions = {}): Program {
    const child = spawn(command, args, {
      cwd: cwd ?? this.folder,
      env: { PATH: process.env['PATH'], HOME: this.home, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const program = new Program(child)
    this.#started.push(program)
    return program
  }

  /** The program of this repository, on the current Node. */
  halting(args: readonly string[], options?: StartOptions): Program {
    return this.start(process.execPath, [join(process.cwd(), 'packages/cli/bin/halting.js'), ...args], options)
  }

  /** Its output once it has ended successfully. */
  async run(args: readonly string[], options?: StartOptions): Promise<string> {
    const program = this.halting(args, options)
    const status = await program.ended()
    demand(status === 0, `halting ${args.join(' ')} ended with ${status}: ${program.output}`)
    return program.output
  }

  async end(): Promise<void> {
    for (const program of this.#started.toReversed()) await program.kill()
  }
}

/** One address in front of several ports, like a TCP load balancer: each connection goes to the next port that accepts it. */
export class Balancer {
  readonly #server: Server
  readonly #targets: readonly number[]
  readonly #sockets = new Set<Socket>()
  #turn = 0

  private constructor(targets: readonly number[]) {
    this.#targets = targets
    this.#server = createServer({ noDelay: true }, (socket) => {
      this.#sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => this.#sockets.delete(socket))
      this.#connect(socket, this.#targets.length)
    })
  }

  static async start(targets: readonly number[]): Promise<Balancer> {
    const balancer = new Balancer(targets)
    await new Promise<void>((resolve) => balancer.#server.listen(0, '127.0.0.1', resolve))
    return balancer
  }

  get url(): string {
    const address = this.#server.address()
    demand(address !== null && typeof address === 'object', 'It listens.')
    return `http://127.0.0.1:${address.port}`
  }

  #connect(socket: Socket, left: number): void {
    const port = this.#targets[this.#turn++ % this.#targets.length]
    if (left === 0 || port === undefined) return void socket.destroy()
    const other = connect({ port, host: '127.0.0.1', noDelay: true })
    const another = (): void => this.#connect(socket, left - 1)
    other.once('error', another)
    other.once('connect', () => {
      other.off('error', another)
      other.on('error', () => {})
      other.on('close', () => socket.destroy())
      socket.on('close', () => other.destroy())
      other.pipe(socket)
      socket.pipe(other)
    })
  }

  stop(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }
}
