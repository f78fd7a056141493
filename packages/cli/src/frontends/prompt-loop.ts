import { endings, type MessageContent, type RunResult } from '@halting/core'
import type { Session, SessionEvent } from '@halting/core/session'
import { longestDurationMs } from '@halting/core/adapters'
import { many } from '../io/figures.ts'
import type { LoopClock } from './loop-clock.ts'
import { endAfterRound, endAtBound, type LoopEnd, type LoopRound, roundOf } from './loop-end.ts'
import { type LoopTerms, type PastRounds, promptIdOfRound } from './loop-record.ts'

/** The part of a session that a loop needs. */
type LoopSession = Pick<Session, 'listen' | 'prompt' | 'snapshot'>

export interface PromptLoopOptions {
  readonly session: LoopSession
  readonly loopId: string
  readonly terms: Pick<LoopTerms, 'everyMs' | 'rounds' | 'forMs'>
  /** When the loop started, in milliseconds since 1970. */
  readonly startedAtMs: number
  /** The rounds of earlier processes. */
  readonly past: PastRounds
  /** Creates the prompt of a round; commands and files in it are read anew each time. `model`: for this round only. */
  readonly prompt: () => Promise<{ readonly content: MessageContent; readonly model?: string }>
  readonly clock: LoopClock
  /** What happens to the loop when a person interrupts a round. */
  readonly onInterrupt: 'end' | 'pause'
  /** The exit code of a run with this result. */
  readonly exitCodeOf: (terminal: RunResult) => number
  readonly onEvent: (event: LoopEvent) => void
}

/** Events of a loop. */
export type LoopEvent =
  | { readonly type: 'round_begin'; readonly round: number }
  | { readonly type: 'round_end'; readonly round: LoopRound }
  /** The loop waits for the next round, which starts at `nextAtMs` (milliseconds since 1970). */
  | { readonly type: 'wait'; readonly nextAtMs: number; readonly waitMs: number }
  | { readonly type: 'paused' }
  | { readonly type: 'end'; readonly end: LoopEnd }
  /** A round could not start, or failed before it had a result. The loop has ended. */
  | { readonly type: 'broken'; readonly error: unknown }

/** The state of a loop, for display. */
export interface LoopView {
  readonly phase: 'waiting' | 'round' | 'paused' | 'ended'
  /** The current or last round; 0 before the first. */
  readonly round: number
  /** Milliseconds until the next round starts; 0 if the loop does not wait. */
  readonly leftMs: number
}

/** Maximum duration of a timer, in milliseconds. A machine that slept fires timers late, so the clock is read at least this often. */
const maxTimerMs = 30_000

/**
 * Repeats a prompt in one session, one round at a time.
 *
 * L1: a round starts when the session is idle, its queue is empty, and `everyMs` have passed since the previous round started. Missed rounds are not made
 * up.
 * L2: a round is one run, identified by the id of its prompt. It counts once, in whichever process its end is recorded.
 * L3: no round starts after `rounds` rounds, after `forMs`, or after an ending that forbids another one.
 * L4: between rounds, the loop has one timer and no other activity.
 */
export class PromptLoop {
  readonly #options: PromptLoopOptions
  readonly #unlisten: () => void
  readonly #rounds: LoopRound[]
  #phase: LoopView['phase'] = 'waiting'
  /** The number of the last round that started. */
  #round: number
  #roundStartedAtMs: number | null
  /** The run of the current round, once it has started. */
  #runId: string | undefined
  /** Whether the next run continues the round that an earlier process left unfinished. */
  #adoptsNextRun = false
  #dueAt: number
  readonly #endsAt: number
  #cancelTimer: (() => void) | undefined
  #isPreparing = false

  constructor(options: PromptLoopOptions) {
    const { session, past, terms, clock, startedAtMs } = options
    this.#options = options
    this.#rounds = [...past.rounds]
    this.#round = past.open ?? past.rounds.at(-1)?.round ?? 0
    this.#roundStartedAtMs = past.lastStartedAtMs
    // A wall clock that was set back must not make the pause longer.
    const passedMs = (sinceMs: number): number => Math.max(0, clock.wallMs() - sinceMs)
    const { lastStartedAtMs } = past
    const sinceLastMs = lastStartedAtMs === null ? terms.everyMs : passedMs(lastStartedAtMs)
    this.#dueAt = clock.now() + Math.max(0, terms.everyMs - sinceLastMs)
    this.#waitForService(past.rounds.at(-1))
    this.#endsAt = clock.now() + (terms.forMs ?? Infinity) - passedMs(startedAtMs)
    this.#unlisten = session.listen((event) => this.#onEvent(event))
  }

  get view(): LoopView {
    const leftMs = this.#phase === 'waiting' ? Math.max(0, this.#dueAt - this.#options.clock.now()) : 0
    return { phase: this.#phase, round: this.#round, leftMs }
  }

  get rounds(): readonly LoopRound[] {
    return this.#rounds
  }

  /** Starts or continues the loop. `adopt` makes the session continue the unfinished run of the last recorded round. */
  begin(adopt?: () => void): void {
    if (adopt === undefined) return this.#continueOrEnd()
    this.#phase = 'round'
    this.#adoptsNextRun = true
    this.#emit({ type: 'round_begin', round: this.#round })
    adopt()
  }

  /** No round starts until `resume`. A running round continues. */
  pause(): void {
    if (this.#phase !== 'waiting') return
    this.#setPhase('paused')
    this.#emit({ type: 'paused' })
  }

  resume(): void {
    if (this.#phase !== 'paused') return
    this.#phase = 'waiting'
    this.#continueOrEnd()
  }

  /** Ends the loop. A running round continues. */
  stop(end: LoopEnd): void {
    this.#end(end)
  }

  /** Stops the loop in this process without an event. Its stored record stays. */
  close(): void {
    this.#setPhase('ended')
    this.#unlisten()
  }

  #setPhase(phase: LoopView['phase']): void {
    this.#phase = phase
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  #emit(event: LoopEvent): void {
    this.#options.onEvent(event)
  }

  #end(end: LoopEnd): void {
    if (this.#phase === 'ended') return
    this.#setPhase('ended')
    this.#unlisten()
    this.#emit({ type: 'end', end })
  }

  #fail(error: unknown): void {
    if (this.#phase === 'ended') return
    this.#setPhase('ended')
    this.#unlisten()
    this.#emit({ type: 'broken', error })
  }

  /** If a round ended because no request was possible, the next one waits until requests are possible again. */
  #waitForService({ retryAtMs }: Pick<LoopRound, 'retryAtMs'> = {}): void {
    const { clock } = this.#options
    const leftMs = retryAtMs === undefined ? 0 : retryAtMs - clock.wallMs()
    // A service cannot mean a time that is further away than the longest wait.
    if (leftMs > 0 && leftMs <= longestDurationMs) this.#dueAt = Math.max(this.#dueAt, clock.now() + leftMs)
  }

  /** Ends the loop, or waits for the next round. */
  #continueOrEnd(): void {
    const end = this.#endAtBound()
    if (end !== undefined) return this.#end(end)
    this.#setPhase('waiting')
    const { clock } = this.#options
    const waitMs = Math.max(0, this.#dueAt - clock.now())
    if (waitMs > 0) this.#emit({ type: 'wait', waitMs, nextAtMs: clock.wallMs() + waitMs })
    this.#wait()
  }

  #wait(): void {
    const { clock } = this.#options
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    const leftMs = this.#dueAt - clock.now()
    if (leftMs > 0) {
      // Rounded up, because a timer may fire slightly early.
      const ms = Math.min(Math.ceil(leftMs), maxTimerMs)
      this.#cancelTimer = clock.after(ms, () => this.#wait())
    } else void this.#beginRound()
  }

  get #isSessionIdle(): boolean {
    const { status, queue } = this.#options.session.snapshot
    return status === 'idle' && queue.length === 0
  }

  /** If the session is busy, the next `changed` event tries again. */
  async #beginRound(): Promise<void> {
    const { session, loopId, prompt, clock } = this.#options
    if (this.#phase !== 'waiting' || this.#isPreparing || !this.#isSessionIdle) return
    this.#isPreparing = true
    try {
      const { content, ...ofRun } = await prompt()
      if (!this.#mayBegin()) return
      const round = this.#round + 1
      this.#phase = 'round'
      this.#round = round
      this.#runId = undefined
      this.#dueAt = clock.now() + this.#options.terms.everyMs
      this.#roundStartedAtMs = clock.wallMs()
      this.#emit({ type: 'round_begin', round })
      // A goal that is already met ends the round without a request.
      const skipIfMet = round > 1 ? { skipIfMet: true } : {}
      session.prompt(content, { id: promptIdOfRound(loopId, round), when: 'now', ...ofRun, ...skipIfMet })
    } catch (error) {
      this.#fail(error)
    } finally {
      this.#isPreparing = false
    }
  }

  /** Checks the conditions again once the prompt is ready: a person may have written in the meantime, or the time limit may have passed. */
  #mayBegin(): boolean {
    if (this.#phase !== 'waiting' || !this.#isSessionIdle) return false
    const end = this.#endAtBound()
    if (end !== undefined) this.#end(end)
    return end === undefined
  }

  #endAtBound(): LoopEnd | undefined {
    const { terms, clock, session } = this.#options
    const state = { hasGoal: session.snapshot.goal !== null, last: this.#rounds.at(-1) }
    if (terms.rounds !== undefined && this.#round >= terms.rounds)
      return endAtBound('rounds', `${this.#round} of ${many(terms.rounds, 'round')} done`, state)
    const beginsAt = Math.max(this.#dueAt, clock.now())
    return beginsAt >= this.#endsAt ? endAtBound('time', 'The time limit of the loop is reached', state) : undefined
  }

  #onEvent(event: SessionEvent): void {
    switch (event.type) {
      case 'run_start':
        if (this.#isRoundOf(event)) this.#runId = event.runId
        return
      case 'run_end':
        if (this.#phase === 'round' && event.runId === this.#runId) this.#onRoundEnd(event.terminal)
        return
      case 'failed':
        if (this.#phase === 'round' && event.isAfterRun !== true) this.#fail(event.error)
        return
      case 'changed':
        // After a round, the loop waits until the session is idle.
        if (this.#phase === 'waiting' && this.#cancelTimer === undefined) this.#wait()
        return
      case 'closed':
        return this.close()
      default:
    }
  }

  #isRoundOf({ ids }: { readonly ids: readonly string[] }): boolean {
    if (this.#phase !== 'round') return false
    const { loopId } = this.#options
    const isRound = this.#adoptsNextRun || ids.includes(promptIdOfRound(loopId, this.#round))
    this.#adoptsNextRun = false
    return isRound
  }

  /** A round that continued after a permission answer replaces its earlier record, with the costs of both parts. */
  #mergedWithPrevious(round: LoopRound): LoopRound {
    if (this.#rounds.at(-1)?.round !== round.round) return round
    const before = this.#rounds.pop() ?? round
    const costUsd = before.costUsd + round.costUsd
    return { ...round, costUsd, turns: before.turns + round.turns, durationMs: before.durationMs + round.durationMs }
  }

  #onRoundEnd(terminal: RunResult): void {
    const { exitCodeOf, onInterrupt } = this.#options
    const round = this.#mergedWithPrevious(roundOf(this.#round, this.#roundStartedAtMs, terminal))
    this.#rounds.push(round)
    this.#emit({ type: 'round_end', round })
    this.#runId = undefined
    const isInterrupted = endings[terminal.reason].category === 'user_requested'
    if (isInterrupted && onInterrupt === 'pause') {
      this.#phase = 'waiting'
      return this.pause()
    }
    const end = endAfterRound(terminal, this.#rounds, exitCodeOf(terminal))
    if (end !== undefined) return this.#end(end)
    this.#waitForService(round)
    this.#continueOrEnd()
  }
}
