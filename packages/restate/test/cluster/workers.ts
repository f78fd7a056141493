import { spawn, type ChildProcess } from 'node:child_process'
import { openSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { freePort, wait } from './server.ts'

/** Options of a worker process, and its callbacks. */
export interface WorkerProgram {
  readonly program: string
  /** Its arguments after the port; may depend on the shared address. */
  readonly given?: readonly string[] | ((address: string) => readonly string[])
  /** Options of its Node. */
  readonly execArgv?: readonly string[]
  /** File for its output. */
  readonly logFile: string
  readonly onMessage?: (worker: WorkerProcess, message: unknown) => void
  readonly onExit?: (worker: WorkerProcess) => void
  /** Called when it serves. */
  readonly onReady?: (worker: WorkerProcess) => void
}

/** A process that serves until it is killed. It announces that by the message `serving`. */
export class WorkerProcess {
  readonly port: number
  readonly process: ChildProcess
  readonly sockets = new Set<Socket>()
  isReady = false

  constructor(port: number, child: ChildProcess) {
    this.port = port
    this.process = child
  }

  tell(message: object): void {
    if (this.process.connected) this.process.send(message, () => {})
  }
}

/** Worker processes of one deployment behind one address, like behind a TCP load balancer. A killed one is replaced. */
export class Workers {
  readonly #program: WorkerProgram
  readonly #workers: WorkerProcess[] = []
  // Without `noDelay`, each small frame waits for the acknowledgement of the previous one, some 40 ms.
  readonly #proxy = createServer({ noDelay: true }, (socket) => this.#connect(socket))
  #port = 0
  #turn = 0
  #isStopped = false

  private constructor(program: WorkerProgram) {
    this.#program = program
  }

  static async start(program: WorkerProgram, count: number): Promise<Workers> {
    const workers = new Workers(program)
    workers.#port = await freePort()
    await new Promise<void>((resolve) => workers.#proxy.listen(workers.#port, '127.0.0.1', resolve))
    await Promise.all(Array.from({ length: count }, () => workers.#spawn()))
    while (workers.ready.length < count) await wait(20)
    return workers
  }

  /** Starts another one. */
  async add(): Promise<void> {
    const before = this.ready.length
    await this.#spawn()
    while (this.ready.length <= before) await wait(20)
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  get ready(): readonly WorkerProcess[] {
    return this.#workers.filter(({ isReady }) => isReady)
  }

  tell(message: object): void {
    for (const worker of this.ready) worker.tell(message)
  }

  async #spawn(): Promise<void> {
    const { program, given = [], execArgv = [], logFile, onMessage, onExit, onReady } = this.#program
    const port = await freePort()
    const log = openSync(logFile, 'a')
    const behind = typeof given === 'function' ? given(this.url) : given
    const child = spawn(process.execPath, [...execArgv, program, String(port), ...behind], {
      stdio: ['ignore', log, log, 'ipc'],
    })
    const worker = new WorkerProcess(port, child)
    this.#workers.push(worker)
    child.on('message', (message) => {
      if (message === 'serving') {
        worker.isReady = true
        onReady?.(worker)
      } else onMessage?.(worker, message)
    })
    child.on('exit', () => {
      this.#workers.splice(this.#workers.indexOf(worker), 1)
      for (const socket of worker.sockets) socket.destroy()
      onExit?.(worker)
      if (!this.#isStopped) void this.#spawn()
    })
  }

  #connect(socket: Socket): void {
    const { ready } = this
    const worker = ready[this.#turn++ % Math.max(1, ready.length)]
    if (worker === undefined) return void socket.destroy()
    const other = connect({ port: worker.port, host: '127.0.0.1', noDelay: true })
    for (const [from, to] of [
      [socket, other],
      [other, socket],
    ] as const) {
      worker.sockets.add(from)
      from.on('error', () => {})
      from.on('close', () => {
        worker.sockets.delete(from)
        to.destroy()
      })
      from.pipe(to)
    }
  }

  /** Kills a process. */
  kill(worker: WorkerProcess): Promise<void> {
    return this.#end(worker, 'SIGKILL')
  }

  /** Terminates a process, which leaves its sessions first. */
  drain(worker: WorkerProcess): Promise<void> {
    return this.#end(worker, 'SIGTERM')
  }

  async #end(worker: WorkerProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const { process: child } = worker
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise((resolve) => child.once('exit', resolve))
    worker.isReady = false
    child.kill(signal)
    await gone
  }

  /** Closes the connections of a process, which keeps running. */
  cut(worker: WorkerProcess): void {
    for (const socket of worker.sockets) socket.destroy()
  }

  /** Stops a process, or lets it continue: it hangs, and nobody is notified. */
  hold(worker: WorkerProcess, isHeld: boolean): void {
    worker.process.kill(isHeld ? 'SIGSTOP' : 'SIGCONT')
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all([...this.#workers].map((worker) => this.kill(worker)))
    this.#proxy.close()
  }
}
