import { after, type Eventually } from '../values/eventually.ts'
import { digestOf } from '../values/hash.ts'
import type { StepResult } from '../steps/steps.ts'
import { abortedResult, unknownOutcome, unseenResult, type ToolResult } from '../tools/tool-result.ts'
import { isAgentTool, type AnyLeafTool } from '../tools/tool.ts'
import type { Run, RunStepOptions } from '../run/run.ts'
import { isAsks, stepWithQuestions, type MayAsk } from '../request/step-with-questions.ts'
import { agentShare, shareBeside } from './agent-share.ts'
import type { AgentOutcome, CallRun, PreparedCall, ValidCall } from '../run/call.ts'
import { childOf, type Child } from './child-run.ts'
import { stepOfWait } from './call-wait.ts'
import { executeCall, withholdsResults, type CallScope } from './execute-call.ts'
import { lostAgent, lostAsking } from './lost-agent.ts'
import { agentName, toolStepName } from '../run/recorded-calls.ts'
import { runAgent, unstartedAgent, type AgentCall } from './run-agent.ts'
import { isForBackground, startAgent } from './start-agent.ts'
import type { ToolPhase } from '../run/tool-phase.ts'

type RunningCall = Extract<PreparedCall, { readonly kind: 'run' }>

/** Runs one call as a step, beside the others of its batch. A call that has its result already needs no step. */
export function runCall(run: Run, phase: ToolPhase, call: PreparedCall): Eventually<CallRun> {
  if (call.kind === 'answer') return phase.addRan({ call, result: call.result, at: 0, durationMs: 0 })
  if (call.kind === 'recorded') return answerFromRecord(run, phase, call)
  const { inspected } = call
  phase.begin(inspected.index)
  const { tool } = inspected
  if (isAgentTool(tool))
    return after(runAgentCall(run, phase, call, { ...inspected, tool }), (ran) => phase.addRan(ran))
  return after(runStep(run, phase, inspected, tool), ({ value, at, durationMs }) =>
    phase.addRan({ call, result: value, at, durationMs }),
  )
}

function runAgentCall(run: Run, phase: ToolPhase, call: RunningCall, agent: AgentCall): Eventually<CallRun> {
  const { index, tool, input } = agent
  const recorded = phase.recorded(index)
  const share = agentShare(run, phase)
  const { now: beganAt, verification } = run.spent
  const changedAtStart = verification?.changed ?? 0
  let child: Child
  try {
    child = childOf(run, tool, input, share)
  } catch (error) {
    if (recorded === 'leaf') return answerFromRecord(run, phase, { kind: 'recorded', call: agent.call, index })
    return ranAs(call, unstartedAgent(run, agent, error, recorded !== undefined), beganAt)
  }
  // Where it works is on record: a program may have changed its mind.
  if (recorded === 'leaf' || (recorded === undefined && isForBackground(run, child))) {
    return startAgent(run, call, agent, child, { share: shareBeside(share), digest: () => digestOfCall(phase, index) })
  }
  return after(runAgent(run, agent, child), (outcome) => ({ ...ranAs(call, outcome, beganAt), changedAtStart }))
}

/** A call takes the time of its agent. */
function ranAs(call: PreparedCall, agent: AgentOutcome, beganAt: number): CallRun {
  return { call, result: agent.result, at: beganAt, durationMs: agent.endedAt - beganAt, agent }
}

/** Runs nothing: the record has the result, or shows that the outcome is unknown. */
function answerFromRecord(
  run: Run,
  phase: ToolPhase,
  call: Extract<PreparedCall, { readonly kind: 'recorded' }>,
): Eventually<CallRun> {
  const place = { id: call.call.id, index: call.index }
  if (phase.recorded(call.index) === 'agent')
    return phase.addRan(ranAs(call, lostAgent(run, agentName(run, place)), run.spent.now))
  const unknown = (): ToolResult => unknownOutcome
  const name = toolStepName(run, place)
  const step = run.stepBeside<ToolResult>(name, unknown, {
    digest: () => digestOfCall(phase, call.index),
    intent: () => null,
    onUnfinished: unknown,
    sync: 'none',
  })
  return after(withoutAsking(run, phase, call.index, name, step), ({ value, at, durationMs }) =>
    phase.addRan({ call, result: value, at, durationMs }),
  )
}

// Spec R-RES-12.
/** A digest of the call as the model made it. Changes by hooks and rules are not in it: they may differ after a resume. */
function digestOfCall({ calls }: ToolPhase, index: number): string {
  const call = calls[index]
  return digestOf(`${call?.name ?? ''} ${JSON.stringify(call?.input) ?? ''}`)
}

function runStep(
  run: Run,
  phase: ToolPhase,
  inspected: ValidCall,
  tool: AnyLeafTool,
): Eventually<StepResult<ToolResult>> {
  const { call, index, readOnly, started } = inspected
  const reruns = tool.onUnknownOutcome === undefined ? readOnly : tool.onUnknownOutcome === 'rerun'
  const name = toolStepName(run, { id: call.id, index })
  const options: RunStepOptions<ToolResult> = {
    digest: () => digestOfCall(phase, index),
    intent: () => null,
    onUnfinished: reruns ? 'rerun' : () => unknownOutcome,
    sync: readOnly ? 'none' : 'intent',
    ...(tool.waits === true && stepOfWait(run)),
  }
  const closed = new ClosedCall(run, call.name)
  const execute = (scope: CallScope): Eventually<ToolResult> =>
    closed.recorded(executeCall(run, inspected, tool, { ...scope, memos: phase.memos }))
  // Who is called again after a crash may ask: what it asked is answered from the record then.
  if (tool.asksModel === true && reruns) {
    const scope = { idempotencyKey: `${run.identity.sessionId}/${run.key(name)}`, emit: run.emit }
    const who: MayAsk<ToolResult> = {
      call: (ask) => execute({ ...scope, ask }),
      cut: (_result, cause) => abortedResult(cause, 'settled'),
    }
    return closed.shown(stepWithQuestions(run, name, who, { options, bill: phase.billOf(index) }))
  }
  const effect = (scope: CallScope): Eventually<ToolResult> =>
    started === undefined ? execute(scope) : closed.recorded(started)
  return closed.shown(withoutAsking(run, phase, index, name, run.stepBeside<ToolResult>(name, effect, options)))
}

// Spec R-HOOK-17a.
/** A call whose result is not to be on record before the hooks that redact have seen it. It is in this process alone until then. */
class ClosedCall {
  readonly #isClosed: boolean
  #live: ToolResult | undefined

  constructor(run: Run, name: string) {
    this.#isClosed = withholdsResults(run, name)
  }

  /** What goes on record of a result. */
  recorded(result: Eventually<ToolResult>): Eventually<ToolResult> {
    if (!this.#isClosed) return result
    return after(result, (live) => {
      if (live.status !== 'done' && live.status !== 'failed') return live
      this.#live = live
      return unseenResult(live)
    })
  }

  /** The result itself, where this process has it. */
  shown(step: Eventually<StepResult<ToolResult>>): Eventually<StepResult<ToolResult>> {
    if (!this.#isClosed) return step
    return after(step, (made) =>
      made.value.unseen === true && this.#live !== undefined
        ? { ...made, value: { ...this.#live, unseen: true } }
        : made,
    )
  }
}

/** On record the call may have asked a model, and in the program that goes on its tool asks none. */
function withoutAsking(
  run: Run,
  phase: ToolPhase,
  index: number,
  name: string,
  step: Eventually<StepResult<ToolResult>>,
): Eventually<StepResult<ToolResult>> {
  if (!run.ports.isResumed) return step
  return after(step, (begun) =>
    isAsks(begun.value) ? after(lostAsking(run, name, phase.billOf(index)), (value) => ({ ...begun, value })) : begun,
  )
}
