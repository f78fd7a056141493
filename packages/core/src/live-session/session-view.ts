import type { RunEvent } from '../state/events.ts'
import type { QueryEngine } from '../api/engine.ts'
import type { QueryOptions } from '../api/query-options.ts'
import type { SettingsChange } from '../state/settings-change.ts'
import type { RunResult } from '../endings/run-result.ts'
import { systemClock } from '../values/system-clock.ts'
import { specOf } from '../goals/run-goals.ts'
import { settingsOf } from '../api/options.ts'
import { GoalView } from './goal-view.ts'
import { type EffectiveSettings, initialSettings, changedSettings, modelIdsOf, orNull } from './effective-settings.ts'
import { nextStop } from './next-stop.ts'
import { RunActivity } from './run-activity.ts'
import { RunFigures } from './run-figures.ts'
import type { SessionSnapshot, BackgroundTask, WaitingRequest } from './session.ts'
import type { Background, TaskNote } from '../verification/background.ts'
import { failureName } from '../model/model-error.ts'

type SessionViewState =
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
  /** The engine: dollars of the session without the current run, and the chosen model. */
  readonly engine: () => Pick<QueryEngine, 'totalCostUsd' | 'model'>
}

/** What a session shows of its runs, from their events and the settings. */
export class SessionView {
  readonly #options: ViewOptions
  readonly #figures: RunFigures
  readonly #activity: RunActivity
  readonly #tasks: BackgroundList
  readonly #goal: GoalView
  readonly #serviceWaits = new ServiceWaitsView()
  readonly #initialSettings: EffectiveSettings
  #settings: EffectiveSettings
  /** Whether a run is active whose costs are not in the session's total yet. */
  #isRunCounted = false
  #last: RunResult | undefined

  /** @throws ConfigurationError for invalid options. */
  constructor(view: ViewOptions) {
    const { options, permissions, last } = view
    const now = (): number => (options.clock ?? systemClock).now()
    this.#options = view
    this.#initialSettings = this.#settings = initialSettings(options, permissions.mode)
    this.#figures = new RunFigures(this.#settings.limits, orNull(options.contextWindow ?? options.model.contextWindow))
    this.#activity = new RunActivity(now)
    this.#tasks = new BackgroundList(options.background, now)
    this.#goal = new GoalView((options.until ?? []).map(specOf), settingsOf(options).maxGoalTries)
    this.#last = last
    // Shows the last run of an earlier process until another one starts.
    if (last !== undefined) this.#figures.end(last)
    this.#figures.limit(this.#settings.limits, this.#spentBefore)
  }

  begin(): void {
    this.#isRunCounted = true
    this.#goal.begin()
    this.#serviceWaits.clear()
    this.#activity.begin(this.#options.engine().model.id)
    this.#figures.begin(this.#settings.limits, this.#options.engine().totalCostUsd)
  }

  /** Called when the run has its result: its costs are in the session's total. */
  end(last: RunResult | undefined): void {
    this.#isRunCounted = false
    this.#last = last ?? this.#last
    this.#activity.end()
    this.#serviceWaits.clear()
    this.#goal.end(last)
    if (last !== undefined) this.#figures.end(last)
  }

  set(change: SettingsChange): void {
    this.#settings = changedSettings(this.#settings, this.#initialSettings, change)
    this.#goal.set(change)
    this.#figures.limit(this.#settings.limits, this.#spentBefore)
  }

  /** The conversation was rewound. */
  rewound(): void {
    this.#figures.forgetContext()
  }

  /** Processes an event and returns whether the view changed. */
  onEvent(event: RunEvent): boolean {
    if (event.type === 'settings') this.set(event.change)
    const views = [this.#figures, this.#activity, this.#goal, this.#tasks, this.#serviceWaits]
    const isHandled = views.map((view) => view.onEvent(event))
    return event.type === 'settings' || isHandled.includes(true)
  }

  get turns(): number {
    return this.#figures.turns
  }

  /** Dollars that the session has spent, without the run that the figures describe. */
  get #spentBefore(): number {
    const total = this.#options.engine().totalCostUsd
    return this.#isRunCounted ? total : total - this.#figures.knownUsd
  }

  get present(): Pick<SessionSnapshot, SessionViewState> {
    const { options, permissions } = this.#options
    return {
      ...this.#settings,
      model: this.#options.engine().model.id,
      activity: this.#activity.present,
      models: modelIdsOf(options),
      permissionModes: permissions.modes ?? [],
      figures: this.#figures.figures(this.#spentBefore + this.#figures.knownUsd),
      nextStop: nextStop(this.#figures.left),
      goal: this.#goal.present(options.permissions?.isPlanning?.(this.#settings.permissionMode) !== true),
      tasks: this.#tasks.tasks,
      serviceWaits: this.#serviceWaits.present,
      last: this.#last,
    }
  }
}

/** Number of the latest ended tasks that are still shown. */
const maxEndedTasks = 20

/** Background tasks, from the loop's events. Their port may report an ended command before the loop does. */
export class BackgroundList {
  readonly #port: Pick<Background, 'running' | 'knows'> | undefined
  readonly #now: () => number
  #tasks: readonly BackgroundTask[] = []

  constructor(port: Pick<Background, 'running' | 'knows'> | undefined, now: () => number) {
    this.#port = port
    this.#now = now
  }

  get tasks(): readonly BackgroundTask[] {
    const running = new Set(this.#port?.running().map(({ id }) => id))
    return this.#tasks.map((task) =>
      task.kind === 'command' && task.status === 'running' && !running.has(task.id)
        ? { ...task, status: 'ended' }
        : task,
    )
  }

  /** Processes an event and returns whether a task started or ended. */
  onEvent(event: RunEvent): boolean {
    if (event.type !== 'message') return false
    const { entry } = event
    const notes = entry.kind === 'user' || entry.kind === 'attachment' ? entry.tasks : undefined
    if (notes === undefined || notes.length === 0) return false
    for (const note of notes) this.#enter(note)
    return true
  }

  #enter(note: TaskNote): void {
    const { id } = note
    if (id === null) return
    if (note.type === 'started') {
      const kind = this.#port?.knows(id) === true ? 'command' : 'agent'
      const task = { id, kind, description: note.description, startedAtMs: this.#now(), status: 'running' } as const
      this.#tasks = [...this.#tasks.filter((each) => each.id !== id), task]
    } else if (note.type === 'ended' || note.how !== 'kept') {
      this.#tasks = this.#tasks.map((each) => (each.id === id ? { ...each, status: 'ended' } : each))
    }
    const ended = this.#tasks.filter(({ status }) => status === 'ended')
    const old = new Set(ended.slice(0, -maxEndedTasks))
    if (old.size > 0) this.#tasks = this.#tasks.filter((each) => !old.has(each))
  }
}

const none: readonly WaitingRequest[] = Object.freeze([])

/** Requests of a run and its agents that wait for their services, in order of the start of their waits. */
export class ServiceWaitsView {
  #waits: readonly WaitingRequest[] = none

  get present(): readonly WaitingRequest[] {
    return this.#waits
  }

  /** Clears the list when another run starts, or this one has ended. */
  clear(): void {
    this.#waits = none
  }

  /** Processes an event and returns whether a wait started or ended. */
  onEvent(event: RunEvent, callIds: readonly string[] = []): boolean {
    switch (event.type) {
      case 'agent':
        return this.onEvent(event.event, [...callIds, event.callId])
      case 'service_wait': {
        const { isWaiting, model, sinceMs, untilMs, error } = event
        const others = this.#waits.filter((wait) => !(isAt(wait, callIds) && wait.sinceMs === sinceMs))
        const began = { callIds, model, sinceMs, untilMs, error: failureName(error), message: error.message }
        return this.#replace(isWaiting ? [...others, began] : others)
      }
      case 'run_end':
        // Removes waits of an agent that ended while waiting, and of its descendants.
        return this.#replace(
          this.#waits.filter((wait) => !isAt({ callIds: wait.callIds.slice(0, callIds.length) }, callIds)),
        )
      default:
        return false
    }
  }

  #replace(next: readonly WaitingRequest[]): boolean {
    const isAnother = next.length !== this.#waits.length || next.some((wait, index) => wait !== this.#waits[index])
    if (isAnother) this.#waits = next.length === 0 ? none : next
    return isAnother
  }
}

function isAt(wait: Pick<WaitingRequest, 'callIds'>, callIds: readonly string[]): boolean {
  return wait.callIds.length === callIds.length && wait.callIds.every((id, index) => id === callIds[index])
}
