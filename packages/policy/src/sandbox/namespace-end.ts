import { closeSync, openSync, readFileSync, readSync, unlinkSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { SandboxError } from './sandbox-error.ts'

/** Where bubblewrap reports the first process of the namespace in which a command runs: a file without a name. */
export class NamespaceReport {
  /** For `stdio` of the command; bubblewrap is told its number by `--info-fd`. */
  readonly descriptor: number
  #first: number | undefined
  #isClosed = false

  /** @param path of a file that is not there */
  constructor(path: string) {
    this.descriptor = openSync(path, 'wx+', 0o600)
    unlinkSync(path)
  }

  /**
   * Resolves when nothing of the command runs any more: bubblewrap ends with the command, and what that started is killed a little later. The first
   * process of a namespace of processes is the last to go.
   * @throws SandboxError where it is still there after ten seconds.
   */
  async gone(): Promise<void> {
    this.#first ??= this.#read()
    this.close()
    if (this.#first === undefined) return
    const deadline = performance.now() + longestMs
    while (isFirstProcess(this.#first)) {
      if (performance.now() >= deadline) throw new SandboxError('what a confined command started cannot be ended')
      await wait(pollMs)
    }
  }

  close(): void {
    if (!this.#isClosed) closeSync(this.descriptor)
    this.#isClosed = true
  }

  #read(): number | undefined {
    if (this.#isClosed) return undefined
    const buffer = Buffer.alloc(1024)
    const length = readSync(this.descriptor, buffer, 0, buffer.length, 0)
    const [, id] = /"child-pid": (\d+)/.exec(buffer.toString('latin1', 0, length)) ?? []
    return id === undefined ? undefined : Number(id)
  }
}

const longestMs = 10_000
const pollMs = 2

/** Whether it runs and is the first of a namespace: a number may have been given to another process. A zombie has left no other behind. */
function isFirstProcess(id: number): boolean {
  try {
    const status = readFileSync(`/proc/${id}/status`, 'latin1')
    return /^NSpid:\t\d+\t(?:\d+\t)*1$/m.test(status) && !/^State:\t[ZX]/m.test(status)
  } catch {
    return false
  }
}
