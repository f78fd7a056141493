import type { RunResult } from '@halting/core'
import type { SessionOfWorker, WorkerListener } from '../worker/worker-events.ts'

/** How a session comes to this process and goes: it is reported once that it started, and once how it went, whichever is noticed first. */
export class Presence {
  readonly #about: SessionOfWorker
  readonly #report: WorkerListener | undefined
  #reason: string | undefined
  #isOver = false

  constructor(session: string, tenant: string | undefined, report: WorkerListener | undefined) {
    this.#about = { session, ...(tenant !== undefined && { tenant }) }
    this.#report = report
    report?.({ type: 'session_started', ...this.#about })
  }

  /** A run of it ended here. */
  ran({ reason, committedUsd, totalTokens, summary }: RunResult): void {
    if (this.#isOver) return
    this.#reason = reason
    const { requests, toolResults } = summary
    const figures = { usd: committedUsd, tokens: totalTokens, requests, toolCalls: toolResults }
    this.#report?.({ type: 'run_ended', ...this.#about, reason, ...figures })
  }

  ended(): void {
    if (this.#isOver) return
    this.#isOver = true
    const reason = this.#reason
    this.#report?.({ type: 'session_ended', ...this.#about, ...(reason !== undefined && { reason }) })
  }

  rests(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#report?.({ type: 'session_resting', ...this.#about })
  }

  left(because: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#report?.({ type: 'session_left', ...this.#about, because })
  }
}
