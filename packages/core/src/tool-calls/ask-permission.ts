import { AbortScope, type AbortCause } from '../values/abort.ts'
import { after, type Eventually } from '../values/eventually.ts'
import { HaltingError, messageOf } from '../values/errors.ts'
import type { JsonObject } from '../values/json.ts'
import { InvalidAnswer } from '../run/answer-shape.ts'
import {
  answerOf,
  changesPermissions,
  failedAnswer,
  keptAnswer,
  lateAnswer,
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
import type { StepKey } from '../steps/steps.ts'
import { hookFigures } from '../run/limits-left.ts'
import type { Run, CallPlace } from '../run/run.ts'
import type { RecordPosition, ValidCall } from '../run/tool-phase.ts'
import type { RunSettings } from '../run/run-context.ts'
import { stepWithQuestions } from '../request/step-with-questions.ts'
import { interrupted } from '../tools/result-texts.ts'
import { hookAsks, hookDefers, notAllowedInAgent, toolAsks, toolAsksAfterError } from './call-texts.ts'
import { isThenable } from '../values/settle.ts'
import { fieldsOf } from '../values/given.ts'
import type { AnyTool } from '../tools/tool.ts'
import { inspectInput } from './inspect-call.ts'

/**
 * Deny rules on the model's own input, before any hook sees the call. Gives why it is denied, if it is.
 * The answer is recorded, so that new rules do not change the past. Where the call is `passed`, rules that are not on record are not asked.
 */
export function denyByRules(run: Run, inspected: ValidCall, position: RecordPosition): Eventually<string | undefined> {
  const { call, index } = inspected
  return denyIn(run, `rules:${run.spent.request}:${index}:${call.id}`, inspected, position)
}

// Spec R-PERM-2.
/** The same for an input that a rule or a person put in the place of the one that was judged: nothing outranks a deny rule. */
export function denyUpdated(run: Run, inspected: ValidCall, position: RecordPosition): Eventually<string | undefined> {
  const { call, index } = inspected
  return denyIn(run, `rules:${run.spent.request}:${index}:${call.id}:updated`, inspected, position)
}

function denyIn(
  run: Run,
  name: string,
  inspected: ValidCall,
  position: RecordPosition,
): Eventually<string | undefined> {
  const { permissions } = run.context
  if (permissions === allowAll || (position === 'passed' && !run.isRecorded(name))) return undefined
  const step = run.step<{ readonly message?: string }>(name, () => {
    const message = askDenials(run, requestOf(inspected))
    return message === undefined ? {} : { message }
  })
  return after(step, ({ value }) => value.message)
}

/** The call as rules are asked about it. */
export function requestOf({ call, tool, readOnly, written }: ValidCall): PermissionRequest {
  return { call, tool, readOnly, ...(written !== call.name && { written }) }
}

function askDenials(run: Run, request: PermissionRequest): string | undefined {
  try {
    return denialOf(run.context.permissions.denies(ofCaller(run, request)))
  } catch (error) {
    return failedRules(error).message
  }
}

/** The unchecked answer of the rules: a decision, a promise of one, or anything else. @throws what they throw. */
export function askRules(run: Run, request: PermissionRequest): unknown {
  const message = askDenials(run, request)
  if (message !== undefined) return { behavior: 'deny', message }
  // What would become of the call otherwise is not asked: nobody decides about it now.
  if (request.hookDecision === 'defer') return deferred
  return run.context.permissions.decide({ figures: () => hookFigures(run), ...ofCaller(run, request) })
}

const deferred: PermissionDecision = Object.freeze({ behavior: 'ask', message: hookDefers })

/** The request with who calls, the mode that was set and what was learned, where there is any. */
function ofCaller({ context, identity }: Run, request: PermissionRequest): PermissionRequest {
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

/** Where the decision about a call lies in the record. */
export function decisionPosition(run: Run, call: CallPlace, start: RecordPosition): RecordPosition {
  return run.ports.steps.peek(run.key(permissionStepName(run, call))) === 'done' ? 'passed' : start
}

function permissionStepName({ spent }: Run, { id, index }: CallPlace): string {
  return `permission:${spent.request}:${index}:${id}`
}

/** Asks the rules, then the person. Gives `ask` when a person must decide and the run does not wait for one. */
export function decidePermission(
  run: Run,
  inspected: ValidCall,
  request: PermissionRequest,
  position: RecordPosition,
): Eventually<PermissionDecision> {
  const { call, index } = inspected
  const name = permissionStepName(run, { id: call.id, index })
  if (position === 'passed' && !run.isRecorded(name)) return allowed
  const given = answerGiven(run, call.id)
  const wasAsked = given !== undefined
  const { precheck, ...unchecked } = request
  // Who was asked about it has answered, or is asked again: the work finds out by itself.
  const asked: PermissionRequest = wasAsked ? { ...unchecked, wasAsked } : request
  // Those before the step, as hooks have them.
  const figures = hookFigures(run)
  const { signal } = run.ports.abort
  const step = stepWithQuestions<PermissionDecision>(run, name, {
    call: (ask) =>
      after(decideInTime(run, { ...asked, ask, figures: () => figures, signal }, inspected, given), (decision) =>
        decision.behavior === 'ask' && precheck !== undefined && !wasAsked
          ? failInstead(run, decision, precheck)
          : decision,
      ),
    // Whatever was decided without its answer.
    cut: () => interruptedDecision,
  })
  return after(step, ({ value }) =>
    value.behavior === 'ask' ? askPerson(run, request, index, value.message, position) : value,
  )
}

const allowed: PermissionDecision = Object.freeze({ behavior: 'allow' })

/** Asks the rules, which may open a dialog. After an abort it is not waited for. Rules that throw deny the call. */
function decideInTime(
  run: Run,
  request: PermissionRequest,
  inspected: ValidCall,
  given: PermissionDecision | undefined,
): Eventually<PermissionDecision> {
  return run.withGrace<unknown, PermissionDecision>(
    () =>
      mayNeedApproval(inspected.tool)
        ? askWithApproval(run, request, inspected, given)
        : (inspected.said ?? askRules(run, request)),
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

/** The rules of a tool with `needsApproval`. What a person said to the call counts, whatever the tool or a rule says by now. */
function askWithApproval(
  run: Run,
  request: PermissionRequest,
  inspected: ValidCall,
  given: PermissionDecision | undefined,
): Eventually<unknown> {
  const reason = given === undefined ? approvalReason(inspected) : reasonAgain(inspected, given)
  return after(reason, (why) => {
    if (why === undefined) return withApprovalOfChange(askRules(run, request), inspected)
    const isAnswered = given !== undefined && given.behavior !== 'ask'
    return withApproval(askRules(run, { ...request, needsApproval: true }), why, isAnswered)
  })
}

// Spec R-PERM-12.
/** Nobody is asked about what cannot succeed. */
function failInstead(
  run: Run,
  decision: PermissionDecision,
  precheck: () => Promise<string | undefined>,
): Eventually<PermissionDecision> {
  return run.withGrace<string | undefined, PermissionDecision>(precheck, (settled) => {
    if (settled.kind === 'left') return interruptedDecision
    const message = settled.kind === 'value' ? settled.value : undefined
    return message === undefined ? decision : { behavior: 'fail', message }
  })
}

const interruptedDecision: PermissionDecision = Object.freeze({ behavior: 'deny', message: interrupted })

/** Of hooks and rules, deny counts before ask, and ask before allow. */
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
): Eventually<PermissionDecision> {
  const { call } = request
  const given = answerGiven(run, call.id)
  if (given !== undefined && given.behavior !== 'ask')
    return keepGiven(run, `approval:${run.spent.request}:${index}:${call.id}:kept`, given, position)
  const name = `approval:${run.spent.request}:${index}:${call.id}`
  const { canUseTool } = run.context
  // What a hook leaves open is for later, and not for whoever is there now.
  const asks = canUseTool !== null && request.hookDecision !== 'defer'
  const endsIt = !asks && run.context.settings.onAsk === 'end'
  if (!run.isRecorded(name)) {
    if (run.identity.depth > 0 && (endsIt || run.turnEnd === 'passed')) return deniedInAgent(message)
    if (endsIt) return { behavior: 'ask', message }
  }
  const key = run.key(name)
  run.emit({ type: 'approval_needed', callId: call.id, name: call.name, input: call.input, message, key })
  // An answer that is on record is not asked for again.
  if (asks && run.ports.steps.peek(key) !== 'done') void askCallback(run, canUseTool, request, message, key)
  run.ports.onWaiting(key, pendingCall(call, message, key))
  return waitForPerson(run, key)
}

/** What was said to a call before this run began; `ask` where nothing was said to its question yet. */
function answerGiven(run: Run, callId: string): PermissionDecision | undefined {
  const { approvals } = run.spent
  return approvals !== null && Object.hasOwn(approvals, callId) ? approvals[callId] : undefined
}

// Spec R-PERM-6c.
/** Who answers later finds no agent that waits: it goes on without. */
function deniedInAgent(message: string): PermissionDecision {
  return { behavior: 'deny', message: notAllowedInAgent(message) }
}

/** What a person said before this run began. */
function keepGiven(
  run: Run,
  name: string,
  given: PermissionDecision,
  position: RecordPosition,
): Eventually<PermissionDecision> {
  if (!changesPermissions(given) || (position === 'passed' && !run.isRecorded(name))) return given
  const { permissions } = run.context
  const step = run.step<PermissionAnswer>(name, () => keptAnswer(permissions, answerOf(given, permissions)))
  return after(step, ({ value }) => takenAnswer(value))
}

/** Gives the answer of the callback to `waitForPerson`. What it says is kept first: an answer that counts is kept. */
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
  // Nobody waits for an answer that comes late, either.
  const over = new AbortScope()
  const listener = { onAbort: (cause: AbortCause) => over.abort(cause) }
  run.ports.abort.listen(listener)
  const { canUseToolTimeoutMs: timeoutMs } = settings
  let cancel = (): void => undefined
  const late = new Promise<PermissionAnswer>((resolve) => {
    if (timeoutMs !== Infinity)
      cancel = timers.after(timeoutMs, () => {
        resolve(lateAnswer(timeoutMs))
        over.abort('time')
      })
  })
  const asked = async (): Promise<PermissionAnswer> => {
    const about = ofCaller(run, mayNeedApproval(request.tool) ? { ...request, needsApproval: true } : request)
    const suggestions = permissions.suggest?.(about) ?? []
    const cause = permissions.cause?.(about)
    const told = {
      signal: over.signal,
      toolUseID: call.id,
      suggestions,
      decisionReason,
      ...(cause !== undefined && { decisionReasonType: cause.type }),
      ...(cause?.blockedPath !== undefined && { blockedPath: cause.blockedPath }),
    }
    // The input has passed the tool's check as an object of JSON.
    const input = call.input as JsonObject
    const said = await canUseTool(call.name, input, agentPath === '' ? told : { ...told, agentID })
    return withImpliedUpdates(answerOf(said, permissions), permissions.updatesOnAllow?.(about))
  }
  const answer = await Promise.race([asked().catch(failedAnswer), late])
  cancel()
  run.ports.abort.unlisten(listener)
  if (!signal.aborted) run.ports.answer?.(key, await keptAnswer(permissions, answer))
}

// Spec R-PLAN-3.
/** An answer that sets a mode itself goes first. */
function withImpliedUpdates(answer: PermissionAnswer, implied: readonly PermissionUpdate[] = []): PermissionAnswer {
  if (answer.behavior !== 'allow' || implied.length === 0) return answer
  const { updatedPermissions: given = [] } = answer
  if (given.some(({ type }) => type === 'setMode')) return answer
  return { ...answer, updatedPermissions: [...given, ...implied] }
}

/** @throws HaltingError for what was none: the run breaks, and nothing of the message runs. */
function takenAnswer(answer: unknown): PermissionDecision {
  const problem = InvalidAnswer.messageOf(answer)
  if (problem !== undefined) throw new HaltingError('callback', problem)
  return recordedAnswer(answer)
}

/** The time limit stands still meanwhile. A driver that fails does not stop it for good: others may be at work beside this call. */
async function waitForPerson(run: Run, key: StepKey): Promise<PermissionDecision> {
  const { steps, deadline, abort } = run.ports
  deadline.pause()
  try {
    const { outcome, answer } = await steps.wait<PermissionDecision>(key, { signal: abort.signal })
    return outcome === 'answered' ? takenAnswer(answer) : interruptedDecision
  } finally {
    run.ports.onWaiting(key, undefined)
    deadline.goOn()
  }
}

/** False for a tool whose calls need no approval of their own. */
export function mayNeedApproval({ needsApproval }: AnyTool): boolean {
  return needsApproval !== undefined && needsApproval !== false
}

/**
 * Why a person is asked about the call by its tool; undefined where nobody is. Whatever the tool says but `false` asks, and so does what it throws: nothing runs
 * that was not said to need no approval.
 */
function approvalReason(inspected: ValidCall): Eventually<string | undefined> {
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
function reasonAgain({ tool }: ValidCall, given: PermissionDecision): string {
  return given.behavior === 'ask' && given.message !== '' ? given.message : toolAsks(tool.name)
}

/** What the rules say of a call that its tool has asked about: allowed is what a rule or a person names, and nothing else. `isAnswered`: a person has answered, and the answer counts. */
function withApproval(given: unknown, reason: string, isAnswered: boolean): Eventually<PermissionDecision> {
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
function withApprovalOfChange(given: unknown, inspected: ValidCall): Eventually<unknown> {
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
