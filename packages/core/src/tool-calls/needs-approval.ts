import { isThenable } from '../values/settle.ts'
import { messageOf } from '../values/errors.ts'
import { after, type Eventually } from '../values/eventually.ts'
import { fieldsOf } from '../values/given.ts'
import { decisionOf, type PermissionDecision } from '../permissions/permission-decision.ts'
import type { AnyTool } from '../tools/tool.ts'
import type { ValidCall } from '../run/call.ts'
import { toolAsks, toolAsksAfterError } from './call-texts.ts'
import { inspectInput } from './inspect-call.ts'

/** False for a tool whose calls need no approval of their own. */
export function mayNeedApproval({ needsApproval }: AnyTool): boolean {
  return needsApproval !== undefined && needsApproval !== false
}

/**
 * Why a person is asked about the call by its tool; undefined where nobody is. Whatever the tool says but `false` asks, and so does what it throws: nothing runs
 * that was not said to need no approval.
 */
export function approvalReason(inspected: ValidCall): Eventually<string | undefined> {
  const { tool, call } = inspected
  const { needsApproval } = tool
  if (!mayNeedApproval(tool)) return undefined
  if (typeof needsApproval !== 'function') return toolAsks(tool.name)
  const failed = (error: unknown): string => toolAsksAfterError(tool.name, messageOf(error))
  try {
    // Of a copy of its own: the tool runs with what was approved, whatever is changed here.
    const copy = inspectInput(tool, call, inspected)
    if (copy.kind === 'invalid') return toolAsks(tool.name)
    // The input has passed the tool's own check, which is what the function is written for.
    const answer: unknown = needsApproval(copy.input as never)
    const reasonFor = (needs: unknown): string | undefined => (needs === false ? undefined : toolAsks(tool.name))
    return isThenable(answer) ? Promise.resolve(answer).then(reasonFor, failed) : reasonFor(answer)
  } catch (error) {
    return failed(error)
  }
}

/** The question is the one that was asked before. */
export function reasonAgain({ tool }: ValidCall, given: PermissionDecision): string {
  return given.behavior === 'ask' && given.message !== '' ? given.message : toolAsks(tool.name)
}

/** What the rules say of a call that its tool has asked about: allowed is what a rule or a person names, and nothing else. `isAnswered`: a person has answered, and the answer counts. */
export function withApproval(given: unknown, reason: string, isAnswered: boolean): Eventually<PermissionDecision> {
  const said: Eventually<unknown> = isThenable(given) ? Promise.resolve(given) : given
  return after(said, (unchecked) => {
    const decision = decisionOf(unchecked)
    const isExplicit = fieldsOf(unchecked)?.['explicit'] === true
    if (decision.behavior !== 'allow' || (isExplicit && !isAnswered)) return decision
    return { behavior: 'ask', message: reason }
  })
}

/**
 * What the rules say of a call for which its tool has asked nobody: where they put another input in the place of the model's, the tool is asked about that one. If it needs
 * approval, a person is asked about the call as it was.
 */
export function withApprovalOfChange(given: unknown, inspected: ValidCall): Eventually<unknown> {
  const said: Eventually<unknown> = isThenable(given) ? Promise.resolve(given) : given
  return after(said, (unchecked) => {
    const decision = decisionOf(unchecked)
    const isExplicit = fieldsOf(unchecked)?.['explicit'] === true
    if (decision.behavior !== 'allow' || decision.updatedInput === undefined || isExplicit) return unchecked
    const { tool, call } = inspected
    const changed = inspectInput(tool, { ...call, input: decision.updatedInput }, inspected)
    // It is refused as invalid.
    if (changed.kind === 'invalid') return unchecked
    return after(approvalReason(changed), (reason): unknown =>
      reason === undefined ? unchecked : { behavior: 'ask', message: reason },
    )
  })
}
