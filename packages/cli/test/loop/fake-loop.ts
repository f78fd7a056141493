import type { RunResult } from '@halting/core'
import type { Session, SessionEvent, SessionSnapshot } from '@halting/core/session'
import type { LoopClock } from '../../src/frontends/loop-clock.ts'
import { pastRounds, type PastRounds, type RecordedRuns } from '../../src/frontends/loop-record.ts'
import { type LoopEvent, PromptLoop, type PromptLoopOptions } from '../../src/frontends/prompt-loop.ts'

/** A clock that the test controls: the monotonic one, and the wall clock, which anybody can set. */
export class FakeLoopClock implements LoopClock {
  #now = 0
  #wallOffsetMs = Date.UTC(2026, 0, 1)
  #timers: { readonly at: number; readonly callback: () => void }[] = []

  now(): number {
    return this.#now
  }

  wallMs(): number {
    return this.#now + this.#wallOffsetMs
  }

  /** Sets the wall clock. */
  setWall(byMs: number): void {
    this.#wallOffsetMs += byMs
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + ms, callback }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter((each) => each !== timer)
    }
  }

  get timers(): number {
    return this.#timers.length
  }

  /** The process is gone, with its timers. */
  forget(): void {
    this.#timers = []
  }

  async advance(ms: number): Promise<void> {
    const until = this.#now + ms
    for (;;) {
      await settle()
      const next = this.#timers.toSorted((one, other) => one.at - other.at)[0]
      if (next === undefined || next.at > until) break
      this.#timers = this.#timers.filter((each) => each !== next)
      this.#now = Math.max(this.#now, next.at)
      next.callback()
    }
    this.#now = until
    await settle()
  }
}

/** Runs everything that is ready to run. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve()
}

/** How a run of the fake session ends, and after which time. */
export interface FakeRun {
  readonly ms: number
  readonly reason?: RunResult['reason']
  readonly context?: Readonly<Record<string, string>>
  readonly requests?: number
  readonly goalMet?: boolean
  /** The service accepts requests again this long after the run has ended. */
  readonly retryInMs?: number
}

function resultOf(
  { reason = 'completed', context = {}, requests = 1, goalMet, retryInMs }: Partial<FakeRun>,
  wallMs: number,
): RunResult {
  const met = goalMet === undefined ? {} : { goal: { met: goalMet } }
  // True: the fields of a result that a loop reads.
  return {
    reason,
    costUsd: 0.01,
    durationMs: 10,
    summary: { requests, turns: 1 },
    signal: { context, source: 'test', message: reason },
    ...met,
    ...(retryInMs !== undefined && { retryAt: new Date(wallMs + retryInMs).toISOString() }),
  } as unknown as RunResult
}

/** What outlives a process: the runs of a session, as its journal has them. */
export class FakeRecord {
  readonly ended: { readonly runId: string; readonly promptId?: string; readonly terminal: RunResult }[] = []
  readonly began: number[] = []
  open: { readonly runId: string; readonly promptId: string | undefined; readonly run: FakeRun } | undefined

  past(loopId: string): PastRounds {
    const open = this.open?.promptId
    const records = [
      {
        type: 'start',
        scope: '',
        start: { added: [{ kind: 'user', origin: 'prompt', inboxId: open }], run: {}, spent: {} },
      },
    ]
    // True: only the prompt of the start is read.
    return pastRounds(loopId, {
      ended: this.ended,
      open: this.open === undefined ? undefined : records,
      began: this.began,
    } as unknown as RecordedRuns)
  }
}

/** A session in which each run takes the time from `runs`, by the clock. */
export class FakeSession {
  readonly clock: FakeLoopClock
  readonly record: FakeRecord
  readonly #runs: () => FakeRun
  readonly hasGoal: boolean
  readonly #listeners = new Set<(event: SessionEvent) => void>()
  status: SessionSnapshot['status'] = 'idle'
  queue: string[] = []
  /** Prompts of the loop, with their run metadata. */
  readonly prompts: { readonly id: string; readonly skipIfMet: boolean | undefined; readonly at: number }[] = []
  #cut: (() => void) | undefined
  #isDead = false

  constructor(clock: FakeLoopClock, runs: () => FakeRun, record = new FakeRecord(), hasGoal = false) {
    ;[this.clock, this.#runs, this.record, this.hasGoal] = [clock, runs, record, hasGoal]
  }

  get snapshot(): SessionSnapshot {
    const { status, queue, hasGoal } = this
    return { status, queue, goal: hasGoal ? {} : null } as unknown as SessionSnapshot
  }

  listen(listener: (event: SessionEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  prompt: Session['prompt'] = (_content, { id = '', skipIfMet } = {}) => {
    if (this.#isDead) return id
    if (this.status !== 'idle' || this.queue.length > 0) throw new Error('A run goes on: the loop would interrupt it.')
    this.prompts.push({ id, skipIfMet, at: this.clock.now() })
    this.#begin(id, this.#runs())
    return id
  }

  /** A user message. */
  person(run: FakeRun): void {
    if (this.status === 'idle') this.#begin(undefined, run)
  }

  /** Continues the unfinished recorded run. */
  resume(): void {
    const { open } = this.record
    if (open === undefined) throw new Error('There is no run to continue.')
    this.#run(open.runId, open.promptId, open.run, [])
  }

  /** Its process is gone: its unfinished work is lost. */
  kill(): void {
    this.#isDead = true
    this.#listeners.clear()
    this.clock.forget()
  }

  interrupt(): void {
    this.#cut?.()
  }

  #begin(promptId: string | undefined, run: FakeRun): void {
    const runId = `run${this.record.began.length + 1}`
    this.record.began.push(this.clock.wallMs())
    this.record.open = { runId, promptId, run }
    this.#run(runId, promptId, run, promptId === undefined ? ['person'] : [promptId])
  }

  #run(runId: string, promptId: string | undefined, run: FakeRun, ids: readonly string[]): void {
    this.status = 'running'
    this.#tell({ type: 'changed' })
    this.#tell({ type: 'run_start', runId, ids })
    const end = (terminal: RunResult): void => {
      cancel()
      this.#cut = undefined
      this.record.open = undefined
      this.record.ended.push({ runId, ...(promptId !== undefined && { promptId }), terminal })
      this.#tell({ type: 'run_end', runId, terminal, result: {} } as unknown as SessionEvent)
      this.status = 'idle'
      this.#tell({ type: 'changed' })
    }
    const cancel = this.clock.after(run.ms, () => end(resultOf(run, this.clock.wallMs())))
    this.#cut = () => end(resultOf({ reason: 'aborted_tools' }, this.clock.wallMs()))
  }

  #tell(event: SessionEvent): void {
    for (const listener of this.#listeners.values()) listener(event)
  }
}

export const loopId = 'abcd'

/** A loop over a fake session. */
export function loopOver(
  session: FakeSession,
  { terms, ...others }: Partial<PromptLoopOptions> & Pick<PromptLoopOptions, 'terms'>,
): { readonly loop: PromptLoop; readonly events: LoopEvent[] } {
  const events: LoopEvent[] = []
  const loop = new PromptLoop({
    session,
    loopId,
    terms,
    startedAtMs: session.clock.wallMs(),
    past: { rounds: [], lastStartedAtMs: null },
    prompt: () => Promise.resolve({ content: 'Check.' }),
    clock: session.clock,
    onInterrupt: 'end',
    exitCodeOf: ({ reason }) => (reason === 'completed' ? 0 : 1),
    onEvent: (event) => events.push(event),
    ...others,
  })
  return { loop, events }
}
