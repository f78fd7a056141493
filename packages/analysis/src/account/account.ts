import { StopSignal, StopSignals, type EndingReason } from '@halting/core'
import { patchPaths, sharedBudgetOf, type SharedBudgetEnd, type StopSignalJson } from '@halting/core/adapters'
import { usdOf, type RunIdentity, beginningOf, type StepRecord } from '@halting/core/steps'
import { recordedProgress, type Totals } from './recorded-progress.ts'
import {
  isAtWorst,
  recordedSteps,
  type RecordedSteps,
  type Phase,
  type RecordedRequest,
  type RecordedStep,
  type RecordedWait,
  searchesOf,
} from './recorded-steps.ts'
import { isServiceWait, momentOf, serviceWaitFigures, type ServiceWaitFigures } from './service-waits.ts'
import { limitPauseFigures, type LimitPauseFigures } from './limit-pauses.ts'
import { goalFigures, type GoalFigures } from './goal.ts'
import { lapFigures, rankingLeft, type IterationFigures, type RankingLeft } from './laps.ts'
import { limitFigures, limitsInForce, type LimitFigures } from './limits.ts'
import { timeByPhase } from './time-by-phase.ts'
import { verificationFigures, type VerificationFigures } from './verification.ts'
import { toolFigures, type ToolFigures } from './tools.ts'

/** Where a run ended and why; what stood beside that; who was behind what failed. */
export interface AccountedEnding {
  /** The ending. */
  readonly reason: EndingReason
  /** The signal that led to it. */
  readonly signal: StopSignalJson
  /** The budget that it shared with other runs and that ended it; absent where a limit of its own, or something else, did. */
  readonly sharedBudget?: SharedBudgetEnd
  /** When the service that refused its last request takes requests again, ISO 8601 in UTC; absent where it did not say, or something else ended the run. */
  readonly retryAt?: string
  /** Signals that stood beside it. */
  readonly others: readonly StopSignalJson[]
  /** What failed; null for an ending without an error. */
  readonly error: {
    /** Code of the error. */
    readonly code: string
    /** What happened. */
    readonly message: string
  } | null
  /** Calls that were left behind because they did not heed the abort. */
  readonly stillRunning: readonly string[]
}

/** What one phase of the run took. */
export interface PhaseFigures {
  /** The phase. */
  readonly phase: Phase
  /** Active milliseconds. */
  readonly ms: number
  /** Model requests. */
  readonly requests: number
  /** Input and output tokens, with what was charged at worst case. */
  readonly tokens: number
  /** What services reported. */
  readonly costUsd: number
}

/** One step, for lists of those that took most. */
export interface StepFigures {
  /** The phase that the step belongs to. */
  readonly phase: Phase
  /** '' for the main loop, else the path of agents. */
  readonly scope: string
  /** Number of the request. */
  readonly request: number
  /** The model, the tool with what it was asked, or the name of the step. */
  readonly what: string
  /** Active milliseconds. */
  readonly ms: number
  /** Input and output tokens. */
  readonly tokens: number
  /** What services reported. */
  readonly costUsd: number
  /** Charged at worst case, or what it may cost where it is under way. */
  readonly unknownUsd: number
}

/** Why a run stopped and where it went, told from its record alone. JSON. */
export interface Account {
  /** Which run it is. */
  readonly run: RunIdentity
  /** Null for a run that goes on, or whose process was ended. */
  readonly ending: AccountedEnding | null
  /** Signals that a hook had the run go on in spite of, by whom, and before which request. */
  readonly overridden: readonly {
    /** Id of the hook. */
    readonly by: string
    /** Number of the request. */
    readonly request: number
    /** The signals that it overrode. */
    readonly signals: readonly StopSignalJson[]
  }[]
  /** Each limit with what was used of it. */
  readonly limits: readonly LimitFigures[]
  /** How often the loop went round, by the reason. */
  readonly laps: readonly IterationFigures[]
  /** As it stood at the end, or stands now. */
  readonly ranking: RankingLeft
  /** What the run came to. */
  readonly totals: Totals
  /** The part of the totals that the run carried over from one before it. */
  readonly carried: Pick<Totals, 'turns' | 'tokens' | 'costUsd' | 'activeMs'>
  /** Searches of the web that services billed in this run; absent where there were none. */
  readonly webSearches?: number
  /** Together they are the totals, less what was carried. */
  readonly phases: readonly PhaseFigures[]
  /** By what a request asked for; `tool` is null for answers and for requests that failed. The dearest first. */
  readonly tools: readonly ToolFigures[]
  /** The longest first. */
  readonly slowest: readonly StepFigures[]
  /** The dearest first. */
  readonly dearest: readonly StepFigures[]
  /** Requests that waited for what others had reserved, how long together, and how many of them were not paid in the end; absent when none waited. */
  readonly budgetWaits?: WaitFigures
  /** The same for what others had reserved of standing budgets, by the name of each; absent when none waited. */
  readonly standingWaits?: readonly (WaitFigures & {
    /** Name of the budget. */
    readonly budget: string
  })[]
  /** Waits for services that were over their limit or out of order; absent for none. */
  readonly serviceWaits?: ServiceWaitFigures
  /** Pauses at a limit, until a person raised it or the run ended; absent for none. */
  readonly limitPauses?: LimitPauseFigures
  /** How it stands with its goals; absent for a run without any. */
  readonly goal?: GoalFigures
  /** What it changed in files, and whether that was checked; absent for a run that did not end, or where nobody looked at that. */
  readonly verification?: VerificationFigures
  /** Steps that were begun and have no result. */
  readonly open: readonly StepFigures[]
}

/** Requests that waited for what others had reserved. */
export interface WaitFigures {
  /** Requests that waited. */
  readonly requests: number
  /** How long together. */
  readonly ms: number
  /** Those of them that still did not fit. */
  readonly refused: number
  /** The most that others had reserved, in US dollars. */
  readonly mostReservedUsd: number
}

const longestList = 5

/**
 * Tells from the records of one run why it stopped, how full its limits were, and where turns, tokens, dollars and time went. Works for a run that
 * did not end. Asks nobody.
 * @throws ConfigurationError for what is no record of one run.
 */
export function accountOf(records: readonly StepRecord[]): Account {
  return accountWith(records, recordedSteps(records))
}

/** The same for whoever has its steps already. */
export function accountWith(records: readonly StepRecord[], recorded: RecordedSteps): Account {
  const begin = beginningOf(records)
  const { steps, requests, calls, budgetWaits } = recorded
  const end = records.find((record) => record.type === 'end' && record.scope === '')
  const ended = end?.type === 'end' ? end : undefined
  const before = carriedInto(begin)
  const { spent, isTurnOpen, totals } = recordedProgress(records, recorded)
  const carried = notAbove(before, totals)
  const inForce = limitsInForce(records)
  const waited = serviceWaitFigures(records, inForce)
  const paused = limitPauseFigures(records)
  const goal = goalFigures(records, spent, inForce.maxGoalTries ?? null, ended?.terminal)
  const verification = verificationFigures(spent, records, ended?.terminal)
  const searched = requests.reduce((sum, request) => sum + searchesOf(request), 0)
  const toFigures = (step: RecordedStep): StepFigures => stepFigures(step, requests, calls)
  return {
    run: begin.start.run,
    ending: ended === undefined ? null : endingOf(ended.terminal),
    overridden: overriddenIn(records),
    limits: limitFigures(inForce, { spent, isTurnOpen, totals, terminal: ended?.terminal }),
    laps: lapFigures(spent, inForce.maxGoalTries ?? null),
    ranking: rankingLeft(spent, inForce),
    totals,
    carried,
    ...(searched > 0 && { webSearches: searched }),
    phases: phasesOf(steps, requests, totals.activeMs - carried.activeMs),
    tools: toolFigures(requests, calls, steps),
    slowest: most(steps, ({ durationMs }) => durationMs).map(toFigures),
    dearest: most(requests, ({ nanos: cost, tokens }) => cost + tokens * 1e-6).map(toFigures),
    ...waitsOf(budgetWaits),
    ...(waited !== undefined && { serviceWaits: waited }),
    ...(paused !== undefined && { limitPauses: paused }),
    ...(goal !== undefined && { goal }),
    ...(verification !== undefined && { verification }),
    open: steps.filter(({ isOpen }) => isOpen).map(toFigures),
  }
}

function waitsOf(waits: readonly RecordedWait[]): Pick<Account, 'budgetWaits' | 'standingWaits'> {
  const own = waits.filter(({ budget }) => budget === undefined)
  const names = [...new Set(waits.flatMap(({ budget }) => budget ?? []))]
  const standing = names.map((budget) => {
    return { budget, ...waitFigures(waits.filter((wait) => wait.budget === budget)) }
  })
  return {
    ...(own.length > 0 && { budgetWaits: waitFigures(own) }),
    ...(standing.length > 0 && { standingWaits: standing }),
  }
}

function waitFigures(waits: readonly RecordedWait[]): WaitFigures {
  return {
    requests: waits.length,
    ms: waits.reduce((sum, { durationMs }) => sum + durationMs, 0),
    refused: waits.filter(({ isRefused }) => isRefused).length,
    mostReservedUsd: Math.max(...waits.map(({ reservedUsd }) => reservedUsd)),
  }
}

/** What a run carried over from one before it. */
export function carriedInto({ start: { spent } }: ReturnType<typeof beginningOf>): Account['carried'] {
  const { turns, nanos, totalTokens, now, startedAt } = spent
  return { turns, tokens: totalTokens, costUsd: usdOf(nanos), activeMs: now - startedAt }
}

/** What a run came to has what it carried over in it. A record that says otherwise takes nothing away from what others cost. */
export function notAbove({ turns, tokens, costUsd, activeMs }: Account['carried'], totals: Totals): Account['carried'] {
  return {
    turns: Math.min(turns, totals.turns),
    tokens: Math.min(tokens, totals.tokens),
    costUsd: Math.min(costUsd, totals.costUsd),
    activeMs: Math.min(activeMs, totals.activeMs),
  }
}

function endingOf(terminal: Extract<StepRecord, { readonly type: 'end' }>['terminal']): AccountedEnding {
  // What was read from a file is plain JSON.
  const signal = StopSignal.fromJSON(terminal.signal)
  const standing = [...StopSignals.fromJSON(terminal.signals)].map((each) => each.toJSON())
  const own = JSON.stringify(signal)
  const { error } = terminal
  const sharedBudget = sharedBudgetOf(signal.toJSON())
  const retryAt = terminal.reason === 'model_error' ? retryAtOf(signal.toJSON()) : undefined
  return {
    reason: terminal.reason,
    signal: signal.toJSON(),
    ...(retryAt !== undefined && { retryAt }),
    ...(sharedBudget !== undefined && { sharedBudget }),
    others: standing.filter((each) => JSON.stringify(each) !== own),
    error: error === undefined ? null : { code: error.code, message: error.message },
    stillRunning: terminal.stillRunning,
  }
}

/** Any text may stand in a file: one that is no moment is none. */
function retryAtOf({ context: { retryAt } }: StopSignalJson): string | undefined {
  return typeof retryAt === 'string' && momentOf(Date.parse(retryAt)) !== null ? retryAt : undefined
}

function overriddenIn(records: readonly StepRecord[]): Account['overridden'] {
  return records.flatMap((record) => {
    if (record.type !== 'lap' || record.lap.scope !== '' || record.lap.overridden === undefined) return []
    const { by, signals } = record.lap.overridden
    return [{ by, request: record.lap.spent.request, signals }]
  })
}

function phasesOf(
  steps: readonly RecordedStep[],
  requests: readonly RecordedRequest[],
  activeMs: number,
): readonly PhaseFigures[] {
  const times = timeByPhase(steps)
  const counted = Object.values(times).reduce((sum, ms) => sum + ms, 0)
  const order: readonly Phase[] = ['model', 'tools', 'hooks', 'compaction', 'checks', 'waiting', 'other']
  return order.map((phase) => {
    const own = requests.filter((request) => request.phase === phase && !request.isOpen)
    return {
      phase,
      ms: times[phase] + (phase === 'other' ? Math.max(0, activeMs - counted) : 0),
      requests: own.length,
      tokens: own.reduce((sum, { tokens }) => sum + tokens, 0),
      costUsd: usdOf(own.reduce((sum, each) => sum + (isAtWorst(each) ? 0 : each.nanos), 0)),
    }
  })
}

function most<Step>(steps: readonly Step[], weight: (step: Step) => number): readonly Step[] {
  return steps
    .filter((step) => weight(step) > 0)
    .toSorted((a, b) => weight(b) - weight(a))
    .slice(0, longestList)
}

function stepFigures(
  recorded: RecordedStep,
  requests: readonly RecordedRequest[],
  calls: readonly { readonly scope: string; readonly id: string; readonly name: string; readonly input: unknown }[],
): StepFigures {
  const { phase, scope, request, name, durationMs } = recorded
  const asked = requests.find((each) => each.scope === scope && each.name === name)
  const callId = /^tool:\d+:\d+:(.*)$/s.exec(name)?.[1]
  const call = callId === undefined ? undefined : calls.findLast((each) => each.scope === scope && each.id === callId)
  const step = isServiceWait(name) ? 'wait for the service' : name
  const what = call === undefined ? (asked?.model ?? step) : `${call.name} ${subjectOf(call.input)}`.trimEnd()
  const usd = usdOf(asked?.nanos ?? 0)
  const cost =
    asked !== undefined && isAtWorst(asked) ? { costUsd: 0, unknownUsd: usd } : { costUsd: usd, unknownUsd: 0 }
  return { phase, scope, request, what, ms: durationMs, tokens: asked?.tokens ?? 0, ...cost }
}

/** The first text of an input: a command, a path, a pattern. */
function subjectOf(input: unknown): string {
  if (typeof input !== 'object' || input === null) return ''
  const text = Object.values(input).find((value) => typeof value === 'string')
  return typeof text === 'string' ? (patchPaths(text) ?? text).slice(0, 200) : ''
}
