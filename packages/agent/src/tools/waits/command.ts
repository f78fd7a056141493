import type { ToolOutput } from '@halting/core'
import { longestDurationMs } from '@halting/core/adapters'
import { isReadOnlyCommand } from '@halting/policy/shell'
import { startCommand } from '../bash.ts'
import { errorResult } from '../result.ts'
import type { ShellEnd } from '../shell-command.ts'
import { type LinePattern, LineSearch } from './line-pattern.ts'
import type { WaitResult, WaitCall, Watched } from './watched.ts'
import {
  commandFailed,
  commandOutput,
  commandPrinted,
  commandSucceeded,
  commandSuccess,
  lastRun,
  noBash,
  noRunEnded,
  runCount,
} from './wait-texts.ts'

/** Time limit of one run: a run that hangs is killed, and counts as not yet met. */
const maxRunMs = 30_000
/** Time between two runs if the call does not specify it: short at first. */
const [shortestMs, longestMs] = [5_000, 30_000]

/** The end of one run of the command. */
interface Run {
  readonly end: ShellEnd
  readonly output: string
  readonly isLate: boolean
  /** The first matching line, anywhere in the output. */
  readonly line: string | undefined
  /** Notes about the confinement of the run. */
  readonly notes: readonly string[]
}

/**
 * A command that is run repeatedly, like Bash runs it: judged, confined, in its own process group. Processes that a
 * run leaves are ended with it; the session's shell stays in its directory.
 */
export async function watchShell(
  command: string,
  call: WaitCall,
  pattern: LinePattern | undefined,
): Promise<Watched<ToolOutput | undefined> | ToolOutput> {
  const { workspace, context, input } = call
  // Callers without Bash cannot run commands.
  if (context.rights !== undefined && !context.rights.tools.includes('Bash')) return errorResult(noBash)
  if (!isReadOnlyCommand(command)) await workspace.checkpoints?.background(context, command)
  const runs = new Runs(command, call, pattern)
  const resultWith = (sentences: string): WaitResult => {
    const { last, count } = runs
    return {
      sentences: [sentences, ...(last?.notes ?? [])].join(' '),
      ...(last !== undefined && { output: last.output }),
      details: { command, runs: count, exitCode: last?.end.exitCode ?? null },
    }
  }
  return {
    what: input.pattern === undefined ? commandSuccess : commandOutput(input.pattern),
    watch(met) {
      void runs.runNext(met)
      return () => runs.stop()
    },
    met: (refusal) =>
      refusal ??
      (pattern === undefined
        ? resultWith(`${commandSucceeded} ${runCount(runs.count)}`)
        : { ...resultWith(runCount(runs.count)), line: commandPrinted(runs.last?.line ?? '') }),
    unmet: () => resultWith(runs.last === undefined ? noRunEnded : lastRun(howOf(runs.last), runs.count)),
    settled: () => runs.settled(),
  }
}

class Runs {
  last: Run | undefined
  count = 0
  readonly #command: string
  readonly #call: WaitCall
  readonly #pattern: LinePattern | undefined
  readonly #over = new AbortController()
  readonly #beganAt = performance.now()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<Run | ToolOutput> | undefined

  constructor(command: string, call: WaitCall, pattern: LinePattern | undefined) {
    this.#command = command
    this.#call = call
    this.#pattern = pattern
  }

  stop(): void {
    this.#over.abort()
    clearTimeout(this.#timer)
  }

  /** Resolves when an interrupted run is gone. */
  async settled(): Promise<void> {
    await this.#running
  }

  async runNext(met: (refusal: ToolOutput | undefined) => void): Promise<void> {
    this.#running = this.#run()
    const run = await this.#running
    if (this.#over.signal.aborted) return
    if ('content' in run) return met(run)
    this.last = run
    this.count++
    const isDone = this.#pattern === undefined ? run.end.exitCode === 0 && !run.isLate : run.line !== undefined
    if (isDone) return met(undefined)
    const { every_seconds: every } = this.#call.input
    const waited = performance.now() - this.#beganAt
    const pauseMs =
      every === undefined
        ? Math.min(longestMs, Math.max(shortestMs, waited / 20))
        : Math.min(every * 1_000, longestDurationMs)
    this.#timer = setTimeout(() => void this.runNext(met), pauseMs)
  }

  /** Runs the command. A command that cannot be started is a result. */
  async #run(): Promise<Run | ToolOutput> {
    const { workspace, context } = this.#call
    const { signal } = this.#over
    try {
      const started = await startCommand(
        { command: this.#command, unconfined: this.#call.input.unconfined === true },
        workspace,
        context,
      )
      if (started.kind === 'failed') return started.result
      const { shell, confinement } = started
      shell.spool?.drop()
      let isLate = false
      const endNow = (): void => void shell.end()
      let line: string | undefined
      // All output is searched while it is printed: the shown part of a long output lacks the middle, and some
      // commands never end.
      const search =
        this.#pattern && new LineSearch(this.#pattern, workspace.redact, (found) => ((line = found), endNow()))
      search?.add(shell.output.since(0))
      const unfollow = search && shell.output.follow((text) => search.add(text))
      const timer = setTimeout(() => {
        isLate = true
        endNow()
      }, maxRunMs)
      signal.addEventListener('abort', endNow, { once: true })
      if (signal.aborted) endNow()
      const end = await shell.ended
      clearTimeout(timer)
      signal.removeEventListener('abort', endNow)
      // Otherwise, every run would leave more processes.
      await shell.end()
      unfollow?.()
      await search?.flush()
      const output = shell.output.toString()
      const isOver = line !== undefined || (end.exitCode === 0 && !isLate)
      const notes =
        confinement?.kind === 'edit'
          ? (await import('../confinement-notes.ts')).confinementNotes({ confinement, end, output, isOver }, workspace)
          : []
      return { end, output: output.replace(/\n+$/, ''), isLate, line, notes }
    } catch (error) {
      return errorResult(commandFailed(error instanceof Error ? error.message : String(error)))
    }
  }
}

function howOf({ end, isLate }: Run): Parameters<typeof lastRun>[0] {
  if (isLate) return { kind: 'late', seconds: maxRunMs / 1_000 }
  if (end.kind === 'exited') return { kind: 'exited', exitCode: end.exitCode }
  return { kind: end.kind === 'not started' ? 'not started' : 'signal', detail: end.detail }
}
