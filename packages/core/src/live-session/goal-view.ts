import type { RunResult } from '../endings/run-result.ts'
import type { RunEvent } from '../state/events.ts'
import type { GoalSpec } from '../verification/goal-record.ts'
import type { LimitsChange, SettingsChange } from '../state/settings-change.ts'
import type { SessionGoal } from './session.ts'

/** The goals of a session, from its options, the person's settings, and the reports of its runs. */
export class GoalView {
  readonly #configured: readonly GoalSpec[]
  readonly #configuredMaxTries: number
  /** Goals of a run that does not continue a run of an earlier process. */
  #sessionGoals: readonly GoalSpec[]
  /** Goals of the current or last run. */
  #specs: readonly GoalSpec[]
  #maxTries: number
  #tries = 0
  #isChecking = false
  #last: SessionGoal['last'] = null

  /** @param configured Goals of the options. */
  constructor(configured: readonly GoalSpec[], maxTries: number) {
    this.#configured = this.#sessionGoals = this.#specs = configured
    this.#configuredMaxTries = this.#maxTries = maxTries
  }

  /** Null for a session without goals. */
  present(isChecked: boolean): SessionGoal | null {
    if (this.#specs.length === 0) return null
    return {
      goals: this.#specs,
      isChecked,
      isChecking: this.#isChecking,
      tries: this.#tries,
      maxTries: this.#maxTries,
      last: this.#last,
    }
  }

  /** A run starts with no tries used. One that continues another reports the earlier tries at its first check. */
  begin(): void {
    this.#setGoals(this.#sessionGoals)
    this.#tries = 0
    this.#isChecking = false
  }

  end(result: RunResult | undefined): void {
    this.#isChecking = false
    if (result?.goal === undefined) return
    this.#tries = result.goal.tries
    // Something changed since the last round.
    if (result.goal.met === 'unknown') this.#last = null
  }

  set({ until, limits }: SettingsChange): void {
    this.#limit(limits)
    if (until === undefined) return
    this.#sessionGoals = this.#specs = until ?? this.#configured
    this.#tries = 0
    this.#last = null
  }

  /** Results for other goals do not apply to these. */
  #setGoals(specs: readonly GoalSpec[]): void {
    if (isSameNames(specs, this.#specs)) return
    this.#specs = specs
    this.#last = null
  }

  #limit({ maxGoalTries }: LimitsChange = {}): void {
    if (maxGoalTries !== undefined) this.#maxTries = maxGoalTries ?? this.#configuredMaxTries
  }

  /** Processes an event and returns whether the view changed. `settings` is not among these events: `set` handles it. */
  onEvent(event: RunEvent): boolean {
    switch (event.type) {
      case 'goal_start': {
        const { goals, tries, maxTries } = event
        this.#isChecking = true
        this.#tries = tries
        this.#maxTries = maxTries
        // A run of an earlier process is resumed with its recorded goals.
        this.#setGoals(goals.map((name) => ({ name })))
        return true
      }
      case 'goal_end': {
        const { met, checks, tampered, changedTests, flaky } = event
        this.#isChecking = false
        const isCut = !met && checks.length === 0 && tampered.length === 0
        this.#last = isCut ? null : { met, checks, tampered, changedTests, flaky }
        const judged = new Set(checks.flatMap((check) => (check.judged === true ? [check.name] : [])))
        this.#specs = this.#specs.map((spec) => (judged.has(spec.name) ? { ...spec, judged: true } : spec))
        return true
      }
      case 'lap':
        if (event.transition !== 'goal_unmet') return false
        this.#tries += 1
        return true
      default:
        return false
    }
  }
}

function isSameNames(one: readonly GoalSpec[], other: readonly GoalSpec[]): boolean {
  return one.length === other.length && one.every(({ name }, index) => other[index]?.name === name)
}
