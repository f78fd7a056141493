import type {
  StandingBudget,
  StandingBudgets,
  StandingRefused,
  StandingRequest,
  StandingReservation,
  StandingWait,
} from '@halting/core'
import { nanosOf } from './core-internals.ts'
import type { Choices } from './choices.ts'
import type { VirtualTime } from './virtual-time.ts'

/** Possible answers of standing budgets to a request. The first is the answer while there is enough. */
export const standingAnswers = [
  'all',
  'the least',
  'half',
  'refused',
  'all, later',
  'refused, later',
  'all, after a wait',
  'the least, after a wait',
  'refused, after a wait',
  'throws',
  'rejects after a wait',
  'aborted while it waits',
  'all, though aborted',
] as const

type StandingAnswer = (typeof standingAnswers)[number]

/** What the standing budgets of a scenario may do. */
export interface ScenarioStanding {
  readonly ways: readonly StandingAnswer[]
  /** The only model that they count for. Default: every model. */
  readonly model?: string
}

/** What they use of the world. */
export interface StandingWorld {
  readonly choices: Choices
  readonly time: VirtualTime
  /** Triggers an abort with a cause that the path chooses, because nothing else would end an endless wait. */
  abort(label: string): void
}

/** Time in which others return what they have reserved, in milliseconds. */
const othersMs = 25

const budget: StandingBudget = {
  name: '$20 a day',
  limitUsd: 20,
  settledUsd: 19.999,
  unknownUsd: 0.5,
  reservedUsd: 0,
  resetsAt: '2026-12-01T00:00:00+01:00',
}
const wait: StandingWait = { budget: budget.name, reservedUsd: 1.5, holders: 2 }
const refusal: StandingRefused = { kind: 'refused', budget }

/**
 * Standing budgets of one process that answer what the path says. They check that each amount taken is settled once and within that amount, and that no model they count for is
 * called without a reservation. Reservations are lost with a killed process.
 */
export class ExploredStandingBudgets implements StandingBudgets {
  readonly names: readonly string[] = [budget.name]
  /** Violations of the rules for standing budgets. */
  readonly problems: string[] = []
  readonly #scenario: ScenarioStanding
  readonly #world: StandingWorld
  #open = 0
  #inFlight = 0
  #settledNanos = 0
  #times = 0

  constructor(scenario: ScenarioStanding, world: StandingWorld) {
    this.#scenario = scenario
    this.#world = world
  }

  /** Number of requests. */
  get times(): number {
    return this.#times
  }

  /** Number of reservations that are not settled. */
  get open(): number {
    return this.#open
  }

  get countsForAll(): boolean {
    return this.#scenario.model === undefined
  }

  /** What was settled in this process, in billionths of a dollar. */
  get settledNanos(): number {
    return this.#settledNanos
  }

  countsFor = (model: string): boolean => this.#scenario.model === undefined || this.#scenario.model === model

  /** A model is called; the returned function is called when that is over. */
  asked(model: string, key: string, signal: AbortSignal): () => void {
    if (!this.countsFor(model)) return () => {}
    this.#inFlight++
    if (this.#inFlight > this.#open) this.problems.push(`${key} was asked without a taking`)
    let isOver = false
    const over = (): void => {
      if (isOver) return
      isOver = true
      this.#inFlight--
    }
    // A deaf model is abandoned when it is aborted.
    signal.addEventListener('abort', over, { once: true })
    return over
  }

  take(
    request: StandingRequest,
    { signal, onWait }: Parameters<StandingBudgets['take']>[1],
  ): ReturnType<StandingBudgets['take']> {
    const { model, usd, leastUsd } = request
    const { time } = this.#world
    this.#times++
    if (!this.countsFor(model)) this.problems.push(`${model} took from what does not count for it`)
    if (!(leastUsd > 0 && leastUsd <= usd)) this.problems.push(`${leastUsd} of ${usd} is the least`)
    if (signal.aborted) return Promise.reject(new Error('aborted before it was asked'))
    const label = `standing ${model} ${usd} ${leastUsd}`
    const way = this.#world.choices.choose(label, this.#scenario.ways)
    const all = (): StandingReservation => this.#taken(usd)
    const least = (): StandingReservation => this.#taken(leastUsd)
    /** Answers after others had their time. An abort ends the wait, and then nothing is taken. */
    const later = async <T>(answer: () => T, notifies = true): Promise<T> => {
      if (notifies) onWait(wait)
      await time.pass(othersMs, signal)
      if (signal.aborted) throw new Error('aborted while it waited')
      return answer()
    }
    /** Waits without end: nobody returns anything. */
    const forever = (): Promise<void> => {
      onWait(wait)
      onWait({ ...wait, holders: 1 })
      const aborted = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
      void Promise.resolve().then(() => this.#world.abort(`${label} waits`))
      return aborted
    }
    switch (way) {
      case 'all':
        return all()
      case 'the least':
        return least()
      case 'half':
        return this.#taken(Math.max(leastUsd, usd / 2))
      case 'refused':
        return refusal
      case 'all, later':
        return later(all, false)
      case 'refused, later':
        return later(() => refusal, false)
      case 'all, after a wait':
        return later(all)
      case 'the least, after a wait':
        return later(least)
      case 'refused, after a wait':
        return later(() => refusal)
      case 'throws':
        throw new Error('the file of the standing budgets is damaged')
      case 'rejects after a wait':
        return later(() => {
          throw new Error('the disk is full')
        })
      case 'aborted while it waits':
        return forever().then(() => {
          throw new Error('aborted while it waited')
        })
      case 'all, though aborted':
        return forever().then(all)
    }
  }

  #taken(usd: number): StandingReservation {
    this.#open++
    let isSettled = false
    return {
      kind: 'taken',
      usd,
      settle: (spent, isKnown) => {
        if (isSettled) this.problems.push(`what was settled is settled again: at ${spent}`)
        if (!(spent >= 0 && nanosOf(spent) <= nanosOf(usd))) this.problems.push(`${spent} is settled of ${usd}`)
        if (typeof isKnown !== 'boolean') this.problems.push('nobody says whether what is settled is known')
        isSettled = true
        this.#open--
        this.#settledNanos += nanosOf(spent)
      },
    }
  }
}
