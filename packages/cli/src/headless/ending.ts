import { endings, type RunResult } from '@halting/core'
import type { EndingAdvice } from '@halting/core/adapters'
import type { Flags } from '../flags/flags.ts'
import { endingMessage } from '../frontends/wait-text.ts'
import { elapsed, many, money, moneyAtMost, oneLine, tokensCounted } from '../io/figures.ts'
import { goalPart, isUnusableGoal } from './goal-text.ts'
import { limitAdvice, waitAdvice } from './limit-advice.ts'

function modelChoiceAdvice({ model, fallbackModel }: Flags): string {
  const flags = [
    ...(model === undefined ? ['--model'] : []),
    ...(fallbackModel === undefined ? ['--fallback-model'] : []),
  ]
  return flags.length === 0 ? 'Run it again.' : `Run it again, or choose another model with ${flags.join(' or ')}.`
}

/** The variables with the key and the address depend on the service; its messages and `halting doctor` name them. */
const modelAdvice: Readonly<Record<string, string>> = {
  authentication_failed: 'Check the API key; halting doctor shows where it comes from.',
  billing_error: 'Check the billing of your account.',
  model_not_found: 'Check the model name and the base URL; halting doctor lists the models of the service.',
  connection: 'Run halting doctor to check the proxy, the key and the connection.',
  invalid_request: 'Check the model name, the base URL and the message above.',
}

/** The exit code of a run: from the table of endings, unless a signal ended it. */
export function exitCodeOf(terminal: RunResult, interrupted: number | undefined): number {
  const { category, exitCode } = endings[terminal.reason]
  if (interrupted !== undefined && category === 'user_requested') return interrupted
  if (isUnusableGoal(terminal)) return 2
  return exitCode ?? 1
}

/** What a line about an ending depends on. */
export interface EndingContext {
  readonly flags: Flags
  /** A summary of the changed files; '' for none. */
  readonly changes: string
  /** The kind of the model's failure, if any. */
  readonly errorKind: string | undefined
}

/** One line about an unsuccessful ending: reason, message, figures, what to do next. */
export function endingLine(terminal: RunResult, { flags, changes, errorKind }: EndingContext): string {
  const next = adviceFor(terminal, flags, errorKind)
  const message = oneLine(endingMessage(terminal, Date.now()), 300).replace(/[.\s]+$/, '')
  const figures = [goalPart(terminal), figuresOf(terminal), changes].filter((part) => part !== '').join(', ')
  return `${terminal.reason}: ${message} (${figures}).${next === '' ? '' : ` ${next}`}`
}

/** What to do after an unsuccessful ending; '' for nothing (spec R-TEXT-5). */
export function adviceFor(terminal: RunResult, flags: Flags, errorKind: string | undefined): string {
  if (terminal.reason === 'model_error') return modelErrorAdvice(terminal, flags, errorKind)
  if (terminal.reason === 'goal_unmet') return goalAdvice(terminal, flags)
  return adviceText(endings[terminal.reason].advice.command, terminal, flags)
}

/** What to do if the model could not be reached. */
function modelErrorAdvice(terminal: RunResult, flags: Flags, errorKind: string | undefined): string {
  const advice = modelAdvice[errorKind ?? ''] ?? adviceText(endings.model_error.advice.command, terminal, flags)
  const wait = waitAdvice(terminal, flags.waitForLimits, Date.now())
  return wait === '' ? advice : `${advice.replace(/\.$/, '')}; ${wait}`
}

/** Actions that may help to meet an unmet goal: more tries, unless they change nothing; another model; or reverting a protected file. */
function goalAdvice({ signal, goal }: RunResult, { model }: Flags): string {
  if (signal.context['cause'] === 'finish_reason')
    return 'Remove --finish-reasons: then an answer that misses the goal is sent back.'
  if (signal.context['cause'] === 'asks')
    return 'The last answer called no tool: it may be a question or a refusal. Reply to it in the prompt.'
  const another = model === undefined ? 'choose another model with --model' : 'choose another model'
  if (goal !== undefined && goal.tampered.length > 0)
    return `Tell the agent in the prompt not to change it, or ${another}. If you changed it yourself, start a new session, which accepts the change.`
  return signal.context['cause'] === 'stalled'
    ? `Nothing changed between the tries: suggest another approach in the prompt, or ${another}.`
    : `Raise --until-tries, or ${another}.`
}

function adviceText(advice: EndingAdvice, terminal: RunResult, flags: Flags): string {
  if (typeof advice === 'string') return advice
  switch (advice.kind) {
    case 'raise-limit':
      return limitAdvice(terminal, flags)
    case 'permit-compaction':
      return advice.otherwise !== undefined && flags.autocompact !== 'off' ? advice.otherwise : compactionAdvice(flags)
    case 'more-room':
      return contextWindowAdvice(flags)
    case 'another-model':
      return modelChoiceAdvice(flags)
    case 'inspect-failure':
      return flags.errorPolicy === undefined
        ? 'See the failure above; --error-policy sets which errors end a run.'
        : 'See the failure above; the error policy ends the run for it.'
  }
}

/** One line about a successful run: `✓ done · goal met: npm test · 3 turns, 1,234 tokens, $0.0123, 4.5 s · 1 file changed +3 −1`. */
export function closingLine(terminal: RunResult, changes: string): string {
  const name = terminal.reason === 'completed' ? 'done' : terminal.reason
  const parts = [goalPart(terminal), figuresOf(terminal), changes].filter((part) => part !== '')
  return `✓ ${name} · ${parts.join(' · ')}`
}

/**
 * `3 turns, 1,234 tokens, $0.0123, 4.5 s`; without a cost if it is zero or unknown. `up to $0.0456` includes aborted and lost requests, whose
 * usage was never reported.
 */
export function figuresOf(terminal: RunResult): string {
  const { summary, costUsd, committedUsd, durationMs } = terminal
  return [
    many(summary.turns, 'turn'),
    tokensCounted(terminal),
    ...(costUsd > 0 ? [money(costUsd)] : []),
    ...(committedUsd > costUsd ? [`up to ${moneyAtMost(committedUsd)}`] : []),
    elapsed(durationMs),
  ].join(', ')
}

export function tokensOf(usage: RunResult['summary']['usage']): { readonly input: number; readonly output: number } {
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens } = usage
  return { input: input_tokens + cache_read_input_tokens + cache_creation_input_tokens, output: output_tokens }
}

/** For a run that filled its context window while compaction was off. */
function compactionAdvice({ autocompact }: Flags): string {
  // Without the flag, a variable disabled compaction; the flag overrides it.
  return autocompact === 'off'
    ? 'Remove --autocompact off, so that the conversation is compacted, or split the task.'
    : 'Add --autocompact auto, which overrides DISABLE_AUTO_COMPACT, or split the task.'
}

/** For a run that compacted repeatedly: the flags that give it more room. */
function contextWindowAdvice({ model, autocompact, contextWindow }: Flags): string {
  const ways = [
    ...(autocompact === undefined || autocompact === 'auto' ? [] : ['raise --autocompact']),
    ...(contextWindow === undefined ? [] : ['raise --context-window, if the model accepts more']),
    ...(model === undefined ? ['choose such a model with --model'] : []),
  ].join(', or ')
  return ways === '' ? '' : `${ways[0]?.toUpperCase()}${ways.slice(1)}.`
}
