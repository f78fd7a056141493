import { after } from '../values/eventually.ts'
import { maskedHash } from '../limits/masked-hash.ts'
import { afterCalls, afterSentBack, type EndedCall } from '../limits/repetition.ts'
import { textOf, type AssistantMessage, type ToolResultBlock, type ToolUseBlock } from '../model/messages.ts'
import type { IterationReason } from '../limits/allowance.ts'
import { headOf } from '../values/text.ts'
import { isAgentTool } from '../tools/tool.ts'
import { calledTool } from '../tools/called-tool.ts'
import type { RunProgress } from '../state/state.ts'
import { remindersAt } from './checkpoint.ts'
import type { Outcome, Route } from './outcome.ts'
import { isRemindedOfFailures, remindOfFirst } from './remind.ts'
import type { Run } from './run.ts'

// What a run counts of failures and answers that it repeats (spec R-PROG-7).

/** Characters of an error or an answer that are compared. */
const mostCompared = 4_000

/** Whether a guard looks at repetition: for nobody else it is counted. */
export function looksAtRepetition({ context }: Run): boolean {
  return context.guards.some(({ guard }) => guard.looksAtTurns === true)
}

/** What is counted with the results of a turn. */
export function repetitionAfter(
  run: Run,
  calls: readonly ToolUseBlock[],
  results: readonly ToolResultBlock[],
): Pick<RunProgress, 'repetition'> | undefined {
  const { repetition } = run.spent
  const hasFailed = results.some(({ is_error: isError }) => isError === true)
  // By far the most turns.
  if (repetition === undefined && (!hasFailed || isRemindedOfFailures(run.spent))) return undefined
  const ended = calls.flatMap((call) => endedCall(run, call, results) ?? [])
  return { repetition: afterCalls(repetition, ended) }
}

function endedCall(run: Run, { id, name }: ToolUseBlock, results: readonly ToolResultBlock[]): EndedCall | undefined {
  const result = results.find(({ tool_use_id: of }) => of === id)
  if (result === undefined) return undefined
  const tool = calledTool(name, run.context)
  const isEdit = tool !== undefined && !isAgentTool(tool) && tool.editsFiles === true
  return {
    ...(isEdit && { editedBy: tool.name }),
    ...(result.is_error === true && { error: comparedHash(textOf(result.content ?? '')) }),
  }
}

function comparedHash(text: string): number {
  return maskedHash(headOf(text, mostCompared))
}

const sentBack: ReadonlySet<IterationReason> = new Set([
  'stop_hook_blocking',
  'goal_unmet',
  'token_budget_continuation',
])

/** The outcome at an answer, in which one that is sent back again and again is noted, and the model reminded with what sends it back. */
export function notingSentBack(run: Run, message: AssistantMessage, outcome: Outcome): Outcome {
  if (outcome.routes.length === 0 || isRemindedOfFailures(run.spent) || !looksAtRepetition(run)) return outcome
  return { ...outcome, routes: outcome.routes.map((route) => noting(route, message)) }
}

function noting(route: Route, message: AssistantMessage): Route {
  if (!sentBack.has(route.transition)) return route
  const take = (run: Run): ReturnType<Route['take']> =>
    after(route.take(run), (taking) => {
      if (taking !== 'taken') return taking
      run.update({ repetition: afterSentBack(run.spent.repetition, comparedHash(textOf(message.content))) })
      remindOfFirst(run, remindersAt(run, 'after_reply'))
      return taking
    })
  return { ...route, take }
}
