import { Worker } from 'node:worker_threads'

export interface WorkerBounds {
  readonly signal: AbortSignal
  readonly maxMs: number
  /** Memory limit for objects and buffers. */
  readonly maxMegabytes: number
}

/** The result of work in a thread. */
export type WorkerEnd =
  | { readonly kind: 'done'; readonly value: unknown }
  /** The work failed, or the thread crashed. */
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'late' }

const watchMs = 50

/**
 * Runs code in a thread. The thread is ended by the signal, after a time limit, or when it uses too much memory:
 * untrusted input may block a library forever. `code` is the body of an async function that receives `data` and
 * returns a cloneable value.
 * @throws the reason of the signal.
 */
export async function inWorker(code: string, data: unknown, bounds: WorkerBounds): Promise<WorkerEnd> {
  const { signal, maxMs, maxMegabytes } = bounds
  signal.throwIfAborted()
  const worker = new Worker(`${before}${code}${after}`, {
    eval: true,
    workerData: data,
    resourceLimits: { maxOldGenerationSizeMb: maxMegabytes },
    // No API keys, and no flags of this program.
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
  })
  const ended = new Promise<WorkerEnd>((resolve) => {
    worker.once('message', (message: { readonly value?: unknown; readonly why?: string }) =>
      resolve(
        message.why === undefined ? { kind: 'done', value: message.value } : { kind: 'failed', why: message.why },
      ),
    )
    worker.once('error', (error) =>
      resolve({ kind: 'failed', why: error instanceof Error ? error.message : 'it broke' }),
    )
    worker.once('exit', () => resolve({ kind: 'failed', why: 'it ended without an answer' }))
  })
  let timer: NodeJS.Timeout | undefined
  let watch: NodeJS.Timeout | undefined
  let abort = (): void => undefined
  const late = new Promise<WorkerEnd>((resolve) => {
    timer = setTimeout(() => resolve({ kind: 'late' }), maxMs)
    abort = () => resolve({ kind: 'late' })
    signal.addEventListener('abort', abort)
  })
  const large = new Promise<WorkerEnd>((resolve) => {
    // The limits of a thread cover only objects; memory of buffers shows in the process.
    const before = process.memoryUsage.rss()
    watch = setInterval(() => {
      if (process.memoryUsage.rss() - before > maxMegabytes * 1024 * 1024)
        resolve({ kind: 'failed', why: `It takes more than ${maxMegabytes} MB of memory` })
    }, watchMs)
  })
  try {
    const end = await Promise.race([ended, late, large])
    signal.throwIfAborted()
    return end
  } finally {
    clearTimeout(timer)
    clearInterval(watch)
    signal.removeEventListener('abort', abort)
    await worker.terminate()
  }
}

const before = `const { parentPort, workerData: data } = require('node:worker_threads')
const work = async () => {
`
const after = `
}
work().then(
  (value) => parentPort.postMessage({ value }),
  (error) => parentPort.postMessage({ why: String(error?.message ?? error).slice(0, 500) || 'it failed' }),
)`
