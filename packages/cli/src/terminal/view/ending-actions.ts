import type { LimitsChange, PermissionDecision, Terminal, TerminalReason } from '@halting/core'
import type { LimitsInForce } from '@halting/agent/session'
import { counted, stopwatch } from '../../io/figures.ts'
import { pendingOf } from '../../stored-sessions/waiting-calls.ts'
import { dollars as dollarsText } from '../../io/dollars.ts'

/** What one thing to do after an ending comes to, in terms of the session. */
type EndingEffect =
  /** `session.resume(limits)`: the run goes on, with its counters. */
  | { readonly type: 'go_on'; readonly limits: LimitsChange }
  /** `session.prompt(text)`. */
  | { readonly type: 'prompt'; readonly text: string }
  /** `session.approve(approvals)`: the calls that wait have their answers. */
  | { readonly type: 'approve'; readonly approvals: { readonly [callId: string]: PermissionDecision } }
  /** `session.set({ limits })`, then `session.lastAnswer()`. */
  | { readonly type: 'last_answer'; readonly limits: LimitsChange }
  | { readonly type: 'compact' }
  | { readonly type: 'why' }

/** One thing to do next: what is typed (and sent) for it, and its words. */
export interface EndingAction {
  /** '' for a line that is sent empty. */
  readonly typed: '' | 't' | 'w' | 'y' | 'allow' | 'deny'
  readonly label: string
  readonly effect: EndingEffect
}

export interface ActionContext {
  readonly limits: LimitsInForce
  /** `SessionSnapshot.canResume`. */
  readonly canResume: boolean
}

type Actions = (terminal: Terminal, context: ActionContext) => readonly EndingAction[]

const moreTurns = 20
const moreUsd = 0.5

export const why: EndingAction = { typed: 'y', label: '/why', effect: { type: 'why' } }
const onlyWhy: Actions = () => [why]

export function goOn(label: string, limits: LimitsChange = {}): EndingAction {
  return { typed: '', label, effect: { type: 'go_on', limits } }
}

function lastAnswer(limits: LimitsChange = {}): EndingAction {
  return { typed: 'w', label: 'one last answer', effect: { type: 'last_answer', limits } }
}

function says(label: string, text: string): EndingAction {
  return { typed: '', label, effect: { type: 'prompt', text } }
}

/** After a raise of the limit that ended it, more turns beside: where there is a limit of turns. */
function withTurns(limits: LimitsChange, { maxTurns }: LimitsInForce): readonly EndingAction[] {
  if (maxTurns === null) return []
  return [
    {
      typed: 't',
      label: `the same and +${moreTurns} turns`,
      effect: { type: 'go_on', limits: { ...limits, maxTurns: maxTurns + moreTurns } },
    },
  ]
}

const figure = ({ signal }: Terminal, name: string): number | undefined => {
  const value = signal.context[name]
  return typeof value === 'number' ? value : undefined
}

/** What a limit is raised from: as it stands, or as the signal says, for one that a guard had. */
function limitOf(terminal: Terminal, inForce: number | null): number | undefined {
  return inForce ?? figure(terminal, 'limit')
}

const turns: Actions = (terminal, { limits }) => {
  const limit = limitOf(terminal, limits.maxTurns)
  if (limit === undefined) return [why]
  // A prompt begins a run with turns of its own.
  return [goOn(`+${moreTurns} turns and go on`, { maxTurns: limit + moreTurns }), lastAnswer(), why]
}

const dollars: Actions = (terminal, { limits }) => {
  const limit = limitOf(terminal, limits.maxBudgetUsd)
  if (limit === undefined) return [why]
  const needed = (figure(terminal, 'limitNeededUsd') ?? limit) - limit
  const cents = (usd: number): number => Math.ceil(usd * 100 - 1e-6) / 100
  const more = Math.max(moreUsd, cents(needed))
  const raised = { maxBudgetUsd: cents(limit + more) }
  const forOne = { maxBudgetUsd: cents(limit + Math.max(0.01, needed)) }
  return [goOn(`+${dollarsText(more)} and go on`, raised), ...withTurns(raised, limits), lastAnswer(forOne), why]
}

const tokens: Actions = (terminal, { limits }) => {
  const limit = limitOf(terminal, limits.maxTotalTokens)
  if (limit === undefined) return [why]
  const needed = Math.max(0, (figure(terminal, 'limitNeeded') ?? limit) - limit)
  const more = Math.max(needed, Math.ceil(limit / 2))
  const raised = { maxTotalTokens: limit + more }
  return [goOn(`+${counted(more)} tokens and go on`, raised), ...withTurns(raised, limits), lastAnswer(), why]
}

const time: Actions = (terminal, { limits }) => {
  const limit = limitOf(terminal, limits.maxDurationMs)
  if (limit === undefined) return [why]
  const raised = { maxDurationMs: 2 * limit }
  return [goOn(`+${stopwatch(limit)} and go on`, raised), ...withTurns(raised, limits), lastAnswer(), why]
}

const tryAgain: Actions = (_terminal, { canResume }) =>
  canResume ? [goOn('try again'), why] : [says('go on', 'Go on.'), why]
const interrupted: Actions = () => [says('go on', 'Go on.'), why]
const compact: Actions = () => [{ typed: '', label: '/compact', effect: { type: 'compact' } }, why]

/** The calls that wait are named in the message. No key that is pressed by habit lets them run. */
const approvals: Actions = ({ signal }) => {
  const ids = pendingOf(signal.context).map(({ id }) => id)
  if (ids.length === 0) return [why]
  const all = (decision: PermissionDecision): EndingEffect => ({
    type: 'approve',
    approvals: Object.fromEntries(ids.map((id) => [id, decision])),
  })
  const them = ids.length === 1 ? 'it' : `all ${ids.length}`
  return [
    { typed: 'allow', label: `let ${them} run and go on`, effect: all({ behavior: 'allow' }) },
    {
      typed: 'deny',
      label: 'deny and go on',
      effect: all({ behavior: 'deny', message: 'The person denied this call.' }),
    },
    why,
  ]
}

/** What is offered after every ending (spec R-TERM-26). A success offers nothing: whoever wants more says what. */
const actions: { readonly [reason in TerminalReason]: Actions } = {
  completed: () => [],
  finish_reason: () => [],
  stop_requested: onlyWhy,
  max_turns: turns,
  max_budget_usd: dollars,
  token_limit: tokens,
  max_output_tokens: () => [says('have it go on', 'Go on where you were cut, and be shorter.'), why],
  time_limit: time,
  no_progress: () => [says('have it try another way', 'Try another way.'), lastAnswer(), why],
  compaction_thrash: onlyWhy,
  blocking_limit: compact,
  structured_output_retry_exhausted: onlyWhy,
  hook_stopped: interrupted,
  stop_hook_prevented: onlyWhy,
  needs_approval: approvals,
  user_requested: interrupted,
  aborted_streaming: interrupted,
  aborted_tools: interrupted,
  abandoned: interrupted,
  prompt_too_long: compact,
  model_error: tryAgain,
  refusal: onlyWhy,
  image_error: onlyWhy,
  error: tryAgain,
}

export function endingActions(terminal: Terminal, context: ActionContext): readonly EndingAction[] {
  return actions[terminal.reason](terminal, context)
}

/** What was typed after an ending, and sent: one of its actions, if it is nothing else than that. */
export function actionFor(typed: string, offered: readonly EndingAction[]): EndingAction | undefined {
  return offered.find((action) => action.typed === typed.trim())
}

/** What else can be done, where the keys do not say it; '' for nothing. */
export const endingAdvice: { readonly [reason in TerminalReason]: string } = {
  completed: '',
  finish_reason: '',
  stop_requested: '',
  max_turns: '',
  max_budget_usd: '',
  token_limit: '',
  max_output_tokens: 'Ask for a shorter answer, or for it in parts.',
  time_limit: '',
  no_progress: 'Say what to do when a call does not help.',
  compaction_thrash: '/model chooses another model.',
  blocking_limit: 'Make the conversation shorter, or begin a new one: /clear.',
  structured_output_retry_exhausted: 'Make the schema simpler, or say what goes into it.',
  hook_stopped: '/hooks lists the hooks.',
  stop_hook_prevented: '/hooks lists the hooks.',
  needs_approval: '',
  user_requested: '',
  aborted_streaming: '',
  aborted_tools: '',
  abandoned: '',
  prompt_too_long: 'Make the conversation shorter, or ask for less at once.',
  model_error: '/model chooses another model; halting doctor looks at the key and the way to the service.',
  refusal: 'Put the request in other words.',
  image_error: 'Take the image out, or make it smaller: /rewind goes back to before it.',
  error: 'See what failed above.',
}
