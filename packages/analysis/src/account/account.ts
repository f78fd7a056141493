import { StopSignal, StopSignals, type EndingReason } from '@halting/core'
import { patchPaths, sharedBudgetOf, type SharedBudgetEnd, type StopSignalJson } from '@halting/core/adapters'
import { usdOf, type RunIdentity, startOfRecord, type StepRecord } from '@halting/core/steps'
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
import { iterationFigures, rankingLeft, type IterationFigures, type RankingLeft } from './iterations.ts'
import { limitFigures, limitsInForce, type LimitFigures } from './limits.ts'
import { timeByPhase } from './time-by-phase.ts'
import { verificationFigures, type VerificationFigures } from './verification.ts'
import { toolFigures, type ToolFigures } from './tools.ts'

/** How and why a run ended, which other signals were raised, and what failed. */
export interface AccountedEnding {
  /** The ending. */
  readonly reason: EndingReason
  /** The signal that led to it. */
  readonly signal: StopSignalJson
  /** The shared budget that ended the run; absent when the run's own limit or something else ended it. */
  readonly sharedBudget?: SharedBudgetEnd
  /**
   * When the service that refused the last request accepts requests again, as ISO 8601 in UTC. Absent when the service did not say, or when something
   * else ended the run.
   */
  readonly retryAt?: string
  /** The other signals that were raised. */
  readonly others: readonly StopSignalJson[]
  /** What failed; null for an ending without an error. */
  readonly error: {
    /** Code of the error. */
    readonly code: string
    /** What happened. */
    readonly message: string
  } | null
  /** Calls that were abandoned because they ignored the abort. */
  readonly stillRunning: readonly string[]
}

/** Time, requests and cost of one phase of the run. */
export interface PhaseFigures {
  /** The phase. */
  readonly phase: Phase
  /** Active milliseconds. */
  readonly ms: number
  /** Model requests. */
  readonly requests: number
  /** Input and output tokens, including those charged at worst case. */
  readonly tokens: number
  /** Cost that services reported, in US dollars. */
  readonly costUsd: number
}

/** One step, for the lists of the slowest and the most expensive steps. */
export interface StepFigures {
  /** The phase that the step belongs to. */
  readonly phase: Phase
  /** '' for the main loop, else the path of agents. */
  readonly scope: string
  /** Number of the request. */
  readonly request: number
  /** The model, the tool with its main argument, or the name of the step. */
  readonly what: string
  /** Active milliseconds. */
  readonly ms: number
  /** Input and output tokens. */
  readonly tokens: number
  /** Cost that services reported, in US dollars. */
  readonly costUsd: number
  /** Cost in US dollars that was charged at worst case, or that an open request may reach. */
  readonly unknownUsd: number
}

/** Why a run stopped and where its turns, tokens, dollars and time went, computed from its records alone. JSON. */
export interface Account {
  /** Identity of the run. */
  readonly run: RunIdentity
  /** Null for a run that is still running, or whose process was killed. */
  readonly ending: AccountedEnding | null
  /** Signals that a hook overrode so that the run continued: which hook, and before which request. */
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
  /** Number of iterations of the loop, by reason. */
  readonly laps: readonly IterationFigures[]
  /** The ranking at the end of the run, or now if it has not ended. */
  readonly ranking: RankingLeft
  /** Totals of the run. */
  readonly totals: Totals
  /** The part of the totals that was carried over from an earlier run. */
  readonly carried: Pick<Totals, 'turns' | 'tokens' | 'costUsd' | 'activeMs'>
  /** Web searches that services billed in this run; absent for none. */
  readonly webSearches?: number
  /** The figures of each phase. Their sums are the totals minus what was carried over. */
  readonly phases: readonly PhaseFigures[]
  /** Figures by the tool that a request asked for, the most expensive first. `tool` is null for answers and for failed requests. */
  readonly tools: readonly ToolFigures[]
  /** The slowest steps, the slowest first. */
  readonly slowest: readonly StepFigures[]
  /** The most expensive steps, the most expensive first. */
  readonly dearest: readonly StepFigures[]
  /** Requests that waited for money reserved by others: how many, for how long, and how many were refused in the end. Absent for none. */
  readonly budgetWaits?: WaitFigures
  /** Requests that waited for each standing budget, by its name; absent for none. */
  readonly standingWaits?: readonly (WaitFigures & {
    /** Name of the budget. */
    readonly budget: string
  })[]
  /** Waits for services that were rate-limited or unavailable; absent for none. */
  readonly serviceWaits?: ServiceWaitFigures
  /** Pauses at a limit, until a person raised it or the run ended; absent for none. */
  readonly limitPauses?: LimitPauseFigures
  /** The state of the run's goals; absent for a run without goals. */
  readonly goal?: GoalFigures
  /** What the run changed in files, and whether that was checked. Absent when the run has not ended or did not track its changes. */
  readonly verification?: VerificationFigures
  /** Steps that were started and have no result. */
  readonly open: readonly StepFigures[]
}

/** Requests that waited for money reserved by others. */
export interface WaitFigures {
  /** Requests that waited. */
  readonly requests: number
  /** Milliseconds of all waits together. */
  readonly ms: number
  /** Requests that still did not fit after the wait. */
  readonly refused: number
  /** The largest amount that others had reserved, in US dollars. */
  readonly mostReservedUsd: number
}

const maxListed = 5

/**
 * Computes from the records of one run why it stopped, how full its limits were, and where turns, tokens, dollars and time went. Also works for a run
 * that has not ended. Makes no requests.
 * @throws ConfigurationError for records that are not those of one run.
 */
export function accountOf(records: readonly StepRecord[]): Account {
  return accountWith(records, recordedSteps(records))
}

/** Like `accountOf`, for a caller that has already read the steps. */
export function accountWith(records: readonly StepRecord[], recorded: RecordedSteps): Account {
  const begin = startOfRecord(records)
  const { steps, requests, calls, budgetWaits } = recorded
  const end = records.find((record) => record.type === 'end' && record.scope === '')
  const ended = end?.type === 'end' ? end : undefined
  const before = carriedInto(begin)
  const { spent, isTurnOpen, totals } = recordedProgress(records, recorded)
  const carried = cappedBy(before, totals)
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
    laps: iterationFigures(spent, inForce.maxGoalTries ?? null),
    ranking: rankingLeft(spent, inForce),
    totals,
    carried,
    ...(searched > 0 && { webSearches: searched }),
    phases: phasesOf(steps, requests, totals.activeMs - carried.activeMs),
    tools: toolFigures(requests, calls, steps),
    slowest: largestBy(steps, ({ durationMs }) => durationMs).map(toFigures),
    dearest: largestBy(requests, ({ nanos: cost, tokens }) => cost + tokens * 1e-6).map(toFigures),
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

/** Totals that a run carried over from an earlier run. */
export function carriedInto({ start: { spent } }: ReturnType<typeof startOfRecord>): Account['carried'] {
  const { turns, nanos, totalTokens, now, startedAt } = spent
  return { turns, tokens: totalTokens, costUsd: usdOf(nanos), activeMs: now - startedAt }
}

/** Caps the carried totals at the totals of the run, which include them. A record that says otherwise must not make the difference negative. */
export function cappedBy({ turns, tokens, costUsd, activeMs }: Account['carried'], totals: Totals): Account['carried'] {
  return {
    turns: Math.min(turns, totals.turns),
    tokens: Math.min(tokens, totals.tokens),
    costUsd: Math.min(costUsd, totals.costUsd),
    activeMs: Math.min(activeMs, totals.activeMs),
  }
}

function endingOf(terminal: Extract<StepRecord, { readonly type: 'end' }>['terminal']): AccountedEnding {
  // Signals that were read from a file are plain JSON, so they are converted.
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

/** The text of a date, or undefined for a text that is not a date: a file may contain any text. */
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

function largestBy<Step>(steps: readonly Step[], weight: (step: Step) => number): readonly Step[] {
  return steps
    .filter((step) => weight(step) > 0)
    .toSorted((a, b) => weight(b) - weight(a))
    .slice(0, maxListed)
}

function stepFigures(
  recorded: RecordedStep,
  requests: readonly RecordedRequest[],
  calls: readonly { readonly scope: string; readonly id: string; readonly name: string; readonly input: unknown }[],
): StepFigures {
  const { phase, scope, request, name, durationMs } = recorded
  const requestOfStep = requests.find((each) => each.scope === scope && each.name === name)
  const callId = /^tool:\d+:\d+:(.*)$/s.exec(name)?.[1]
  const call = callId === undefined ? undefined : calls.findLast((each) => each.scope === scope && each.id === callId)
  const step = isServiceWait(name) ? 'wait for the service' : name
  const what = call === undefined ? (requestOfStep?.model ?? step) : `${call.name} ${subjectOf(call.input)}`.trimEnd()
  const usd = usdOf(requestOfStep?.nanos ?? 0)
  const cost =
    requestOfStep !== undefined && isAtWorst(requestOfStep)
      ? { costUsd: 0, unknownUsd: usd }
      : { costUsd: usd, unknownUsd: 0 }
  return { phase, scope, request, what, ms: durationMs, tokens: requestOfStep?.tokens ?? 0, ...cost }
}

/** The first text of an input, such as a command, a path or a pattern. */
function subjectOf(input: unknown): string {
  if (typeof input !== 'object' || input === null) return ''
  const text = Object.values(input).find((value) => typeof value === 'string')
  return typeof text === 'string' ? (patchPaths(text) ?? text).slice(0, 200) : ''
}
