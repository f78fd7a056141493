import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { codeOf, tailOf } from '@halting/core/adapters'
import { realPath } from '@halting/journal/files'
import type { Environment } from '@halting/policy/files'
import type { Sandbox } from '@halting/policy/sandbox'
import { whyNotStarted } from '../not-started.ts'
import { isRunningInTurns, markVariable, processScanStart, type ProcessGroup } from '../tools/process-group.ts'
import { ProcessTable } from '../tools/process-table.ts'
import { commandTooLong } from '../tools/shell-texts.ts'
import { checkedFolder } from './folder-lock.ts'
import { stripVTControlCharacters } from 'node:util'

/** The command of a check, and its folder. */
export interface CheckCommand {
  readonly command: string
  readonly cwd: string
  readonly env: Environment
  readonly sandbox: Sandbox | undefined
  /** Patterns of deny rules for writing that do not apply to the check. */
  readonly writable: ReadonlySet<string> | undefined
  readonly redact: ((text: string) => string) | undefined
}

/** How the command of a check ended. A failure is a value, never an exception. */
export interface CheckEnd {
  readonly kind: 'exited' | 'killed' | 'aborted' | 'not started'
  readonly exitCode: number | null
  /** The end of the command's output. */
  readonly output: string
  /** The signal that ended the command, or why the command did not start. */
  readonly detail: string | undefined
}

/** Milliseconds between SIGTERM and SIGKILL. */
const graceMs = 1000
/** How long to wait for output of processes that a finished command left running. */
const quietMs = 60
const longestDrainMs = 1000

/** Running checks, which end together with this program in any case. */
const running = new ProcessTable(graceMs)

/**
 * The bash process around the command. It is `$PPID` of the command, so a command that kills its parent kills only its
 * own check. The reader of descriptor 3 detects the end-of-file when this program ends, even by SIGKILL. It then ends
 * the group and all processes with the mark of the check (`$2`) in their environment, so that after a restart no
 * second check runs in parallel.
 */
export const supervisor: string = [
  'exec 2>/dev/null',
  // Kills the supervisor first: otherwise it would end the watcher when the command has ended.
  '{ read -r -u 3; kill -KILL $$',
  // Processes that left the group have the mark in their environment. Runs twice, to detect processes that were
  // started meanwhile.
  'for round in 1 2; do for file in $(grep -alsF -e "${2:?}" /proc/[0-9]*/environ); do',
  '[[ $file = "/proc/$BASHPID/environ" ]] || kill -KILL "${file//[!0-9]/}"',
  'done; done; kill -KILL 0; } </dev/null >/dev/null &',
  'watcher=$!',
  'exec 3<&-',
  '"$BASH" -o pipefail -c "$1" 2>&1',
  'status=$?',
  'kill -KILL $watcher',
  'exit $status',
].join('\n')

// Spec R-GOAL-33.
/**
 * Runs `bash -o pipefail -c COMMAND` in its own process group, without input and with one pipe for both outputs. C1:
 * when the promise resolves, the command and everything that it started have ended; on Linux also processes that left
 * its group. C2:
 * memory is bounded for any output.
 * @throws SandboxError if the command cannot be confined; it did not run then.
 */
export async function runCheck(check: CheckCommand, signal: AbortSignal): Promise<CheckEnd> {
  if (signal.aborted) return { kind: 'aborted', exitCode: null, output: '', detail: undefined }
  const mark = randomUUID()
  const started = processScanStart()
  let child: ChildProcess
  try {
    child = start(check, mark)
  } catch (thrown) {
    if (codeOf(thrown) !== 'E2BIG') throw thrown
    return { kind: 'not started', exitCode: null, output: '', detail: commandTooLong }
  }
  const tail = new OutputTail()
  const pipes = child.stdio.slice(1).filter((pipe): pipe is Readable => pipe !== null && pipe !== undefined)
  const activity = { at: performance.now() }
  for (const pipe of pipes.slice(0, 2)) {
    pipe.on('data', (chunk: Buffer) => {
      activity.at = performance.now()
      tail.append(chunk)
    })
  }
  // Errors of a pipe are irrelevant: the process reports how the command ended.
  for (const pipe of pipes) pipe.on('error', () => undefined)
  if (child.pid === undefined) {
    const error = await new Promise<Error>((resolve) => child.once('error', resolve))
    return { kind: 'not started', exitCode: null, output: '', detail: whyNotStarted(error, check.cwd) }
  }
  const group: ProcessGroup = { groupId: child.pid, mark, knownBy: 'group', started }
  running.add(group)
  try {
    return { ...(await endOf(child, group, activity, signal)), output: tail.text(check.redact) }
  } finally {
    for (const pipe of pipes) pipe.destroy()
  }
}

async function endOf(
  child: ChildProcess,
  group: ProcessGroup,
  activity: { readonly at: number },
  signal: AbortSignal,
): Promise<Omit<CheckEnd, 'output'>> {
  const exited = new Promise<{ readonly code: number | null; readonly name: string | null }>((resolve) =>
    child.once('exit', (code, name) => resolve({ code, name })),
  )
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()))
  let onAbort = (): void => undefined
  const aborted = new Promise<'aborted'>((resolve) => {
    onAbort = () => resolve('aborted')
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
  })
  const first = await Promise.race([exited, aborted])
  signal.removeEventListener('abort', onAbort)
  if (first === 'aborted') {
    await running.end(group)
    return { kind: 'aborted', exitCode: null, detail: undefined }
  }
  await quiet(closed, activity)
  await endRest(group)
  await Promise.race([closed, wait(quietMs)])
  return first.code === null
    ? { kind: 'killed', exitCode: null, detail: first.name ?? undefined }
    : { kind: 'exited', exitCode: first.code, detail: undefined }
}

/**
 * Resolves when both pipes are closed, or when processes that still hold them open have written nothing for a short
 * time.
 */
async function quiet(closed: Promise<void>, activity: { readonly at: number }): Promise<void> {
  const began = performance.now()
  const isOver = closed.then(() => true)
  for (let seen = -1; seen !== activity.at && performance.now() - began < longestDrainMs;) {
    seen = activity.at
    // oxlint-disable-next-line no-await-in-loop -- looks again after a moment
    if (await Promise.race([isOver, wait(quietMs, false)])) return
  }
}

/**
 * Ends processes that a check left running: they would change the result of the next check through ports, locks or
 * late files.
 */
async function endRest(group: ProcessGroup): Promise<void> {
  const rest: ProcessGroup = { ...group, knownBy: 'mark' }
  running.add(rest)
  running.leave(group)
  if (await isRunningInTurns(rest)) await running.end(rest)
  else running.leave(rest)
}

function start({ command, cwd, env, sandbox, writable }: CheckCommand, mark: string): ChildProcess {
  const outer = env[markVariable]
  const plain = {
    file: 'bash',
    // Without -p, the supervisor would also run the file in BASH_ENV.
    args: ['-p', '-c', supervisor, 'bash', command, mark],
    directory: cwd,
    env: {
      ...env,
      // No user can use an editor here.
      GIT_EDITOR: 'true',
      [checkedFolder]: realPath(cwd),
      [markVariable]: outer === undefined ? mark : `${outer},${mark}`,
    },
  }
  const own = ['ignore', 'pipe', 'pipe', 'pipe'] as const
  if (sandbox === undefined || sandbox.excludes(command))
    return spawn(plain.file, plain.args, { cwd, detached: true, env: plain.env, stdio: [...own] })
  const confined = sandbox.sandboxed(
    { ...plain, firstDescriptor: own.length },
    sandbox.describe('project', [], undefined, writable),
  )
  let child: ChildProcess | undefined
  try {
    child = spawn(confined.file, confined.args, {
      cwd,
      detached: true,
      env: confined.env,
      stdio: [...own, ...confined.descriptors],
    })
    return child
  } finally {
    confined.started(child)
  }
}

const maxLines = 200
const maxCharacters = 16_000
/** Escape sequences and secrets are removed from this much output before it is truncated. */
const storedBytes = 256 * 1024

// oxlint-disable-next-line no-control-regex -- these are what is removed
const controls = /[\u0000-\u0008\u000B-\u001F\u007F]/g

// Spec R-GOAL-32.
/**
 * The end of a check's output, in bounded memory: at most 200 lines and 16,000 characters, without escape sequences.
 */
export class OutputTail {
  #chunks: Buffer[] = []
  #stored = 0
  #isCut = false

  append(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#stored += chunk.length
    // Truncates rarely, because each truncation copies the stored output.
    if (this.#stored > 4 * storedBytes) this.#cut()
  }

  #cut(): Buffer {
    const all = this.#chunks.length === 1 ? (this.#chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(this.#chunks)
    const end = all.length > storedBytes ? Buffer.from(all.subarray(-storedBytes)) : all
    this.#isCut ||= end.length < all.length
    this.#chunks = [end]
    this.#stored = end.length
    return end
  }

  /** Returns the last lines. `redact` receives more than these lines, so that no secret is truncated to a part. */
  text(redact: (text: string) => string = (text) => text): string {
    const decoded = this.#cut().toString('utf8')
    // If the beginning is missing, the first word may be part of a secret or of a character.
    const whole = this.#isCut ? decoded.replace(/^\S+/, '') : decoded
    const plain = redact(stripVTControlCharacters(whole).replaceAll('\r\n', '\n'))
    const lines = plain.trimEnd().split('\n').map(lastState)
    return tailOf(lines.slice(-maxLines).join('\n').replaceAll(controls, ''), maxCharacters)
  }
}

/** A carriage return restarts the line, as progress bars do. Returns what a user would see last. */
function lastState(line: string): string {
  const end = line.endsWith('\r') ? line.slice(0, -1) : line
  return end.slice(end.lastIndexOf('\r') + 1)
}
