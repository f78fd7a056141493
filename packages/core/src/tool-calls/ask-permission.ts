import { AbortScope, type AbortCause } from '../values/abort.ts'
import { andThen, type MaybePromise } from '../values/maybe-promise.ts'
import { HaltingError, messageOf } from '../values/errors.ts'
import type { JsonObject } from '../values/json.ts'
import { InvalidAnswer } from '../run/answer-shape.ts'
import {
  checkedAnswer,
  changesPermissions,
  failureDenial,
  savedAnswer,
  timeoutDenial,
  type CanUseTool,
  type PermissionAnswer,
} from '../run/can-use-tool.ts'
import {
  decisionOf,
  denialOf,
  failedRules,
  recordedAnswer,
  type PermissionDecision,
} from '../permissions/permission-decision.ts'
import { allowAll, type PermissionRequest } from '../tools/permissions.ts'
import type { PermissionUpdate } from '../permissions/permission-update.ts'
import { pendingCall } from '../run/pending-approval.ts'
import type { StepKey } from '../steps/step-engine.ts'
import { hookFigures } from '../run/limit-use.ts'
import type { Run, CallPlace } from '../run/run.ts'
import type { RecordPosition, ValidCall } from '../run/tool-phase.ts'
import type { RunSettings } from '../run/run-context.ts'
import { stepWithQuestions } from '../request/step-with-questions.ts'
import { interrupted } from '../tools/result-texts.ts'
import { hookAsks, hookDefers, notAllowedInAgent, toolAsks, toolAsksAfterError } from './call-texts.ts'
import { isThenable } from '../values/settle.ts'
import { fieldsOf } from '../values/validators.ts'
import type { AnyTool } from '../tools/tool.ts'
import { inspectInput } from './inspect-call.ts'

/**
 * Applies deny rules to the model's own input, before any hook receives the call. Returns why it is denied, if it is.
 * The answer is recorded, so new rules do not change the past. If the call is `passed`, rules that are not on record are
 * not called.
 */
export function denyByRules(
  run: Run,
  inspected: ValidCall,
  position: RecordPosition,
): MaybePromise<string | undefined> {
  const { call, index } = inspected
  return denialStep(run, `rules:${run.spent.request}:${index}:${call.id}`, inspected, position)
}

// Spec R-PERM-2.
/** Works like `denyByRules`, for an input that a rule or a person substituted for the checked one: nothing overrides a deny rule. */
export function denyUpdated(
  run: Run,
  inspected: ValidCall,
  position: RecordPosition,
): MaybePromise<string | undefined> {
  const { call, index } = inspected
  return denialStep(run, `rules:${run.spent.request}:${index}:${call.id}:updated`, inspected, position)
}

function denialStep(
  run: Run,
  name: string,
  inspected: ValidCall,
  position: RecordPosition,
): MaybePromise<string | undefined> {
  const { permissions } = run.context
  if (permissions === allowAll || (position === 'passed' && !run.isRecorded(name))) return undefined
  const step = run.step<{ readonly message?: string }>(name, () => {
    const message = askDenials(run, requestOf(inspected))
    return message === undefined ? {} : { message }
  })
  return andThen(step, ({ value }) => value.message)
}

/** The permission request for a call. */
export function requestOf({ call, tool, readOnly, writtenName: written }: ValidCall): PermissionRequest {
  return { call, tool, readOnly, ...(written !== call.name && { written }) }
}

function askDenials(run: Run, request: PermissionRequest): string | undefined {
  try {
    return denialOf(run.context.permissions.denies(withCallerOf(run, request)))
  } catch (error) {
    return failedRules(error).message
  }
}

/** Evaluates the rules. Returns their unchecked answer: a decision, a promise of one, or anything else. @throws whatever the rules throw. */
export function askRules(run: Run, request: PermissionRequest): unknown {
  const message = askDenials(run, request)
  if (message !== undefined) return { behavior: 'deny', message }
  // The decision is deferred, so no other rule is called.
  if (request.hookDecision === 'defer') return deferred
  return run.context.permissions.decide({ figures: () => hookFigures(run), ...withCallerOf(run, request) })
}

const deferred: PermissionDecision = Object.freeze({ behavior: 'ask', message: hookDefers })

/** Adds the caller, the mode that was set and the learned rules to the request, if there are any. */
function withCallerOf({ context, identity }: Run, request: PermissionRequest): PermissionRequest {
  const { permissionMode: mode, permissionUpdates: learned } = context.settings
  const { depth, agentId } = identity
  if (depth === 0 && mode === null && learned.length === 0) return request
  return { ...request, ...requestRights(context.settings), ...(depth > 0 && { agentId }) }
}

export function requestRights({
  permissionMode: mode,
  permissionUpdates: learned,
}: RunSettings): Pick<PermissionRequest, 'mode' | 'learned'> {
  return { ...(mode !== null && { mode }), ...(learned.length > 0 && { learned }) }
}

/** The position in the record at which the call is decided. */
export function decisionPosition(run: Run, call: CallPlace, start: RecordPosition): RecordPosition {
  return run.ports.steps.peek(run.key(permissionStepName(run, call))) === 'done' ? 'passed' : start
}

function permissionStepName({ spent }: Run, { id, index }: CallPlace): string {
  return `permission:${spent.request}:${index}:${id}`
}

/** Calls the rules, then asks the person. Returns `ask` if a person must decide and the run does not wait. */
export function decidePermission(
  run: Run,
  inspected: ValidCall,
  request: PermissionRequest,
  position: RecordPosition,
): MaybePromise<PermissionDecision> {
  const { call, index } = inspected
  const name = permissionStepName(run, { id: call.id, index })
  if (position === 'passed' && !run.isRecorded(name)) return allowed
  const earlier = earlierAnswer(run, call.id)
  const wasAsked = earlier !== undefined
  const { precheck, ...unchecked } = request
  // The person has answered, or is asked again. The tool itself determines whether the call can succeed.
  const requestWithHistory: PermissionRequest = wasAsked ? { ...unchecked, wasAsked } : request
  // The figures before the step, as hooks get them.
  const figures = hookFigures(run)
  const { signal } = run.ports.abort
  const step = stepWithQuestions<PermissionDecision>(run, name, {
    call: (ask) =>
      andThen(
        decideInTime(run, { ...requestWithHistory, ask, figures: () => figures, signal }, inspected, earlier),
        (decision) =>
          decision.behavior === 'ask' && precheck !== undefined && !wasAsked
            ? failInstead(run, decision, precheck)
            : decision,
      ),
    // The outcome if an abort interrupts the question of the rules, so that they decided without its answer.
    cut: () => interruptedDecision,
  })
  return andThen(step, ({ value }) =>
    value.behavior === 'ask' ? askPerson(run, request, index, value.message, position) : value,
  )
}

const allowed: PermissionDecision = Object.freeze({ behavior: 'allow' })

/** Calls the rules, which may open a dialog. An abort ends the wait. Rules that throw deny the call. */
function decideInTime(
  run: Run,
  request: PermissionRequest,
  inspected: ValidCall,
  earlier: PermissionDecision | undefined,
): MaybePromise<PermissionDecision> {
  return run.withGrace<unknown, PermissionDecision>(
    () =>
      mayNeedApproval(inspected.tool)
        ? askWithApproval(run, request, inspected, earlier)
        : (inspected.earlyDecision ?? askRules(run, request)),
    (settled) => {
      switch (settled.kind) {
        case 'value':
          return withHookDecision(decisionOf(settled.value), request)
        case 'threw':
          return failedRules(settled.error)
        case 'left':
          return interruptedDecision
      }
    },
  )
}

/** Applies the rules to a tool with `needsApproval`. A person's answer about the call applies, even if the tool or a rule would decide differently now. */
function askWithApproval(
  run: Run,
  request: PermissionRequest,
  inspected: ValidCall,
  earlier: PermissionDecision | undefined,
): MaybePromise<unknown> {
  const reason = earlier === undefined ? approvalReason(inspected) : earlierReason(inspected, earlier)
  return andThen(reason, (why) => {
    if (why === undefined) return withApprovalOfChange(askRules(run, request), inspected)
    const isAnswered = earlier !== undefined && earlier.behavior !== 'ask'
    return withApproval(askRules(run, { ...request, needsApproval: true }), why, isAnswered)
  })
}

// Spec R-PERM-12.
/** The decision for a call that cannot succeed. Nobody is asked about it. */
function failInstead(
  run: Run,
  decision: PermissionDecision,
  precheck: () => Promise<string | undefined>,
): MaybePromise<PermissionDecision> {
  return run.withGrace<string | undefined, PermissionDecision>(precheck, (settled) => {
    if (settled.kind === 'left') return interruptedDecision
    const message = settled.kind === 'value' ? settled.value : undefined
    return message === undefined ? decision : { behavior: 'fail', message }
  })
}

const interruptedDecision: PermissionDecision = Object.freeze({ behavior: 'deny', message: interrupted })

/** Combines the decisions of hooks and rules: deny takes precedence over ask, ask over allow. */
function withHookDecision(decision: PermissionDecision, { hookDecision }: PermissionRequest): PermissionDecision {
  const isAsked = hookDecision === 'ask' && decision.behavior === 'allow'
  return isAsked ? { behavior: 'ask', message: hookAsks } : decision
}

/** Asks the person through the `StepEngine`. Without `canUseTool`, with `onAsk: 'end'`, the decision stays `ask`, and the run ends as `needs_approval`. */
function askPerson(
  run: Run,
  request: PermissionRequest,
  index: number,
  message: string,
  position: RecordPosition,
): MaybePromise<PermissionDecision> {
  const { call } = request
  const earlier = earlierAnswer(run, call.id)
  if (earlier !== undefined && earlier.behavior !== 'ask')
    return recordEarlierAnswer(run, `approval:${run.spent.request}:${index}:${call.id}:kept`, earlier, position)
  const name = `approval:${run.spent.request}:${index}:${call.id}`
  const { canUseTool } = run.context
  // A decision that a hook deferred is made later, not by the person who could answer now.
  const asks = canUseTool !== null && request.hookDecision !== 'defer'
  const endsRun = !asks && run.context.settings.onAsk === 'end'
  if (!run.isRecorded(name)) {
    if (run.identity.depth > 0 && (endsRun || run.turnEnd === 'passed')) return deniedInAgent(message)
    if (endsRun) return { behavior: 'ask', message }
  }
  const key = run.key(name)
  run.emit({ type: 'approval_needed', callId: call.id, name: call.name, input: call.input, message, key })
  // An answer on record is not requested again.
  if (asks && run.ports.steps.peek(key) !== 'done') void askCallback(run, canUseTool, request, message, key)
  run.ports.onWaiting(key, pendingCall(call, message, key))
  return waitForPerson(run, key)
}

/** The answer to a call from before this run began; `ask` if its permission request is still unanswered. */
function earlierAnswer(run: Run, callId: string): PermissionDecision | undefined {
  const { approvals } = run.spent
  return approvals !== null && Object.hasOwn(approvals, callId) ? approvals[callId] : undefined
}

// Spec R-PERM-6c.
/** The decision if an agent would have to wait for a later answer: it continues without the call. */
function deniedInAgent(message: string): PermissionDecision {
  return { behavior: 'deny', message: notAllowedInAgent(message) }
}

/** Records an answer that a person gave before this run began. */
function recordEarlierAnswer(
  run: Run,
  name: string,
  earlier: PermissionDecision,
  position: RecordPosition,
): MaybePromise<PermissionDecision> {
  if (!changesPermissions(earlier) || (position === 'passed' && !run.isRecorded(name))) return earlier
  const { permissions } = run.context
  const step = run.step<PermissionAnswer>(name, () => savedAnswer(permissions, checkedAnswer(earlier, permissions)))
  return andThen(step, ({ value }) => validAnswer(value))
}

/** Passes the answer of the callback to `waitForPerson`. Its permission changes are stored first, so an answer takes effect only once they are stored. */
async function askCallback(
  run: Run,
  canUseTool: CanUseTool,
  request: PermissionRequest,
  decisionReason: string,
  key: StepKey,
): Promise<void> {
  const { permissions, settings, timers } = run.context
  const { call } = request
  const { agentPath, agentId: agentID } = run.identity
  const { signal } = run.ports.abort
  // The signal for the callback is also aborted when its answer is no longer awaited.
  const callbackAbort = new AbortScope()
  const listener = { onAbort: (cause: AbortCause) => callbackAbort.abort(cause) }
  run.ports.abort.listen(listener)
  const { canUseToolTimeoutMs: timeoutMs } = settings
  let cancel = (): void => undefined
  const timedOut = new Promise<PermissionAnswer>((resolve) => {
    if (timeoutMs !== Infinity)
      cancel = timers.after(timeoutMs, () => {
        resolve(timeoutDenial(timeoutMs))
        callbackAbort.abort('time')
      })
  })
  const askPersonNow = async (): Promise<PermissionAnswer> => {
    const about = withCallerOf(run, mayNeedApproval(request.tool) ? { ...request, needsApproval: true } : request)
    const suggestions = permissions.suggest?.(about) ?? []
    const cause = permissions.cause?.(about)
    const options = {
      signal: callbackAbort.signal,
      toolUseID: call.id,
      suggestions,
      decisionReason,
      ...(cause !== undefined && { decisionReasonType: cause.type }),
      ...(cause?.blockedPath !== undefined && { blockedPath: cause.blockedPath }),
    }
    // The input has passed the tool's check as a JSON object.
    const input = call.input as JsonObject
    const callbackAnswer = await canUseTool(call.name, input, agentPath === '' ? options : { ...options, agentID })
    return withImpliedUpdates(checkedAnswer(callbackAnswer, permissions), permissions.updatesOnAllow?.(about))
  }
  const answer = await Promise.race([askPersonNow().catch(failureDenial), timedOut])
  cancel()
  run.ports.abort.unlisten(listener)
  if (!signal.aborted) run.ports.answer?.(key, await savedAnswer(permissions, answer))
}

// Spec R-PLAN-3.
/** Appends the implied changes, unless the answer sets a mode itself. */
function withImpliedUpdates(answer: PermissionAnswer, implied: readonly PermissionUpdate[] = []): PermissionAnswer {
  if (answer.behavior !== 'allow' || implied.length === 0) return answer
  const { updatedPermissions: updates = [] } = answer
  if (updates.some(({ type }) => type === 'setMode')) return answer
  return { ...answer, updatedPermissions: [...updates, ...implied] }
}

/** @throws HaltingError for an invalid answer: the run breaks, and no call of the message runs. */
function validAnswer(answer: unknown): PermissionDecision {
  const problem = InvalidAnswer.messageOf(answer)
  if (problem !== undefined) throw new HaltingError('callback', problem)
  return recordedAnswer(answer)
}

/** Waits for a person. The time limit is paused meanwhile. It continues even if the step engine fails, because other calls may be running in parallel. */
async function waitForPerson(run: Run, key: StepKey): Promise<PermissionDecision> {
  const { steps, deadline, abort } = run.ports
  deadline.pause()
  try {
    const { outcome, answer } = await steps.wait<PermissionDecision>(key, { signal: abort.signal })
    return outcome === 'answered' ? validAnswer(answer) : interruptedDecision
  } finally {
    run.ports.onWaiting(key, undefined)
    deadline.resume()
  }
}

/** Whether calls of the tool may need approval. False for a tool whose calls never need it. */
export function mayNeedApproval({ needsApproval }: AnyTool): boolean {
  return needsApproval !== undefined && needsApproval !== false
}

/**
 * Why the tool requires a person to approve the call; undefined if it does not. Anything but `false` requires approval,
 * including a throw: only calls that are explicitly exempt run without it.
 */
function approvalReason(inspected: ValidCall): MaybePromise<string | undefined> {
  const { tool, call } = inspected
  const { needsApproval } = tool
  if (!mayNeedApproval(tool)) return undefined
  if (typeof needsApproval !== 'function') return toolAsks(tool.name)
  const failed = (error: unknown): string => toolAsksAfterError(tool.name, messageOf(error))
  try {
    // A separate copy, so that changes made here do not affect the approved input.
    const copy = inspectInput(tool, call, inspected)
    if (copy.kind === 'invalid') return toolAsks(tool.name)
    // The input has passed the tool's own check, so it has the type that `needsApproval` accepts.
    const answer: unknown = needsApproval(copy.input as never)
    const reasonFor = (needs: unknown): string | undefined => (needs === false ? undefined : toolAsks(tool.name))
    return isThenable(answer) ? Promise.resolve(answer).then(reasonFor, failed) : reasonFor(answer)
  } catch (error) {
    return failed(error)
  }
}

/** The reason that the earlier permission request stated. */
function earlierReason({ tool }: ValidCall, earlier: PermissionDecision): string {
  return earlier.behavior === 'ask' && earlier.message !== '' ? earlier.message : toolAsks(tool.name)
}

/**
 * Applies the rules to a call that requires approval according to its tool. Only an explicit allow by a rule or person
 * allows it. `isAnswered`: a person has answered, and the answer applies.
 */
function withApproval(rulesAnswer: unknown, reason: string, isAnswered: boolean): MaybePromise<PermissionDecision> {
  const settledAnswer: MaybePromise<unknown> = isThenable(rulesAnswer) ? Promise.resolve(rulesAnswer) : rulesAnswer
  return andThen(settledAnswer, (unchecked) => {
    const decision = decisionOf(unchecked)
    const isExplicit = fieldsOf(unchecked)?.['explicit'] === true
    if (decision.behavior !== 'allow' || (isExplicit && !isAnswered)) return decision
    return { behavior: 'ask', message: reason }
  })
}

/**
 * Applies the rules to a call that requires no approval according to its tool. If the rules change the input, the tool
 * is asked about the new input. If the new input needs approval, a person is asked about the original call.
 */
function withApprovalOfChange(rulesAnswer: unknown, inspected: ValidCall): MaybePromise<unknown> {
  const settledAnswer: MaybePromise<unknown> = isThenable(rulesAnswer) ? Promise.resolve(rulesAnswer) : rulesAnswer
  return andThen(settledAnswer, (unchecked) => {
    const decision = decisionOf(unchecked)
    const isExplicit = fieldsOf(unchecked)?.['explicit'] === true
    if (decision.behavior !== 'allow' || decision.updatedInput === undefined || isExplicit) return unchecked
    const { tool, call } = inspected
    const changed = inspectInput(tool, { ...call, input: decision.updatedInput }, inspected)
    // The call is refused as invalid later.
    if (changed.kind === 'invalid') return unchecked
    return andThen(approvalReason(changed), (reason): unknown =>
      reason === undefined ? unchecked : { behavior: 'ask', message: reason },
    )
  })
}
