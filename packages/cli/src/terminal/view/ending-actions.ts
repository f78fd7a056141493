import { endings, type LimitsChange, type PermissionDecision, type RunResult } from '@halting/core'
import {
  deniedByUser,
  limitOfResult,
  maxGoalTriesAllowed,
  type EndingAction,
  type EndingLimit,
} from '@halting/core/adapters'
import type { LimitsInForce } from '@halting/core/session'
import { counted, stopwatch } from '../../io/figures.ts'
import { pendingCalls } from '@halting/analysis/transcript'
import { dollars as dollarsText } from '../../io/dollars.ts'

/** What an action after an ending does with the session. */
type EndingEffect =
  /** `session.resume(limits)`: continues the run with its counters. */
  | { readonly type: 'go_on'; readonly limits: LimitsChange }
  /** `session.prompt(text)`. */
  | { readonly type: 'prompt'; readonly text: string }
  /** `session.approve(approvals)`: answers the pending calls. */
  | { readonly type: 'approve'; readonly approvals: { readonly [callId: string]: PermissionDecision } }
  /** `session.set({ limits })`, then `session.lastAnswer()`. */
  | { readonly type: 'last_answer'; readonly limits: LimitsChange }
  | { readonly type: 'compact' }
  /** Lets the person choose a model, then continues like `go_on`. */
  | { readonly type: 'another_model'; readonly limits: LimitsChange }
  /** Reverts files to before the last prompt, after confirmation. */
  | { readonly type: 'undo' }
  | { readonly type: 'why' }

/** An action after an ending: what to type and send, and its label. */
export interface OfferedAction {
  /** '' for an empty line. */
  readonly typed: '' | 't' | 'w' | 'm' | 'u' | 'y' | 'allow' | 'deny'
  readonly label: string
  readonly effect: EndingEffect
}

export interface ActionContext {
  readonly limits: LimitsInForce
  /** `SessionSnapshot.canResume`. */
  readonly canResume: boolean
  /** Whether the run changed files that can be reverted. */
  readonly canUndo?: boolean
}

const moreTurns = 20
const moreCalls = 50
const moreUsd = 0.5
const moreTries = 10

export const explainAction: OfferedAction = { typed: 'y', label: '/why', effect: { type: 'why' } }

export function continueAction(label: string, limits: LimitsChange = {}): OfferedAction {
  return { typed: '', label, effect: { type: 'go_on', limits } }
}

function promptAction(label: string, text: string): OfferedAction {
  return { typed: '', label, effect: { type: 'prompt', text } }
}

/** The actions offered after an ending (spec R-TERM-26): those of its row, with the keys and amounts of this program. */
export function endingActions(terminal: RunResult, context: ActionContext): readonly OfferedAction[] {
  const { actions } = endings[terminal.reason]
  const limit = limitOfResult(terminal)
  // A standing budget cannot be raised within the session.
  const isElsewhere = limit === null && endings[terminal.reason].limit !== null
  const own = limit === null ? undefined : raiseOf(limit, terminal, context.limits)
  const raise = isElsewhere ? 'unknown' : own
  return actions.flatMap((action) => actionsFor(action, terminal, context, raise))
}

function actionsFor(
  action: EndingAction,
  terminal: RunResult,
  { canResume, canUndo = false, limits }: ActionContext,
  raise: Raise | 'unknown' | undefined,
): readonly OfferedAction[] {
  switch (action.kind) {
    case 'raise-limit':
      if (raise === undefined || raise === 'unknown') return []
      return [continueAction(`+${raise.more} and continue`, raise.limits), ...withTurns(raise.limits, limits)]
    case 'last-answer': {
      // Without a known limit, there is no room for a final answer.
      if (raise === 'unknown') return []
      return [
        { typed: 'w', label: 'final answer', effect: { type: 'last_answer', limits: raise?.forOneRequest ?? {} } },
      ]
    }
    case 'prompt':
      return [promptAction(action.label, action.text)]
    case 'retry':
      return [canResume ? continueAction('try again') : promptAction('continue', 'Continue.')]
    case 'compact':
      return [{ typed: '', label: '/compact', effect: { type: 'compact' } }]
    case 'approve':
      return approvals(terminal)
    case 'send-back':
      return isRaised(raise) || !canResume ? [] : [continueAction('send the answer back again')]
    case 'another-model':
      return [
        {
          typed: 'm',
          label: 'another model',
          effect: { type: 'another_model', limits: isRaised(raise) ? raise.limits : {} },
        },
      ]
    case 'undo':
      return canUndo ? [{ typed: 'u', label: 'undo its file changes', effect: { type: 'undo' } }] : []
    case 'explain':
      return [explainAction]
  }
}

/** How to raise a limit. */
interface Raise {
  /** The amount after the raise: `20 turns`. */
  readonly more: string
  readonly limits: LimitsChange
  /** The limit for one more request; absent if that needs no raise. */
  readonly forOneRequest?: LimitsChange
}

/** `unknown`: neither the session nor the signal has an amount to raise. */
function raiseOf(limit: EndingLimit, { signal }: RunResult, inForce: LimitsInForce): Raise | 'unknown' | undefined {
  if (limit === 'noProgress') return undefined
  const figure = (name: string): number | undefined => {
    const value = signal.context[name]
    return typeof value === 'number' ? value : undefined
  }
  // The current limit, or for a guard's limit the one in the signal.
  const max = (limit === 'maxGoalTries' ? undefined : inForce[limit]) ?? figure('limit')
  if (max === undefined) return 'unknown'
  switch (limit) {
    case 'maxTurns':
      return { more: `${moreTurns} turns`, limits: { maxTurns: max + moreTurns } }
    case 'maxToolCalls':
      return { more: `${moreCalls} tool calls`, limits: { maxToolCalls: max + moreCalls } }
    case 'maxBudgetUsd':
    case 'maxRunUsd': {
      const needed = (figure('limitNeededUsd') ?? max) - max
      // A default limit is raised by half, because less would soon be used up again.
      const more = Math.max(limit === 'maxRunUsd' ? cents(max / 2) : moreUsd, cents(needed))
      return {
        more: dollarsText(more),
        limits: { [limit]: cents(max + more) },
        forOneRequest: { [limit]: cents(max + Math.max(0.01, needed)) },
      }
    }
    case 'maxTotalTokens': {
      const needed = Math.max(0, (figure('limitNeeded') ?? max) - max)
      const more = Math.max(needed, Math.ceil(max / 2))
      return { more: `${counted(more)} tokens`, limits: { maxTotalTokens: max + more } }
    }
    case 'maxDurationMs':
      return { more: stopwatch(max), limits: { maxDurationMs: 2 * max } }
    case 'maxGoalTries': {
      // After a question of the model, or a stalled run, the answer goes back without further tries.
      if ((figure('used') ?? max) < max) return undefined
      const more = Math.min(moreTries, maxGoalTriesAllowed - max)
      return more <= 0 ? 'unknown' : { more: `${more} tries`, limits: { maxGoalTries: max + more } }
    }
  }
}

function isRaised(raise: Raise | 'unknown' | undefined): raise is Raise {
  return raise !== undefined && raise !== 'unknown'
}

function cents(usd: number): number {
  return Math.ceil(usd * 100 - 1e-6) / 100
}

/** An additional action that also adds turns, if turns are limited. A new prompt starts with a new turn limit. */
function withTurns(raised: LimitsChange, { maxTurns }: LimitsInForce): readonly OfferedAction[] {
  if (maxTurns === null || raised.maxTurns !== undefined) return []
  return [
    {
      typed: 't',
      label: `the same, and +${moreTurns} turns`,
      effect: { type: 'go_on', limits: { ...raised, maxTurns: maxTurns + moreTurns } },
    },
  ]
}

/** Answers for the pending calls, which the message names. Approving needs a typed word, not a habitual key. */
function approvals({ signal }: RunResult): readonly OfferedAction[] {
  const ids = pendingCalls(signal.context).map(({ id }) => id)
  if (ids.length === 0) return []
  const all = (decision: PermissionDecision): EndingEffect => ({
    type: 'approve',
    approvals: Object.fromEntries(ids.map((id) => [id, decision])),
  })
  const them = ids.length === 1 ? 'it' : `all ${ids.length}`
  return [
    { typed: 'allow', label: `allow ${them} and continue`, effect: all({ behavior: 'allow' }) },
    {
      typed: 'deny',
      label: 'deny and continue',
      effect: all({ behavior: 'deny', message: deniedByUser }),
    },
  ]
}

/** The offered action that a sent line selects, if it is nothing else. */
export function actionFor(typed: string, offered: readonly OfferedAction[]): OfferedAction | undefined {
  return offered.find((action) => action.typed === typed.trim())
}
