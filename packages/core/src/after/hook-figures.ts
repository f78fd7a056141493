import type { RunEvent } from '../state/events.ts'
import type { HookOutcome } from '../hooks/hook-outcome.ts'
import type { StopHookOutcome } from '../hooks/stop-hooks.ts'
import type { SdkHookFigures } from '../sdk/sdk-messages.ts'
import { headOf } from '../values/text.ts'
import type { StageMessage } from './stage.ts'

/** One call of a hook, by the loop or by a caller. */
export interface HookCall {
  /** Name of the hook. */
  readonly hook: string
  /** The trigger, or the event of a settings file. */
  readonly event: string
  /** Milliseconds that it took. */
  readonly durationMs: number
  /** Its decisions, one word each; empty for a hook that changed nothing. */
  readonly decisions: readonly string[]
}

const maxRows = 50
const maxNameLength = 120

// Spec R-AFTER-9.
/** Sums up what the hooks of a run did, without side effects. */
export class HookFigures {
  readonly #rows = new Map<string, { -readonly [field in keyof SdkHookFigures]: SdkHookFigures[field] }>()
  readonly #isCounted: (hook: string) => boolean

  /** `isCounted`: which hooks of the loop count. Default: all. Callers add other hooks through `add`. */
  constructor(isCounted: (hook: string) => boolean = () => true) {
    this.#isCounted = isCounted
  }

  /** Receives an event of the run, including events of subagents. */
  onEvent(event: RunEvent): void {
    if (event.type === 'agent') this.onEvent(event.event)
    if (event.type !== 'hook_end' || !this.#isCounted(event.hook)) return
    const { hook, trigger, durationMs, outcome } = event
    this.add({ hook, event: trigger, durationMs, decisions: decisionsOf(outcome) })
  }

  /** Adds one call of a hook. */
  add({ hook, event, durationMs, decisions }: HookCall): void {
    const key = JSON.stringify([hook, event])
    const row = this.#rows.get(key) ?? {
      hook_name: headOf(hook, maxNameLength),
      hook_event: event,
      count: 0,
      total_ms: 0,
      longest_ms: 0,
      decisions: {},
    }
    const sums = new Map(Object.entries(row.decisions))
    for (const decision of decisions.length === 0 ? ['none'] : decisions)
      sums.set(decision, (sums.get(decision) ?? 0) + 1)
    row.count++
    row.total_ms += durationMs
    row.longest_ms = Math.max(row.longest_ms, durationMs)
    row.decisions = Object.fromEntries(sums)
    this.#rows.set(key, row)
  }

  /** Returns the sums, longest duration first, and resets them; undefined if no hook ran. */
  take(runId: string): Extract<StageMessage, { readonly subtype: 'hook_summary' }> | undefined {
    const hooks = [...this.#rows.values()].toSorted((one, other) => other.total_ms - one.total_ms)
    this.#rows.clear()
    if (hooks.length === 0) return undefined
    return { type: 'system', subtype: 'hook_summary', run_id: runId, hooks: hooks.slice(0, maxRows) }
  }
}

/** The decisions of a hook, in a word each. */
function decisionsOf(outcome: HookOutcome | StopHookOutcome): readonly string[] {
  const { signals, continued, messages, blocked, permission, input, output, prevented, replaced } =
    outcome as HookOutcome
  const { block, prevent } = outcome as StopHookOutcome
  const found: readonly (readonly [string, boolean])[] = [
    ['block', blocked !== undefined || (block !== undefined && block !== '')],
    ['stop', prevented !== undefined || prevent !== undefined || (signals?.length ?? 0) > 0],
    ['continue', continued === true],
    ['changed input', input !== undefined],
    ['changed output', output !== undefined],
    ['context', (messages?.length ?? 0) > 0 || replaced !== undefined],
    ['error', outcome.error !== undefined],
    ['aborted', outcome.aborted !== undefined],
  ]
  return [
    ...(permission === undefined ? [] : [permission]),
    ...found.flatMap(([name, isDecided]) => (isDecided ? [name] : [])),
  ]
}
