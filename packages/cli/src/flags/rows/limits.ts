import type { FlagFor } from '../flag-kinds.ts'
import { type Flags, errorPolicies, onLimits } from '../flags.ts'
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
  | 'autocompact'
  | 'compactModel'
  | 'contextWindow'
  | 'maxSubagents'
  | 'maxSubagentDepth'

/** Flags about when a run stops, and about a full context window. */
export const limitsFlags: { readonly [Name in LimitsFlag]-?: FlagFor<NonNullable<Flags[Name]>> } = {
  maxTurns: {
    names: ['--max-turns'],
    group: 'limits',
    kind: 'value',
    value: 'N',
    read: wholeNumber,
    alsoOf: ['what-if'],
    meaning: 'Requests that count, with the tools they ask for; 1000 unless said otherwise',
  },
  maxBudgetUsd: {
    names: ['--max-budget-usd'],
    group: 'limits',
    kind: 'value',
    value: 'X',
    read: dollars,
    alsoOf: ['what-if'],
    meaning: 'US dollars; reserved before each request, so never overshot',
  },
  maxRunUsd: {
    names: ['--max-run-usd'],
    group: 'limits',
    kind: 'value',
    value: 'X',
    read: dollarsOrNone,
    alsoOf: ['what-if'],
    meaning:
      'US dollars of one run, whatever the session spent before; 10 in -p and the interactive program unless said otherwise, none for no limit',
  },
  maxToolCalls: {
    names: ['--max-tool-calls'],
    group: 'limits',
    kind: 'value',
    value: 'N',
    read: wholeNumber,
    alsoOf: ['what-if'],
    meaning: 'Calls of tools, those of subagents with them',
  },
  ignoreStandingBudgets: {
    names: ['--ignore-standing-budgets'],
    group: 'limits',
    kind: 'switch',
    meaning: 'Continue where a standing budget of the settings is used up or its ledger cannot be used',
  },
  maxTokens: {
    names: ['--max-tokens'],
    group: 'limits',
    kind: 'value',
    value: 'N',
    read: tokens,
    alsoOf: ['what-if'],
    meaning: 'Tokens of the whole run, input and output; reserved like dollars',
  },
  maxDuration: {
    names: ['--max-duration'],
    group: 'limits',
    kind: 'value',
    value: 'TIME',
    read: duration,
    alsoOf: ['what-if'],
    meaning: 'Time, such as 90s or 10m; what goes on then is ended',
  },
  waitForLimits: {
    names: ['--wait-for-limits'],
    group: 'limits',
    kind: 'value',
    value: 'TIME',
    read: waitTime,
    alsoOf: ['what-if'],
    meaning:
      'Wait for services that are over their limit or out of order, so long in all, such as 8h; none: end at once. 24h in the interactive program and in editors, none elsewhere unless said otherwise',
  },
  tokenBudget: {
    names: ['--token-budget'],
    group: 'limits',
    kind: 'value',
    value: 'N',
    read: tokens,
    meaning: 'Output tokens to use up: an answer below 90 % of it is sent back for more',
  },
  finishReasons: {
    names: ['--finish-reasons'],
    group: 'limits',
    kind: 'list',
    value: 'LIST',
    read: finishReasons,
    meaning: 'Stop when a reply ended for one of these reasons, such as end_turn,stop_sequence',
  },
  wrapUp: {
    names: ['--wrap-up'],
    group: 'limits',
    kind: 'switch',
    meaning: 'At a limit, ask for a last answer; its cost is held back from the start',
  },
  errorPolicy: {
    names: ['--error-policy'],
    group: 'limits',
    kind: 'value',
    value: 'POLICY',
    read: choice(errorPolicies),
    meaning: 'Whose errors end the run: continue (none), tools, hooks, or all',
  },
  onLimit: {
    names: ['--on-limit'],
    group: 'limits',
    kind: 'value',
    value: 'WHAT',
    read: choice(onLimits),
    meaning:
      'At a limit, end the run or pause until it is raised (end unless said otherwise): in the interactive program, an editor, a host or on a cluster',
  },
  pauseFor: {
    names: ['--pause-for'],
    group: 'limits',
    kind: 'value',
    value: 'TIME',
    read: duration,
    meaning: 'How long --on-limit pause waits for an answer, such as 10m (without end unless said otherwise)',
  },
  autocompact: {
    names: ['--autocompact'],
    group: 'context',
    kind: 'value',
    value: 'WHEN',
    read: autoCompact,
    meaning:
      'When a conversation is made shorter: auto, off, a share of the window (80%), or tokens (150k). With off a run ends where the window does',
  },
  compactModel: {
    names: ['--compact-model'],
    group: 'context',
    kind: 'value',
    value: 'NAME',
    read: filledText,
    meaning: 'Writes the summaries, in place of the model: a cheaper one',
  },
  contextWindow: {
    names: ['--context-window'],
    group: 'context',
    kind: 'value',
    value: 'N',
    read: windowTokens,
    meaning: 'Tokens that fit into a request, in place of what is known of the model',
  },
  maxSubagents: {
    names: ['--max-subagents'],
    group: 'limits',
    kind: 'value',
    value: 'N',
    read: count,
    meaning: 'Subagents of a run, those of subagents with them; 50 unless said otherwise, 0 for none',
  },
  maxSubagentDepth: {
    names: ['--max-subagent-depth'],
    group: 'limits',
    kind: 'value',
    value: 'N',
    read: wholeNumber,
    meaning: 'Levels of subagents: with 1 they start none themselves; 3 unless said otherwise',
  },
}

/** `Infinity` for no limit. */
function dollarsOrNone(given: string): Reading<number> {
  if (given === 'none') return { value: Infinity }
  const read = dollars(given)
  return 'value' in read ? read : { expected: `${read.expected}, or none` }
}

function count(given: string): Reading<number> {
  return given === '0' ? { value: 0 } : wholeNumber(given)
}
