import { checkTokenBudget, diminishingThreshold } from '../limits/token-target.ts'
import type { Settled } from '../values/settle.ts'
import { plainTextOf } from '../model/content.ts'
import { HaltingError, messageOf } from '../values/errors.ts'
import { andThen, ignoreRejection, firstResult, type MaybePromise } from '../values/maybe-promise.ts'
import { hashText } from '../values/hash.ts'
import { changeCount } from '../verification/goal-progress.ts'
import {
  stopHookOutcomeOf,
  type RegisteredStopHook,
  type StopHookInput,
  type StopHookOutcome,
} from '../hooks/stop-hooks.ts'
import type { HookFigures } from '../hooks/hook-figures.ts'
import { textOf, type AssistantMessage } from '../model/messages.ts'
import { lastAnswer } from '../sdk/result-message.ts'
import { StopSignal } from '../endings/signal.ts'
import type { RunProgress, StopHookRepeats } from '../state/state.ts'
import { headOf, countOf } from '../values/text.ts'
import { guardsAt, inboxAt } from '../run/cancellation-points.ts'
import { abortEnding, maxTurnsEnding, signalEnding, stopRequestedSignal } from '../run/pending-endings.ts'
import { goalAtAnswer, isGoalMet } from './goals.ts'
import { hookFigures } from '../run/limit-use.ts'
import {
  pendingEndingOf,
  endWith,
  proceed,
  continueWith,
  type PendingEnding,
  type Outcome,
  type Route,
} from '../run/outcome.ts'
import { withSentBackCount } from '../run/repetition.ts'
import type { Run } from '../run/run.ts'
import { stepWithQuestions } from '../request/step-with-questions.ts'
import { waitForTasks } from '../run/tasks.ts'
import { isAnswerUnderVerification, verifyAtAnswer } from './verify.ts'
import { invalidOutput, stopHookFeedback } from '../run/turn-texts.ts'
import {
  answered,
  blockedAgain,
  blocksFinally,
  blocksStill,
  hookUnmet,
  noAnswer,
  schemaMismatch,
} from '../endings/ending-texts.ts'

type Stage = (run: Run, message: AssistantMessage) => MaybePromise<Outcome | undefined>

/** The checks of an answer without tool calls, in order. The first check that returns an outcome decides. */
const answerStages: readonly Stage[] = [
  finishReason,
  followUps,
  structuredOutput,
  stopHooks,
  goalAtAnswer,
  tokenTarget,
  verification,
]

/** The checks of the reply to the verification reminder. The previous answer has already passed all other checks. */
const verificationReplyStages: readonly Stage[] = [finishReason, followUps]

/** After an answer without tool calls, either one of the checks makes the model continue, or the run ends as `completed`. */
export function afterAnswer(run: Run, message: AssistantMessage): MaybePromise<Outcome> {
  return andThen(
    firstResult(isAnswerUnderVerification(run) ? verificationReplyStages : answerStages, (stage) =>
      stage(run, message),
    ),
    (outcome) => (outcome === undefined ? endWith(answerEnding(run)) : withSentBackCount(run, message, outcome)),
  )
}

function finishReason(run: Run): Outcome | undefined {
  const raisedBy = guardsAt(run, 'after_reply')
  return run.signals.hasAny() ? endWith(signalEnding(run, raisedBy)) : undefined
}

function followUps(run: Run): MaybePromise<Outcome | undefined> {
  return andThen(
    waitForTasks(run),
    (aborted) =>
      aborted ??
      andThen(inboxAt(run, 'end'), (hasInput) =>
        hasInput ? proceed([continueWith('user_input')], () => maxTurnsEnding(run)) : undefined,
      ),
  )
}

function structuredOutput({ context }: Run, message: AssistantMessage): Outcome | undefined {
  const { output } = context.settings
  const problem = output === null ? undefined : schemaProblem(output.check(textOf(message.content)))
  return problem === undefined ? undefined : retryOutput(problem)
}

/** Maximum characters of the description of a schema violation. The model corrects the first problem first. */
const maxProblemCharacters = 4_000

/** Describes how an answer violates the schema; undefined when it fits. @throws HaltingError when the check returns no valid result. */
function schemaProblem(checked: unknown): string | undefined {
  if (typeof checked === 'object' && checked !== null && 'fits' in checked) {
    if (checked.fits === true) return undefined
    if (checked.fits === false)
      return headOf(plainTextOf('message' in checked ? checked.message : undefined), maxProblemCharacters)
  }
  ignoreRejection(checked)
  throw new HaltingError(
    'callback',
    'The check of the output schema returned no valid result. Return { fits: true, value } or { fits: false, message }.',
  )
}

function retryOutput(problem: string): Outcome {
  const signal = new StopSignal({
    reason: 'retry_limit',
    message: schemaMismatch(problem),
    context: { problem },
    source: 'structured_output',
  })
  const retry: Route = {
    transition: 'structured_output_retry',
    take(run) {
      run.appendUser(invalidOutput(problem), 'loop')
      return 'taken'
    },
  }
  return proceed([retry], () => pendingEndingOf('structured_output_retry_exhausted', signal))
}

/** A stop hook that blocks the answer, and its reason. */
interface HookBlock {
  readonly hook: string
  readonly reason: string
}

/** The combined requests of all stop hooks. */
interface StopHookRequests {
  readonly blocks: HookBlock[]
  prevented: { readonly hook: string; readonly reason: string } | undefined
}

// Spec R-SHOOK-1, R-SHOOK-2.
/** Runs the stop hooks. Precedence of their outcomes: block, prevent, pass. */
function stopHooks(run: Run, message: AssistantMessage): MaybePromise<Outcome | undefined> {
  const hookRequests: StopHookRequests = { blocks: [], prevented: undefined }
  const scope = run.identity.depth === 0 ? 'run' : 'agents'
  const hooks = run.context.stopHooks.filter(({ hook }) => (hook.of ?? 'run') === scope)
  const aborted = firstResult(hooks, (hook) => callStopHook(run, hook, message, hookRequests))
  return andThen(aborted, (outcome) => {
    if (outcome !== undefined) return outcome
    if (hookRequests.blocks.length > 0) return sendBackForHooks(run, hookRequests.blocks)
    const { prevented } = hookRequests
    if (prevented === undefined) return undefined
    return endWith(pendingEndingOf('stop_hook_prevented', stopRequestedSignal(prevented.hook, prevented.reason)))
  })
}

function callStopHook(
  run: Run,
  { id, hook }: RegisteredStopHook,
  message: AssistantMessage,
  hookRequests: StopHookRequests,
): MaybePromise<Outcome | undefined> {
  const event = { hook: id, trigger: 'stopHook', callId: null } as const
  run.emit({ type: 'hook_start', ...event })
  // The figures from before the step, which other hooks receive too.
  const figures = hookFigures(run)
  const step = stepWithQuestions<StopHookOutcome>(run, `hook:stopHook:${run.spent.request}::${id}`, {
    call(ask) {
      const { cause } = run.ports.abort
      if (cause !== undefined) return { aborted: cause }
      const input = { ...stopHookInput(run, message, figures), ask }
      return run.withGrace(() => hook.handle(input), settledOutcome)
    },
    cut: (_outcome, aborted) => ({ aborted }),
  })
  return andThen(step, ({ value: outcome, durationMs }) => {
    run.emit({ type: 'hook_end', ...event, outcome, durationMs })
    if (outcome.aborted !== undefined) return endWith(abortEnding(run, outcome.aborted, 'streaming'))
    if (outcome.systemMessage !== undefined) run.attach({ type: 'informational', message: outcome.systemMessage })
    // An empty reason does not block: there would be no text for the model.
    if (typeof outcome.block === 'string' && outcome.block.trim() !== '')
      hookRequests.blocks.push({ hook: id, reason: outcome.block })
    if (outcome.prevent !== undefined) hookRequests.prevented ??= { hook: id, reason: outcome.prevent }
    return undefined
  })
}

function settledOutcome(settled: Settled<StopHookOutcome | void>): StopHookOutcome {
  if (settled.kind === 'value') return stopHookOutcomeOf(settled.value)
  return settled.kind === 'threw' ? { error: messageOf(settled.error) } : { aborted: settled.cause }
}

export function stopHookInput(run: Run, message: AssistantMessage, figures: HookFigures): StopHookInput {
  const { transcript, startLength, identity } = run
  const { system, userContext, systemContext, querySource } = run.context.settings
  const assistantMessages = transcript
    .since(startLength)
    .flatMap((entry) => (entry.kind === 'assistant' && entry.error === undefined ? [entry.message] : []))
  return {
    messagesForQuery: run.agentState.messages(),
    assistantMessages: assistantMessages.length > 0 ? assistantMessages : [message],
    systemPrompt: system,
    userContext,
    systemContext,
    toolUseContext: {
      sessionId: identity.sessionId,
      runId: identity.runId,
      agentId: identity.agentId ?? null,
      signal: run.ports.abort.signal,
    },
    querySource,
    stopHookActive: run.spent.stopHookActive,
    figures,
  }
}

function sendBackForHooks(run: Run, blocks: readonly HookBlock[]): Outcome {
  const cap = run.context.settings.stopHookBlockCap
  const taken = run.spent.laps.sinceRefill.stop_hook_blocking ?? 0
  const repeats = blocks.map((block) => repeatsOf(run.spent, block))
  const stalledIndex = repeats.findIndex(({ times }) => times >= maxRepeats)
  if (stalledIndex !== -1 && taken < cap) return endWith(hookUnmetEnding(blocks[stalledIndex], { repeats: maxRepeats }))
  const route: Route = {
    transition: 'stop_hook_blocking',
    take(from) {
      if (taken >= cap) return 'declined'
      for (const { reason } of blocks) from.appendUser(stopHookFeedback(reason), 'hook')
      from.update({ stopHookActive: true, stopHookBlocks: repeats })
      return 'taken'
    },
  }
  return proceed([route], () => hookUnmetEnding(blocks[0], { sentBack: taken }))
}

/** How often one stop hook may block for the same reason while no file changes, whether or not tools are called in between. */
const maxRepeats = 3

/** The block, with the number of consecutive identical blocks. */
function repeatsOf(spent: RunProgress, { hook, reason }: HookBlock): StopHookRepeats {
  const { stopHookBlocks = [] } = spent
  const current = { hook, reason: hashText(reason.trim()), changes: changeCount(spent) }
  const last = stopHookBlocks.find((each) => each.hook === hook)
  const isRepeat = last?.reason === current.reason && last.changes === current.changes
  return { ...current, times: isRepeat ? last.times + 1 : 1 }
}

type UnmetFigures = { readonly sentBack: number } | { readonly repeats: number }

// Spec R-GOAL-20, R-GOAL-24.
/** The ending for an answer that a stop hook still blocks: the retries are used up, or they changed nothing. */
function hookUnmetEnding(block: HookBlock | undefined, figures: UnmetFigures): PendingEnding {
  const { hook = '', reason = '' } = block ?? {}
  const message = hookUnmet(hook, describeUnmet(figures), firstLineOf(reason))
  const context = { hook, ...figures, reason: headOf(reason, maxProblemCharacters) }
  return pendingEndingOf(
    'stop_hook_unmet',
    new StopSignal({ reason: 'retry_limit', message, context, source: 'stop_hook' }),
  )
}

function describeUnmet(figures: UnmetFigures): string {
  if ('repeats' in figures) return blockedAgain(figures.repeats)
  const { sentBack } = figures
  if (sentBack === 0) return blocksFinally
  return blocksStill(countOf(sentBack, 'time'))
}

/** Maximum characters of a hook's reason in the message of an ending. */
const maxReasonCharacters = 300

function firstLineOf(reason: string): string {
  const [line = ''] = reason.trim().split(/\r?\n/, 1)
  return headOf(line.trimEnd(), maxReasonCharacters)
}

// Spec R-GOAL-21.
/** The ending of an accepted answer: `completed`, or `no_answer` when the run has produced no text since its prompt. */
function answerEnding(run: Run): PendingEnding {
  const { context, spent, transcript, startLength } = run
  const isDone = context.settings.output !== null || isGoalMet(spent)
  if (isDone || lastAnswer(run) !== '') {
    const message = answered
    return pendingEndingOf('completed', new StopSignal({ reason: 'completed', message, source: 'loop' }))
  }
  const replies = transcript.since(startLength).filter((entry) => entry.kind === 'assistant').length
  const message = noAnswer(replies)
  return pendingEndingOf(
    'no_answer',
    new StopSignal({ reason: 'error', message, context: { replies }, source: 'answer' }),
  )
}

function verification(run: Run): MaybePromise<Outcome | undefined> {
  return verifyAtAnswer(run, () => answerEnding(run))
}

// Spec R-GATE-2.
/** Asks the model to continue while the answer is below 90 % of the token target and still makes progress. */
function tokenTarget(run: Run): Outcome | undefined {
  const { spent, identity } = run
  const { decision, tracker } = checkTokenBudget({
    tracker: spent.tracker,
    agentId: identity.depth === 0 ? undefined : identity.agentId,
    budget: run.context.settings.tokenBudget,
    globalTurnTokens: spent.usage.output_tokens,
    now: spent.now,
  })
  if (decision.action === 'stop') {
    if (decision.completionEvent !== null) run.emit({ type: 'token_budget', completion: decision.completionEvent })
    return undefined
  }
  const nudge = decision.nudgeMessage
  const route: Route = {
    transition: 'token_budget_continuation',
    madeProgress: tracker.lastDeltaTokens >= diminishingThreshold,
    take(from) {
      from.appendUser(nudge, 'loop')
      from.update({ tracker })
      return 'taken'
    },
  }
  return proceed([route], () => answerEnding(run))
}
