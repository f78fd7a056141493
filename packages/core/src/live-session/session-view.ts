import type { RunEvent } from '../state/events.ts'
import type { QueryEngine } from '../api/engine.ts'
import type { QueryOptions } from '../api/query-options.ts'
import type { SettingsChange } from '../state/settings-change.ts'
import type { RunResult } from '../endings/terminal.ts'
import { systemClock } from '../values/system-clock.ts'
import { BackgroundList } from './background-list.ts'
import { specOf } from '../goals/run-goals.ts'
import { settingsOf } from '../api/options.ts'
import { GoalView } from './goal-view.ts'
import { type InForce, inForceAtFirst, inForceWith, modelIdsOf, orNull } from './in-force.ts'
import { nextStop } from './next-stop.ts'
import { RunActivity } from './run-activity.ts'
import { RunFigures } from './run-figures.ts'
import { ServiceWaitsView } from './service-waits-view.ts'
import type { SessionSnapshot } from './session.ts'

type Viewed =
  | 'activity'
  | 'model'
  | 'models'
  | 'permissionMode'
  | 'permissionModes'
  | 'thinking'
  | 'limits'
  | 'figures'
  | 'nextStop'
  | 'goal'
  | 'tasks'
  | 'serviceWaits'
  | 'last'

export interface ViewOptions {
  readonly options: QueryOptions
  readonly permissions: { readonly mode: string; readonly modes?: readonly string[] | undefined }
  readonly last: RunResult | undefined
  /** Of the engine: dollars of the session without the run that goes on, and the model that was chosen. */
  readonly engine: () => Pick<QueryEngine, 'totalCostUsd' | 'model'>
}

/** What a session shows of its runs, by what these tell, and what is set. */
export class SessionView {
  readonly #options: ViewOptions
  readonly #figures: RunFigures
  readonly #activity: RunActivity
  readonly #tasks: BackgroundList
  readonly #goal: GoalView
  readonly #serviceWaits = new ServiceWaitsView()
  readonly #first: InForce
  #inForce: InForce
  /** A run goes on whose figures are not in the sum of the session yet. */
  #counts = false
  #last: RunResult | undefined

  /** @throws ConfigurationError for options that cannot be run. */
  constructor(view: ViewOptions) {
    const { options, permissions, last } = view
    const now = (): number => (options.clock ?? systemClock).now()
    this.#options = view
    this.#first = this.#inForce = inForceAtFirst(options, permissions.mode)
    this.#figures = new RunFigures(this.#inForce.limits, orNull(options.contextWindow ?? options.model.contextWindow))
    this.#activity = new RunActivity(now)
    this.#tasks = new BackgroundList(options.background, now)
    this.#goal = new GoalView((options.until ?? []).map(specOf), settingsOf(options).maxGoalTries)
    this.#last = last
    // What stands there is the last run of an earlier process, until another one begins.
    if (last !== undefined) this.#figures.end(last)
    this.#figures.limit(this.#inForce.limits, this.#spentBefore)
  }

  begin(): void {
    this.#counts = true
    this.#goal.begin()
    this.#serviceWaits.clear()
    this.#activity.begin(this.#options.engine().model.id)
    this.#figures.begin(this.#inForce.limits, this.#options.engine().totalCostUsd)
  }

  /** The result is there: what the run has cost is in the sum of the session. */
  end(last: RunResult | undefined): void {
    this.#counts = false
    this.#last = last ?? this.#last
    this.#activity.end()
    this.#serviceWaits.clear()
    this.#goal.end(last)
    if (last !== undefined) this.#figures.end(last)
  }

  set(change: SettingsChange): void {
    this.#inForce = inForceWith(this.#inForce, this.#first, change)
    this.#goal.set(change)
    this.#figures.limit(this.#inForce.limits, this.#spentBefore)
  }

  /** The conversation went back. */
  rewound(): void {
    this.#figures.forgetContext()
  }

  /** True when something of it is another. */
  onEvent(event: RunEvent): boolean {
    if (event.type === 'settings') this.set(event.change)
    const views = [this.#figures, this.#activity, this.#goal, this.#tasks, this.#serviceWaits]
    const heard = views.map((view) => view.onEvent(event))
    return event.type === 'settings' || heard.includes(true)
  }

  get turns(): number {
    return this.#figures.turns
  }

  /** Dollars that the session has spent without the run whose figures are told. */
  get #spentBefore(): number {
    const total = this.#options.engine().totalCostUsd
    return this.#counts ? total : total - this.#figures.knownUsd
  }

  get present(): Pick<SessionSnapshot, Viewed> {
    const { options, permissions } = this.#options
    return {
      ...this.#inForce,
      model: this.#options.engine().model.id,
      activity: this.#activity.present,
      models: modelIdsOf(options),
      permissionModes: permissions.modes ?? [],
      figures: this.#figures.figures(this.#spentBefore + this.#figures.knownUsd),
      nextStop: nextStop(this.#figures.left),
      goal: this.#goal.present(options.permissions?.isPlanning?.(this.#inForce.permissionMode) !== true),
      tasks: this.#tasks.tasks,
      serviceWaits: this.#serviceWaits.present,
      last: this.#last,
    }
  }
}
