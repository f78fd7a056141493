import { randomUUID } from 'node:crypto'
import { endings, type SdkMessage, type SdkResult } from '@halting/core'
import type { Session, SessionEvent } from '@halting/core/session'
import { resultWithoutRun } from '../host/result-without-run.ts'
import { createReport } from '../headless/report.ts'
import type { ReportContext } from '../headless/text-report.ts'
import type { Watcher } from '../headless/watcher.ts'
import type { LoopEnd, LoopRound } from '../frontends/loop-end.ts'
import { endLine, roundLine, roundName, viewText } from '../frontends/loop-words.ts'
import type { LoopEvent, PromptLoop } from '../frontends/prompt-loop.ts'
import { wrapToColumns } from '../io/columns.ts'
import { clockText } from '../io/figures.ts'
import { jsonText } from '../io/json-text.ts'

/** Reports a loop in the format that the flags select. */
export interface LoopReport {
  onSession(event: SessionEvent): void
  onLoop(event: LoopEvent, loop: PromptLoop): void
  /** Called last. `continueWith` is the command that continues the loop; '' if it cannot continue. */
  end(end: LoopEnd, rounds: readonly LoopRound[], continueWith: string): void
  release(): void
}

export interface LoopReportContext {
  readonly report: Omit<ReportContext, 'isRound'>
  readonly session: Pick<Session, 'id' | 'snapshot'>
  readonly rounds: number | undefined
  readonly linesAfter: ((message: SdkMessage) => readonly string[]) | undefined
  readonly onBrokenAfter: (error: unknown) => void
}

export function createLoopReport(context: LoopReportContext): LoopReport {
  const { outputFormat = 'text' } = context.report.flags
  return outputFormat === 'text' ? new TextLoopReport(context) : new JsonLoopReport(context)
}

/** Passes the events of each run to the watcher of that run. */
class RunFollower {
  readonly #context: LoopReportContext
  #watcher: Watcher | undefined
  #isOver = false
  /** The result of the last run in this process. */
  last: SdkResult | undefined

  constructor(context: LoopReportContext) {
    this.#context = context
  }

  begin(watcher: Watcher): void {
    this.release()
    this.#watcher = watcher
    this.#isOver = false
  }

  release(): void {
    this.#watcher?.release()
    this.#watcher = undefined
  }

  onEvent(event: SessionEvent): void {
    const { linesAfter, onBrokenAfter } = this.#context
    switch (event.type) {
      case 'loop':
        return this.#watcher?.onEvent(event.event)
      case 'message':
        if (this.#isOver) return this.#watcher?.after(event.message, linesAfter?.(event.message) ?? [])
        this.#isOver = event.message.type === 'result'
        return this.#watcher?.see(event.message)
      case 'run_end':
        this.last = event.result
        return this.#watcher?.end(event.terminal)
      case 'failed':
        if (event.isAfterRun === true) onBrokenAfter(event.error)
        return
      default:
    }
  }
}

const tickMs = 1_000

/** Prints answers to stdout; one line per round and a final summary to stderr (spec R-EVERY-12). */
class TextLoopReport implements LoopReport {
  readonly #context: LoopReportContext
  readonly #runs: RunFollower
  #round: LoopRound | undefined
  #stopCountdown = (): void => undefined

  constructor(context: LoopReportContext) {
    this.#context = context
    this.#runs = new RunFollower(context)
  }

  onSession(event: SessionEvent): void {
    this.#runs.onEvent(event)
  }

  onLoop(event: LoopEvent, loop: PromptLoop): void {
    switch (event.type) {
      case 'round_begin':
        this.#stopCountdown()
        this.#reportRound('next at once')
        return this.#runs.begin(createReport({ ...this.#context.report, isRound: true }))
      case 'round_end':
        this.#round = event.round
        return
      case 'wait': {
        const next = `next at ${clockText(event.nextAtMs, event.nextAtMs - event.waitMs)}`
        if (this.#round === undefined) this.#print(`${roundName(loop.view.round + 1, this.#context.rounds)} · ${next}`)
        this.#reportRound(next)
        return this.#countDown(loop)
      }
      case 'end':
      case 'broken':
        this.#stopCountdown()
        return this.#reportRound('')
      case 'paused':
    }
  }

  #reportRound(next: string): void {
    if (this.#round !== undefined) this.#print(roundLine(this.#round, { rounds: this.#context.rounds, next }))
    this.#round = undefined
  }

  /** Updates a countdown every second on a terminal; does nothing elsewhere. */
  #countDown(loop: PromptLoop): void {
    const { output, flags } = this.#context.report
    this.#stopCountdown()
    if (!output.isTerminal.stderr || flags.quiet === true) return
    const show = (): void => output.showLive(viewText(loop.view, this.#context.rounds, output.width - 1))
    const timer = setInterval(show, tickMs)
    show()
    this.#stopCountdown = () => {
      clearInterval(timer)
      output.showLive('')
      this.#stopCountdown = () => undefined
    }
  }

  #print(text: string): void {
    const { output, flags, style } = this.#context.report
    if (flags.quiet === true) return
    const line = output.isTerminal.stderr ? wrapToColumns(text, output.width) : text
    output.err(`${style.dim(line)}\n`)
  }

  end(end: LoopEnd, rounds: readonly LoopRound[], continueWith: string): void {
    const { output, flags } = this.#context.report
    // With --quiet, failures are still reported.
    if (flags.quiet !== true || end.exitCode !== 0) output.err(`halting: ${endLine(end, rounds)}\n`)
    if (continueWith !== '') output.err(`Continue the loop: ${continueWith}\n`)
  }

  release(): void {
    this.#stopCountdown()
    this.#runs.release()
  }
}

/**
 * `json`: prints one result for the loop. `stream-json`: prints every message, a `system/loop_wait` before each pause,
 * and the result as the last line (spec R-EVERY-13).
 */
class JsonLoopReport implements LoopReport {
  readonly #context: LoopReportContext
  readonly #runs: RunFollower
  readonly #isEach: boolean
  readonly #isArray: boolean
  #separator = '['

  constructor(context: LoopReportContext) {
    this.#context = context
    this.#runs = new RunFollower(context)
    const { outputFormat, verbose } = context.report.flags
    this.#isArray = outputFormat === 'json' && verbose === true
    this.#isEach = outputFormat === 'stream-json' || this.#isArray
  }

  onSession(event: SessionEvent): void {
    this.#runs.onEvent(event)
  }

  onLoop(event: LoopEvent, loop: PromptLoop): void {
    if (event.type === 'round_begin') this.#runs.begin(this.#watcher())
    if (event.type !== 'wait' || !this.#isEach) return
    this.#write({
      type: 'system',
      subtype: 'loop_wait',
      round: loop.view.round + 1,
      next_at: new Date(event.nextAtMs).toISOString(),
      wait_ms: Math.ceil(event.waitMs),
      uuid: randomUUID(),
      session_id: this.#context.session.id,
    })
  }

  #watcher(): Watcher {
    const see = (message: SdkMessage): void => {
      if (this.#isEach) this.#write(message)
    }
    const report = createReport({ ...this.#context.report, isRound: true })
    return {
      onEvent: (event) => report.onEvent(event),
      see,
      after: see,
      end: () => undefined,
      release: () => undefined,
    }
  }

  #write(message: object): void {
    const { output } = this.#context.report
    output.out(this.#isArray ? `${this.#separator}${jsonText(message)}` : `${jsonText(message)}\n`)
    this.#separator = ',\n'
  }

  end(end: LoopEnd, rounds: readonly LoopRound[]): void {
    const { session } = this.#context
    const costUsd = session.snapshot.figures.sessionUsd
    this.#write(loopResult({ sessionId: session.id, costUsd, last: this.#runs.last, end, rounds }))
    if (this.#isArray) this.#context.report.output.out(']\n')
  }

  release(): void {
    this.#runs.release()
  }
}

interface LoopOutcome {
  readonly sessionId: string
  readonly costUsd: number
  /** The result of the last run in this process. */
  readonly last: SdkResult | undefined
  readonly end: LoopEnd
  readonly rounds: readonly LoopRound[]
}

/** The result of a loop: that of its last round, with the totals and figures of all rounds (spec R-EVERY-13). */
function loopResult({ sessionId, costUsd, last, end, rounds }: LoopOutcome): object {
  const sum = (figure: 'turns' | 'durationMs'): number => rounds.reduce((total, round) => total + round[figure], 0)
  return {
    ...finalResult({ sessionId, costUsd, last, end, rounds }),
    num_turns: sum('turns'),
    duration_ms: Math.round(sum('durationMs')),
    rounds: rounds.map(({ round, reason, costUsd: usd, turns, durationMs, startedAtMs, goalMet }) => ({
      round,
      reason,
      costUsd: usd,
      turns,
      durationMs: Math.round(durationMs),
      startedAt: startedAtMs === null ? null : new Date(startedAtMs).toISOString(),
      ...(goalMet !== undefined && { goalMet }),
    })),
    ended: { because: end.because, message: end.message, exitCode: end.exitCode },
    uuid: randomUUID(),
  }
}

/** A loop that failed never reports success, even if its last round succeeded. */
function finalResult({ sessionId, costUsd, last, end, rounds }: LoopOutcome): SdkResult {
  const { exitCode, message } = end
  if (last === undefined)
    return resultWithoutRun({ sessionId, costUsd, ...(exitCode === 0 ? { answer: message } : { error: message }) })
  const round = rounds.at(-1)
  const isRoundsOwn = round !== undefined && endings[round.reason].exitCode !== 0
  if (exitCode === 0 || isRoundsOwn) return last
  const { modelUsage, usage, permission_denials, stop_reason, duration_api_ms } = last
  const failed = resultWithoutRun({ sessionId, costUsd, modelUsage, error: message })
  return { ...failed, usage, permission_denials, stop_reason, duration_api_ms }
}
