import type { FlagFor } from '../flag-kinds.ts'
import { type Flags, errorPolicies, onLimits, verifyChanges } from '../flags.ts'
import {
  autoCompact,
  choice,
  dollars,
  duration,
  filledText,
  finishReasons,
  tokens,
  waitTime,
  wholeNumber,
  windowTokens,
  type Reading,
} from '../values.ts'

type LimitsFlag =
  | 'maxTurns'
  | 'maxBudgetUsd'
  | 'maxRunUsd'
  | 'maxToolCalls'
  | 'maxTokens'
  | 'ignoreStandingBudgets'
  | 'maxDuration'
  | 'waitForLimits'
  | 'tokenBudget'
  | 'finishReasons'
  | 'wrapUp'
  | 'errorPolicy'
  | 'onLimit'
  | 'pauseFor'
  | 'verifyChanges'
  | 'autocompact'
  | 'compactModel'
  | 'contextWindow'
  | 'maxSubagents'
  | 'maxSubagentDepth'

/** Flags about when a run stops, and about a full context window. */
export const limitsFlags: { readonly [Name in LimitsFlag]-?: FlagFor<NonNullable<Flags[Name]>> } = {
  maxTurns: {
    names: ['--max-turns'],
    topic: 'limits',
    kind: 'value',
    value: 'N',
    read: wholeNumber,
    alsoOf: ['what-if'],
    meaning: 'Maximum number of turns (default: 1000)',
    meaningFor: { 'what-if': 'Try this maximum number of turns' },
  },
  maxBudgetUsd: {
    names: ['--max-budget-usd'],
    topic: 'limits',
    kind: 'value',
    value: 'X',
    read: dollars,
    alsoOf: ['what-if'],
    meaning: 'Maximum cost of the session in US dollars; reserved before each request, so never exceeded',
    meaningFor: {
      'what-if': 'Try this maximum cost of a session, in US dollars',
      cluster: 'Set what the sessions of the tenant may spend together, in US dollars',
    },
  },
  maxRunUsd: {
    names: ['--max-run-usd'],
    topic: 'limits',
    kind: 'value',
    value: 'X',
    read: dollarsOrNone,
    alsoOf: ['what-if'],
    meaning:
      'Maximum cost of one run in US dollars, whatever the session spent before; none for no limit (default: 10 with -p and in the interactive program)',
    meaningFor: { 'what-if': 'Try this maximum cost of a run, in US dollars' },
  },
  maxToolCalls: {
    names: ['--max-tool-calls'],
    topic: 'limits',
    kind: 'value',
    value: 'N',
    read: wholeNumber,
    alsoOf: ['what-if'],
    meaning: 'Maximum number of tool calls, including those of subagents',
    meaningFor: { 'what-if': 'Try this maximum number of tool calls' },
  },
  ignoreStandingBudgets: {
    names: ['--ignore-standing-budgets'],
    topic: 'limits',
    kind: 'switch',
    meaning: 'Run even if a standing budget is used up, or its ledger cannot be used',
  },
  maxTokens: {
    names: ['--max-tokens'],
    topic: 'limits',
    kind: 'value',
    value: 'N',
    read: tokens,
    alsoOf: ['what-if'],
    meaning: 'Maximum number of tokens of the whole run, input and output; reserved before each request',
    meaningFor: { 'what-if': 'Try this maximum number of tokens of a run' },
  },
  maxDuration: {
    names: ['--max-duration'],
    topic: 'limits',
    kind: 'value',
    value: 'TIME',
    read: duration,
    alsoOf: ['what-if'],
    meaning: 'Maximum duration, such as 90s or 10m; cancels work that is still running',
    meaningFor: { 'what-if': 'Try this maximum duration of a run, such as 10m' },
  },
  waitForLimits: {
    names: ['--wait-for-limits'],
    topic: 'limits',
    kind: 'value',
    value: 'TIME',
    read: waitTime,
    alsoOf: ['what-if'],
    meaning:
      'Maximum total time to wait for a service that is over its rate limit or down, such as 8h; none ends the run at once (default: 24h in the interactive program and in editors, none elsewhere)',
    meaningFor: { 'what-if': 'Try this maximum total time of waits for services, such as 8h' },
  },
  tokenBudget: {
    names: ['--token-budget'],
    topic: 'limits',
    kind: 'value',
    value: 'N',
    read: tokens,
    meaning: 'Target for output tokens: sends an answer below 90 % of it back for more',
  },
  finishReasons: {
    names: ['--finish-reasons'],
    topic: 'limits',
    kind: 'list',
    value: 'LIST',
    read: finishReasons,
    meaning: 'End the run when a reply ends for one of these reasons, such as end_turn,stop_sequence',
  },
  wrapUp: {
    names: ['--wrap-up'],
    topic: 'limits',
    kind: 'switch',
    meaning: 'At a limit, ask for a final answer; its cost is reserved from the start',
  },
  errorPolicy: {
    names: ['--error-policy'],
    topic: 'limits',
    kind: 'value',
    value: 'POLICY',
    read: choice(errorPolicies),
    meaning: 'End the run on errors of tools, hooks or all of them; continue ends it on none (default: continue)',
  },
  onLimit: {
    names: ['--on-limit'],
    topic: 'limits',
    kind: 'value',
    value: 'WHAT',
    read: choice(onLimits),
    meaning:
      'At a limit, end the run, or pause until it is raised: in the interactive program, an editor, a host or on a cluster (default: end)',
  },
  pauseFor: {
    names: ['--pause-for'],
    topic: 'limits',
    kind: 'value',
    value: 'TIME',
    read: duration,
    meaning: 'Maximum time that --on-limit pause waits for an answer, such as 10m (default: no maximum)',
  },
  verifyChanges: {
    names: ['--verify-changes'],
    topic: 'limits',
    kind: 'value',
    value: 'WHAT',
    read: choice(verifyChanges),
    meaning:
      'At an answer after a change that no check has passed since, ask the model once to verify it, or only tell; off does neither (default: ask with -p, off for hosts, tell elsewhere)',
  },
  autocompact: {
    names: ['--autocompact'],
    topic: 'context',
    kind: 'value',
    value: 'WHEN',
    read: autoCompact,
    meaning:
      'Compact the conversation at a share of the window (80%) or a number of tokens (150k); auto or off (default: auto). With off, a run ends when the window is full',
  },
  compactModel: {
    names: ['--compact-model'],
    topic: 'context',
    kind: 'value',
    value: 'NAME',
    read: filledText,
    meaning: "Write compaction summaries with this model (default: the session's model)",
  },
  contextWindow: {
    names: ['--context-window'],
    topic: 'context',
    kind: 'value',
    value: 'N',
    read: windowTokens,
    meaning: 'Override the context window of the model, in tokens',
  },
  maxSubagents: {
    names: ['--max-subagents'],
    topic: 'limits',
    kind: 'value',
    value: 'N',
    read: count,
    meaning: 'Maximum number of subagents of a run, nested ones included; 0 for none (default: 50)',
  },
  maxSubagentDepth: {
    names: ['--max-subagent-depth'],
    topic: 'limits',
    kind: 'value',
    value: 'N',
    read: wholeNumber,
    meaning: 'Maximum nesting of subagents: with 1, subagents start none themselves (default: 3)',
  },
}

/** Parses dollars; `none` is `Infinity`. */
function dollarsOrNone(given: string): Reading<number> {
  if (given === 'none') return { value: Infinity }
  const read = dollars(given)
  return 'value' in read ? read : { expected: `${read.expected}, or none` }
}

function count(given: string): Reading<number> {
  return given === '0' ? { value: 0 } : wholeNumber(given)
}
