import { exitCodeOf } from '../../headless/ending.ts'
import { machineClock } from '../../frontends/loop-clock.ts'
import { loopNeedsBound } from '../../frontends/loop-argument.ts'
import {
  isLoopOpen,
  type LoopStore,
  type LoopTerms,
  newLoopId,
  type PastRounds,
  type StoredLoop,
} from '../../frontends/loop-record.ts'
import { durationText, endLine, roundLine, viewText } from '../../frontends/loop-words.ts'
import { type LoopEvent, PromptLoop } from '../../frontends/prompt-loop.ts'
import { clockText, many, oneLine } from '../../io/figures.ts'
import { UsageError } from '../../usage-error.ts'
import type { PromptTarget } from './prompt-sender.ts'

/** The parts of the program that a loop uses. */
export interface LoopPorts {
  note(text: string): void
  fail(thrown: unknown): void
  changed(): void
}

/** A session that may have a loop. */
export interface LoopingSession extends PromptTarget {
  /** Undefined for a session on a cluster. */
  readonly local: { readonly loops: LoopStore | undefined } | undefined
}

/** The loop of the open session. */
export class SessionLoop {
  readonly #app: LoopPorts
  readonly #open: LoopingSession
  #loop: PromptLoop | undefined
  #stored: StoredLoop | undefined
  #line: ((next: string) => string) | undefined
  /** Changes of the stored loop run one after another. */
  #lastWrite: Promise<unknown> = Promise.resolve()

  constructor(app: LoopPorts, open: LoopingSession) {
    this.#app = app
    this.#open = open
  }

  /** Whether the loop waits for its next round. */
  get isWaiting(): boolean {
    return this.#loop?.view.phase === 'waiting'
  }

  /** The text for the status line; '' for none. */
  get text(): string {
    return this.#loop === undefined ? '' : viewText(this.#loop.view, this.#stored?.terms.rounds, Infinity)
  }

  /** The terms and the state of the loop; undefined without a loop. */
  async description(): Promise<readonly string[] | undefined> {
    const stored = this.#stored ?? (await this.#readStored())
    if (stored === undefined) return undefined
    return [describeTerms(stored.terms), this.#loop === undefined ? 'loop: paused, /loop on continues it' : this.text]
  }

  /** Starts a loop in place of the previous one. @throws UsageError for a loop without a bound. */
  async begin(terms: LoopTerms): Promise<void> {
    const { limits, goal } = this.#open.session.snapshot
    const isBound = terms.rounds !== undefined || terms.forMs !== undefined
    if (!isBound && limits.maxBudgetUsd === null && goal?.isChecked !== true) throw new UsageError(loopNeedsBound)
    this.#drop()
    const stored: StoredLoop = { id: newLoopId(), startedAtMs: Date.now(), terms }
    await this.#change((loops) => loops.write(stored))
    this.#app.note(`${describeTerms(terms)} · Esc pauses it · /loop off ends it`)
    this.#run(stored, { rounds: [], lastStartedAtMs: null })
  }

  /** Continues the paused or stored loop. @throws UsageError without a loop. */
  async resume(): Promise<void> {
    if (this.#loop !== undefined && this.#loop.view.phase !== 'ended') {
      this.#loop.resume()
      return this.#app.changed()
    }
    const stored = await this.#readStored()
    if (stored === undefined) throw new UsageError('There is no loop to continue. Start one with /loop 10m x5 PROMPT.')
    const { session, local: here } = this.#open
    const past = (await here?.loops?.past(stored.id)) ?? { rounds: [], lastStartedAtMs: null }
    // The session offers to resume an unfinished run; the loop resumes it as a round.
    const isLeftOpen = past.open !== undefined && session.snapshot.canResume
    this.#run(stored, past, isLeftOpen ? () => session.resume() : undefined)
  }

  /** Ends the loop and deletes its record. A running round continues. False if there was none. */
  async stop(): Promise<boolean> {
    const stored = this.#stored ?? (await this.#readStored())
    this.#drop()
    await this.#change((loops) => loops.remove())
    this.#app.changed()
    return stored !== undefined
  }

  /** Pauses between rounds, when no run could be stopped by a key. False if the loop is not waiting. */
  pause(): boolean {
    if (!this.isWaiting) return false
    this.#loop?.pause()
    return true
  }

  async #readStored(): Promise<StoredLoop | undefined> {
    await this.#lastWrite
    const loops = this.#open.local?.loops
    const stored = await loops?.read()
    if (stored === undefined) return undefined
    return isLoopOpen(stored, await loops?.past(stored.id), Date.now()) ? stored : undefined
  }

  /** Rejects with errors of the file system. */
  async #change(work: (loops: LoopStore) => Promise<void>): Promise<void> {
    const loops = this.#open.local?.loops
    if (loops === undefined) return
    const change = this.#lastWrite.then(() => work(loops))
    this.#lastWrite = change.catch(() => undefined)
    await change
  }

  #drop(): void {
    this.#loop?.close()
    ;[this.#loop, this.#stored, this.#line] = [undefined, undefined, undefined]
  }

  #run(stored: StoredLoop, past: PastRounds, adopt?: () => void): void {
    // If another loop was started while this one was being stored, this one replaces it.
    this.#loop?.close()
    this.#stored = stored
    this.#loop = new PromptLoop({
      session: this.#open.session,
      loopId: stored.id,
      terms: stored.terms,
      startedAtMs: stored.startedAtMs,
      past,
      prompt: () => this.#open.prepare(stored.terms.prompt),
      clock: machineClock(),
      onInterrupt: 'pause',
      exitCodeOf: (terminal) => exitCodeOf(terminal, undefined),
      onEvent: (event) => this.#onEvent(event, stored.terms.rounds),
    })
    this.#loop.begin(adopt)
    this.#app.changed()
  }

  #onEvent(event: LoopEvent, rounds: number | undefined): void {
    switch (event.type) {
      case 'round_begin':
        this.#noteRound('')
        break
      case 'round_end':
        this.#line = (next) => roundLine(event.round, { rounds, next })
        break
      case 'wait':
        this.#noteRound(`next at ${clockText(event.nextAtMs, event.nextAtMs - event.waitMs)}`)
        break
      case 'paused':
        this.#noteRound('')
        this.#app.note('The loop is paused. /loop on continues it, /loop off ends it.')
        break
      case 'end':
        this.#noteRound('')
        this.#app.note(endLine(event.end, this.#loop?.rounds ?? []))
        this.#forget()
        break
      case 'broken':
        this.#app.fail(event.error)
        this.#app.note('The loop ended, because a round could not start. Start another with /loop.')
        this.#forget()
        break
    }
    this.#app.changed()
  }

  #noteRound(next: string): void {
    if (this.#line !== undefined) this.#app.note(this.#line(next))
    this.#line = undefined
  }

  /** Forgets a loop that has ended, so that it is not offered again. */
  #forget(): void {
    ;[this.#loop, this.#stored] = [undefined, undefined]
    void this.#change((loops) => loops.remove()).catch((thrown: unknown) => this.#app.fail(thrown))
  }
}

/** `Every 10 min, 5 rounds: Check the build.` */
function describeTerms({ prompt, everyMs, rounds, forMs }: LoopTerms): string {
  const bounds = [
    everyMs === 0 ? 'Without a pause' : `Every ${durationText(everyMs)}`,
    ...(rounds === undefined ? [] : [many(rounds, 'round')]),
    ...(forMs === undefined ? [] : [`for ${durationText(forMs)}`]),
  ]
  return `${bounds.join(', ')}: ${oneLine(prompt, 200)}`
}
