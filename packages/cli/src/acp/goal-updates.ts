import { isDeepStrictEqual } from 'node:util'
import type { PlanEntry, SessionUpdate } from '@agentclientprotocol/sdk'
import type { RunEvent } from '@halting/core'
import type { SessionGoal } from '@halting/core/session'
import { goalEntry, goalLine, goalNames } from '../frontends/goal-words.ts'
import { oneLine } from '../io/figures.ts'
import { fenced, textContent } from './tool-view.ts'

type GoalStart = Extract<RunEvent, { readonly type: 'goal_start' }>
type GoalEnd = Extract<RunEvent, { readonly type: 'goal_end' }>

/** Maximum length of an entry; longer ones are truncated. */
const maxEntryLength = 500

/**
 * Shows the goals of a session to a client: each round of checks as a call, and each goal as an entry of the plan after the task list (spec R-GOAL-77).
 * An announced round always ends, whatever happens to the run.
 */
export class GoalUpdates {
  #rounds = 0
  /** The round in progress. */
  #open: { readonly id: string; readonly goals: readonly string[] } | undefined
  #todos: readonly PlanEntry[] = []
  #goals: readonly PlanEntry[] = []
  readonly #redact: (text: string) => string

  constructor(redact: (text: string) => string) {
    this.#redact = redact
  }

  /** The plan: this task list, followed by the goals. */
  withTodos(todos: readonly PlanEntry[]): SessionUpdate {
    this.#todos = todos
    return this.#plan
  }

  get #plan(): SessionUpdate {
    return { sessionUpdate: 'plan', entries: [...this.#todos, ...this.#goals] }
  }

  /** The plan, if the goals have changed since the last one. */
  planUpdates(goal: SessionGoal | null): readonly SessionUpdate[] {
    const entries = goal === null ? [] : entriesOf(goal, this.#redact)
    if (isDeepStrictEqual(entries, this.#goals)) return []
    this.#goals = entries
    return [this.#plan]
  }

  /** Updates for the goals of the main run; those of a subagent belong to its call. `goal`: the current state of the session. */
  updatesFor(event: GoalStart | GoalEnd, goal: SessionGoal | null): readonly SessionUpdate[] {
    return [...(event.type === 'goal_start' ? this.#begin(event) : this.#end(event)), ...this.planUpdates(goal)]
  }

  #begin({ goals }: GoalStart): readonly SessionUpdate[] {
    const closed = this.close('Another round of checks has started.')
    this.#rounds += 1
    const id = `halting-goal-${this.#rounds}`
    this.#open = { id, goals }
    const title = oneLine(this.#redact(`Check the goal: ${goalNames(goals)}`), maxEntryLength)
    return [...closed, { sessionUpdate: 'tool_call', toolCallId: id, title, kind: 'execute', status: 'in_progress' }]
  }

  #end(event: GoalEnd): readonly SessionUpdate[] {
    if (this.#open === undefined) return []
    const { id, goals } = this.#open
    this.#open = undefined
    const tail = this.#redact(event.checks.at(-1)?.tail ?? '').trim()
    return [
      {
        sessionUpdate: 'tool_call_update',
        toolCallId: id,
        title: oneLine(this.#redact(goalLine(goals, event)), maxEntryLength),
        // Before the first change, an unmet goal is not a failure.
        status: event.met || event.place === 'baseline' ? 'completed' : 'failed',
        ...(tail !== '' && { content: [textContent(fenced(tail))] }),
      },
    ]
  }

  close(because: string): readonly SessionUpdate[] {
    if (this.#open === undefined) return []
    const { id } = this.#open
    this.#open = undefined
    return [{ sessionUpdate: 'tool_call_update', toolCallId: id, status: 'failed', content: [textContent(because)] }]
  }
}

function entriesOf(goal: SessionGoal, redact: (text: string) => string): readonly PlanEntry[] {
  return goal.goals.map((spec) => {
    const check = goal.last?.checks.find(({ name }) => name === spec.name)
    const isMet = goal.last?.met === true || check?.met === true
    return {
      content: oneLine(redact(goalEntry(spec, goal)), maxEntryLength),
      priority: 'high',
      status: goal.isChecking ? 'in_progress' : isMet ? 'completed' : 'pending',
    }
  })
}
