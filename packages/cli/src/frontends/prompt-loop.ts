import { endings, type MessageContent, type RunResult } from '@halting/core'
import type { Session, SessionEvent } from '@halting/core/session'
import { longestDurationMs } from '@halting/core/adapters'
import { many } from '../io/figures.ts'
import type { LoopClock } from './loop-clock.ts'
import { endAfterRound, endAtBound, type LoopEnd, type LoopRound, roundOf } from './loop-end.ts'
import { type LoopTerms, type PastRounds, promptIdOfRound } from './loop-record.ts'

/** What of a session a loop needs. */
type LoopSession = Pick<Session, 'listen' | 'prompt' | 'snapshot'>

export interface PromptLoopOptions {
  readonly session: LoopSession
  readonly loopId: string
  readonly terms: Pick<LoopTerms, 'everyMs' | 'rounds' | 'forMs'>
  /** When the loop began, in milliseconds since 1970. */
  readonly startedAtMs: number
  /** Rounds of processes before this one. */
  readonly past: PastRounds
  /** Makes the prompt of a round: commands and files that it names are read anew each time. `model`: that of the round alone. */
  readonly prompt: () => Promise<{ readonly content: MessageContent; readonly model?: string }>
  readonly clock: LoopClock
  /** What becomes of the loop when a person ends a round. */
  readonly onInterrupt: 'end' | 'pause'
  /** The exit code of a run that ended so. */
  readonly exitCodeOf: (terminal: RunResult) => number
  readonly onEvent: (event: LoopEvent) => void
}

/** What a loop reports. */
export type LoopEvent =
  | { readonly type: 'round_begin'; readonly round: number }
  | { readonly type: 'round_end'; readonly round: LoopRound }
  /** It waits for its next round, which begins at `nextAtMs` (milliseconds since 1970). */
  | { readonly type: 'wait'; readonly nextAtMs: number; readonly waitMs: number }
  | { readonly type: 'paused' }
  | { readonly type: 'end'; readonly end: LoopEnd }
  /** A round could not be begun, or broke before it had a result. Nothing goes on. */
  | { readonly type: 'broken'; readonly error: unknown }

/** What a frontend shows of a loop. */
export interface LoopView {
  readonly phase: 'waiting' | 'round' | 'paused' | 'ended'
  /** The round that is running, or the last one; 0 before the first. */
  readonly round: number
  /** Milliseconds until the next round begins; 0 where it does not wait for time. */
  readonly leftMs: number
}

/** The clock is read so often at least, as a machine that slept wakes its timers late. */
const longestTimerMs = 30_000

/**
 * A prompt again and again in one session, at most one round at a time.
 *
 * L1: a round begins when the session is idle, nothing waits in its queue, and `everyMs` have passed since the round before began. Rounds that were missed are not made up for.
 * L2: a round is one run, known by the id of its prompt. It is counted once, by whichever process its end is recorded.
 * L3: no round begins once `rounds` have begun, or after `forMs`, or after an ending that forbids the next one.
 * L4: between rounds there is one timer, and nothing else.
 */
export class PromptLoop {
  readonly #options: PromptLoopOptions
  readonly #unlisten: () => void
  readonly #rounds: LoopRound[]
  #phase: LoopView['phase'] = 'waiting'
  /** The last round that began. */
  #round: number
  #roundStartedAtMs: number | null
  /** The run of the round, once it has begun. */
  #runId: string | undefined
  /** The run that begins next is the round that an earlier process left open. */
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
    // A wall clock that was set back in between makes no pause longer than it was meant to be.
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

  /** Begins, or continues. `adopt` has the session continue the run of the round that is on record as the last. */
  begin(adopt?: () => void): void {
    if (adopt === undefined) return this.#continueOrEnd()
    this.#phase = 'round'
    this.#adoptsNextRun = true
    this.#emit({ type: 'round_begin', round: this.#round })
    adopt()
  }

  /** No round begins until `resume`. A round that is running is not ended. */
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

  /** Ends it. A round that is running is not ended. */
  stop(end: LoopEnd): void {
    this.#end(end)
  }

  /** Nothing of it goes on here, and nothing is reported of it. Its record stays. */
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

  /** A round that ended since no request could be made is followed by the next one when they can be made again. */
  #waitForService({ retryAtMs }: Pick<LoopRound, 'retryAtMs'> = {}): void {
    const { clock } = this.#options
    const leftMs = retryAtMs === undefined ? 0 : retryAtMs - clock.wallMs()
    // What is further away than any wait is nothing that a service means.
    if (leftMs > 0 && leftMs <= longestDurationMs) this.#dueAt = Math.max(this.#dueAt, clock.now() + leftMs)
  }

  /** What comes after a round, or at the begin: the end, or a wait. */
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
      // Rounded up: a timer may fire a moment early.
      const ms = Math.min(Math.ceil(leftMs), longestTimerMs)
      this.#cancelTimer = clock.after(ms, () => this.#wait())
    } else void this.#beginRound()
  }

  get #isSessionIdle(): boolean {
    const { status, queue } = this.#options.session.snapshot
    return status === 'idle' && queue.length === 0
  }

  /** Where something else is running in the session, `changed` asks again. */
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
      // What holds by now ends the loop without a request.
      const skipIfMet = round > 1 ? { skipIfMet: true } : {}
      session.prompt(content, { id: promptIdOfRound(loopId, round), when: 'now', ...ofRun, ...skipIfMet })
    } catch (error) {
      this.#fail(error)
    } finally {
      this.#isPreparing = false
    }
  }

  /** Asked again once the prompt is ready: a person may have written meanwhile, or the time is over. */
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
        // After a round it goes on when the session is idle again, and not before.
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

  /** A round that an answer to its calls continued takes the place of what it had come to, with what both have cost. */
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
