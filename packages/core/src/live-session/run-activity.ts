import type { RunEvent } from '../state/events.ts'
import { spendsTurn } from '../limits/transition-rules.ts'
import { failureName } from '../model/model-error.ts'
import type { Activity } from './session.ts'

const idle: Activity = Object.freeze({ type: 'idle' })

/** What a run is doing, derived from its events. */
export class RunActivity {
  readonly #now: () => number
  #activity: Activity = idle
  /** A further attempt at the same turn. This activity lasts until the reply of the attempt arrives. */
  #recovery: Activity | undefined
  /** The current or last model. */
  #model: string | undefined
  #calls: readonly string[] = []
  /** Iterations by transition since the last turn started. */
  #iterations: { readonly [transition: string]: number } = {}
  /** Reasons of stop hooks that sent the last answer back. */
  #sentBack: string | null = null

  /** `now`: the clock of the session, in milliseconds. */
  constructor(now: () => number) {
    this.#now = now
  }

  get present(): Activity {
    return this.#activity
  }

  begin(model: string): void {
    this.end()
    this.#model = model
    this.#activity = { type: 'asking', model }
  }

  end(): void {
    this.#recovery = undefined
    this.#iterations = {}
    this.#sentBack = null
    this.#calls = []
    this.#activity = idle
  }

  /** Processes an event and returns whether the activity changed. */
  onEvent(event: RunEvent): boolean {
    const next = this.#after(event)
    if (next === undefined) return false
    this.#activity = next
    return true
  }

  /** The activity once a wait is over. */
  get #requesting(): Activity {
    return this.#recovery ?? (this.#model === undefined ? idle : { type: 'asking', model: this.#model })
  }

  #after(event: RunEvent): Activity | undefined {
    switch (event.type) {
      case 'model_start':
        this.#model = event.model
        return this.#recovery ?? { type: 'asking', model: event.model }
      case 'budget_wait': {
        const { isWaiting, reservedUsd, reservedTokens, holders, budget } = event
        if (!isWaiting) return this.#requesting
        return { type: 'budget_wait', reservedUsd, reservedTokens, holders, ...(budget !== undefined && { budget }) }
      }
      case 'model_end':
        if (event.outcome === 'answered') this.#recovery = undefined
        return undefined
      case 'retry': {
        const { attempt, maxRetries, delayMs, error } = event
        return { type: 'retry', attempt, maxRetries, untilMs: this.#now() + delayMs, error: failureName(error) }
      }
      case 'service_wait': {
        const { isWaiting, model, sinceMs, untilMs, error } = event
        if (!isWaiting) return this.#requesting
        return { type: 'service_wait', model, sinceMs, untilMs, error: failureName(error), message: error.message }
      }
      case 'hook_end':
        if ('block' in event.outcome && event.trigger === 'stopHook') this.#sentBack ??= event.outcome.block ?? null
        return undefined
      case 'lap': {
        const { transition } = event
        const isTurn = spendsTurn(transition)
        this.#iterations = isTurn ? {} : { ...this.#iterations, [transition]: (this.#iterations[transition] ?? 0) + 1 }
        const used = this.#iterations[transition] ?? 0
        const because = transition === 'stop_hook_blocking' ? this.#sentBack : null
        this.#sentBack = null
        const left = event.left[transition] ?? 0
        this.#recovery = isTurn ? undefined : { type: 'recovery', transition, used, left, because }
        return this.#recovery
      }
      case 'tool_start':
        this.#calls = [...this.#calls, event.callId]
        return { type: 'tools', callIds: this.#calls }
      case 'tool_end':
        this.#calls = this.#calls.filter((id) => id !== event.callId)
        return { type: 'tools', callIds: this.#calls }
      case 'goal_start': {
        const { goals, tries, maxTries } = event
        return { type: 'goal_check', goals, tries, maxTries, sinceMs: this.#now() }
      }
      case 'goal_end':
        return this.#requesting
      case 'compact_start':
        return { type: 'compacting', tokens: event.tokens }
      default:
        return undefined
    }
  }
}
