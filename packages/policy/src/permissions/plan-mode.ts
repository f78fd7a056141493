import type { CanUseTool, PermissionUpdate } from '@halting/core/adapters'
import type { PermissionMode, RuleDecision } from './rule-book.ts'
import {
  alreadyPlanning,
  notPlanning,
  personAnswers,
  personApprovesPlan,
  personChoosesPlanning,
} from './permission-texts.ts'
import type { Hook } from '@halting/core'
import {
  earlierPlanModeOff,
  earlierPlanModeOn,
  planModeOff,
  planModeOn,
  planModeWords,
  type PlanWords,
} from './plan-texts.ts'

// Spec R-PLAN-1.
/** The decision about a call that only a person can answer, independent of rules and mode. Undefined for any other call. */
export function decisionOfPersonTool(name: string, mode: PermissionMode): RuleDecision | undefined {
  switch (name) {
    case 'AskUserQuestion':
      return { behavior: 'ask', message: personAnswers }
    case 'EnterPlanMode':
      return mode === 'plan'
        ? { behavior: 'deny', message: alreadyPlanning }
        : { behavior: 'ask', message: personChoosesPlanning }
    case 'ExitPlanMode':
      return mode === 'plan'
        ? { behavior: 'ask', message: personApprovesPlan }
        : { behavior: 'deny', message: notPlanning }
    default:
      return undefined
  }
}

/** What approving such a call changes. A plain approval applies the first update. */
export function updatesOfPersonTool(name: string): readonly PermissionUpdate[] {
  const to = (mode: PermissionMode): PermissionUpdate => ({ type: 'setMode', mode, destination: 'session' })
  if (name === 'EnterPlanMode') return [to('plan')]
  return name === 'ExitPlanMode' ? [to('default'), to('acceptEdits')] : []
}

/** Wraps the answers of a person: approving a plan ends plan mode, and approving planning starts it, unless the answer names a mode. */
export function withPlanMode(canUseTool: CanUseTool): CanUseTool {
  return async (name, input, options) => {
    const answer = await canUseTool(name, input, options)
    const [update] = updatesOfPersonTool(name)
    if (update === undefined || answer.behavior !== 'allow') return answer
    const { updatedPermissions: updates = [] } = answer
    if (updates.some(({ type }) => type === 'setMode')) return answer
    return { ...answer, updatedPermissions: [...updates, update] }
  }
}

/** Notifies the model once, at the start of a run, that plan mode is on, and in a later run that plan mode is off. */
export function planModeHook(mode: () => string, words: PlanWords): Hook {
  return {
    id: 'halting:plan-mode',
    triggers: ['beforeExecution'],
    handle(context) {
      const lastMarked = context
        .state()
        .messages()
        .findLast(({ role, content }) => role === 'user' && markIn(content) !== undefined)
      const isReportedOn = lastMarked !== undefined && markIn(lastMarked.content) === true
      const isOn = mode() === 'plan'
      if (isOn === isReportedOn) return undefined
      const text = isOn ? `${planModeOn}\n\n${planModeWords(words)}` : planModeOff
      return context.withMessageBeforePrompt(text)
    },
  }
}

/** Whether the last mark in a message says that plan mode is on; undefined without a mark. */
function markIn(content: unknown): boolean | undefined {
  const text = JSON.stringify(content)
  const last = (...marks: readonly string[]): number => Math.max(...marks.map((mark) => text.lastIndexOf(mark)))
  const [on, off] = [last(planModeOn, earlierPlanModeOn), last(planModeOff, earlierPlanModeOff)]
  return on < 0 && off < 0 ? undefined : on > off
}
