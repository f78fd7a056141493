import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { StringDecoder } from 'node:string_decoder'
import type { Sandbox } from '@halting/policy/sandbox'
import { whyNotStarted } from '../not-started.ts'
import { type PipedProcess, spawnPiped } from '@halting/policy'
import type { HookProcesses } from './processes.ts'

/** How a hook of any type ended. A failure is a value, never an exception. */
export interface HookEnd {
  /**
   * `left`: the hook declared itself a background hook. `not confined`: it did not run, because the sandbox could not
   * confine it. `threw`: a function threw.
   */
  readonly kind: 'exited' | 'killed' | 'timed out' | 'aborted' | 'not started' | 'left' | 'not confined' | 'threw'
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
  /** The hook ran in the sandbox. */
  readonly isConfined?: true
}

export interface CommandCall {
  readonly command: string
  /** The input for stdin: one JSON object. */
  readonly input: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** Called periodically with the hook's output so far. */
  readonly onProgress?: ((stdout: string, stderr: string) => void) | undefined
  /** Confines the hook like the commands of the session. */
  readonly sandbox?: Sandbox | undefined
  /** Files that the hook can read in any case: the sandbox may hide the transcript. */
  readonly readable?: readonly string[]
}

/**
 * Output beyond this limit is read and dropped, so that a flood of output neither blocks the pipe nor fills memory.
 */
export const stdoutLimit = 1_000_000
const stderrLimit = 100_000
const progressMs = 1_000

/**
 * Runs one command hook in its own process group. C1: writing stdin may fail (EPIPE): a hook need not read it. C2: the
 * hook has ended when its own process has ended; child processes that hold a pipe open are awaited only briefly. C3: a
 * timeout or an
 * abort ends its whole group. C4: with a sandbox it runs confined, or not at all, and everything that it started ends
 * with it.
 * @throws SandboxError if the command cannot be confined.
 */
export async function runCommand(call: CommandCall, processes: HookProcesses): Promise<HookEnd> {
  const { signal, timeoutMs } = call
  if (signal.aborted) return { kind: 'aborted', exitCode: null, stdout: '', stderr: '' }
  const own = randomUUID()
  const child = start(call, processes.environment(call.env, own))
  const stdout = new OutputHead(child.stdout, stdoutLimit)
  const stderr = new OutputHead(child.stderr, stderrLimit)
  const isConfined = call.sandbox !== undefined && !call.sandbox.excludes(call.command)
  const end = (kind: HookEnd['kind'], exitCode: number | null = null, more = ''): HookEnd => ({
    ...(isConfined && { isConfined }),
    kind,
    exitCode,
    stdout: stdout.text,
    stderr: stderr.text + more,
  })
  if (child.pid === undefined) return end('not started', null, await startProblem(child, call.cwd))
  const group = processes.add(child.pid, own)
  child.stdin.on('error', () => undefined)
  child.stdin.end(call.input)
  const progress = reportProgress(call, stdout, stderr)
  try {
    const how = await firstEnd(child, stdout, signal, timeoutMs)
    if (how === 'timed out' || how === 'aborted') {
      await processes.end(group)
      return end(how)
    }
    if (how === 'left') return end('left')
    await drained(child, [stdout, stderr])
    processes.release(group)
    // Bubblewrap reports errors before the sandbox exists. A hook that prints the same text is treated the same way.
    const isUnconfined = isConfined && how.exitCode === 1 && stderr.text.startsWith('bwrap: ')
    if (isUnconfined) return end('not confined')
    return how.exitCode === null ? end('killed', null, `ended by ${how.signal}`) : end('exited', how.exitCode)
  } finally {
    clearInterval(progress)
    stdout.unref()
    stderr.unref()
  }
}

function start({ command, cwd, sandbox, readable }: CommandCall, env: CommandCall['env']): PipedProcess {
  // If stdin is a socket, bash assumes a remote shell and reads the user's start-up file.
  const bash = { file: 'bash', args: ['--norc', '-c', command], cwd, env }
  if (sandbox === undefined || sandbox.excludes(command)) return spawnPiped(bash)
  return spawnPiped(bash, { sandbox, described: sandbox.describe('project', readable) })
}

/** The beginning of a pipe's output; the rest is read and dropped. */
class OutputHead {
  text = ''
  changes = 0
  readonly #pipe: NodeJS.ReadableStream
  #onText: (() => void) | undefined

  constructor(pipe: NodeJS.ReadableStream, limit: number) {
    this.#pipe = pipe
    const decoder = new StringDecoder('utf8')
    pipe.on('data', (chunk: Buffer) => {
      this.changes++
      if (this.text.length < limit) this.text = (this.text + decoder.write(chunk)).slice(0, limit)
      this.#onText?.()
    })
    pipe.on('error', () => undefined)
  }

  whenText(call: () => void): void {
    this.#onText = call
  }

  /** Lets this program exit while the pipe is still open. */
  unref(): void {
    this.#onText = undefined
    const pipe = this.#pipe
    // Pipes of child processes are sockets, which the types do not express.
    if ('unref' in pipe && typeof pipe.unref === 'function') pipe.unref()
  }
}

type Ended = { readonly exitCode: number | null; readonly signal: string | null }

function firstEnd(
  child: ChildProcess,
  stdout: OutputHead,
  signal: AbortSignal,
  timeoutMs: number,
): Promise<Ended | 'timed out' | 'aborted' | 'left'> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => done('timed out'), timeoutMs)
    const onAbort = (): void => done('aborted')
    const done = (how: Ended | 'timed out' | 'aborted' | 'left'): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      resolve(how)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    child.once('exit', (exitCode, name) => done({ exitCode, signal: name }))
    stdout.whenText(() => {
      // Checks only the beginning: checking the whole output at each chunk would take quadratic time.
      if (stdout.text.length < 10_000 && declaresAsync(stdout.text)) done('left')
    })
  })
}

/** Whether the first line of the output is `{"async": true}`: then the session does not wait for the hook. */
function declaresAsync(text: string): boolean {
  const [first = ''] = text.trimStart().split('\n', 1)
  return first.length < 200 && /^\{\s*"async"\s*:\s*true\b[^{]*\}\s*$/.test(first)
}

const quietMs = 60
const longestDrainMs = 1_000

/** Resolves when both pipes are closed or have been silent for a short time. */
async function drained(child: ChildProcess, pipes: readonly OutputHead[]): Promise<void> {
  if (child.stdout?.readableEnded === true && child.stderr?.readableEnded === true) return
  const closing = new AbortController()
  const closed = new Promise<void>((resolve) => {
    child.once('close', () => {
      closing.abort()
      resolve()
    })
  })
  const deadline = performance.now() + longestDrainMs
  for (let seen = -1; !closing.signal.aborted && performance.now() < deadline;) {
    const changes = pipes.reduce((sum, pipe) => sum + pipe.changes, 0)
    if (changes === seen) return
    seen = changes
    const stop = new AbortController()
    await Promise.race([closed, wait(quietMs, undefined, { signal: stop.signal }).catch(() => undefined)])
    stop.abort()
  }
}

function startProblem(child: ChildProcess, cwd: string): Promise<string> {
  return new Promise((resolve) => child.once('error', (error) => resolve(whyNotStarted(error, cwd))))
}

function reportProgress(
  { onProgress }: CommandCall,
  stdout: OutputHead,
  stderr: OutputHead,
): NodeJS.Timeout | undefined {
  if (onProgress === undefined) return undefined
  let reported = 0
  const timer = setInterval(() => {
    const changes = stdout.changes + stderr.changes
    if (changes === reported) return
    reported = changes
    onProgress(stdout.text, stderr.text)
  }, progressMs)
  return timer.unref()
}
