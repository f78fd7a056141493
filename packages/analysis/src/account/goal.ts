import type { GoalCheck, GoalResult, GoalSpec, RunResult } from '@halting/core'
import { isJsonObject, type RunProgress } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'
import { recordedStep } from './recorded-steps.ts'

// The state of a run's goals, from its records alone.

/** When goals were checked: before the first request, at an answer, after a turn, and at a limit. */
export type RoundPlace = 'baseline' | 'answer' | 'turn' | 'limit'

/** One round of goal checks as recorded. JSON. */
export interface RecordedRound {
  /** '' for the main loop, else the path of agents. */
  readonly scope: string
  /** The request of the main loop or the agent that the round followed; for a baseline, the request that it preceded. */
  readonly request: number
  /** At which point of the run the goals were checked. */
  readonly place: RoundPlace
  /** Milliseconds since 1970. */
  readonly at: number
  /** Milliseconds that the round took. */
  readonly durationMs: number
  /** Whether every check passed. */
  readonly met: boolean
  /** The checks, up to the first that failed. */
  readonly checks: readonly GoalCheck[]
  /** Protected files that were changed. If there are any, no check was run. */
  readonly tampered: readonly string[]
  /** Files that the checks themselves changed. */
  readonly changedByChecks: readonly string[]
  /** Tests that changed since the goals were set. */
  readonly changedTests: readonly string[]
  /** Whether the run was aborted during the round; the result then does not count. */
  readonly isCut: boolean
  /** The report for the model, bounded; '' when all checks passed. */
  readonly report: string
}

const places: ReadonlySet<string> = new Set<RoundPlace>(['baseline', 'answer', 'turn', 'limit'])

/** Name of the step of a round. A judged goal makes its request in this step, and its result is in the next one. */
const roundName = /^goal:(\d+):([a-z]+)(\/asked)?$/

/** Reads rounds of checks from consecutive records. A round without a recorded result is skipped. */
export class GoalRoundReader {
  /** When rounds that ask a model began, by their key. */
  readonly #began = new Map<string, number>()

  /** The round that this record completes; undefined for any other record. */
  read(record: StepRecord): RecordedRound | undefined {
    if (record.type !== 'result' || !record.key.includes('goal:')) return undefined
    const { key, value, at, durationMs } = record
    const { scope, name } = recordedStep(key, at, durationMs, false)
    const [, request = '', place = '', asked] = roundName.exec(name) ?? []
    if (!places.has(place) || !isJsonObject(value)) return undefined
    if (value['asks'] === true) {
      this.#began.set(key, at)
      return undefined
    }
    const round = asked === undefined ? value : value['value']
    if (!isJsonObject(round)) return undefined
    const beganAt = asked === undefined ? at : (this.#began.get(key.slice(0, -asked.length)) ?? at)
    const isCut = round['aborted'] !== undefined
    return {
      scope,
      request: Number(request),
      // One of the names above.
      place: place as RoundPlace,
      at: beganAt,
      durationMs: Math.max(0, at + durationMs - beganAt),
      met: round['met'] === true && !isCut,
      // Rounds of records that were read from storage have been validated (`validateRecord`).
      checks: listOf(round['checks']) as readonly GoalCheck[],
      tampered: listOf(round['tampered']) as readonly string[],
      changedByChecks: listOf(round['changedByChecks']) as readonly string[],
      changedTests: listOf(round['changedTests']) as readonly string[],
      isCut,
      report: typeof round['report'] === 'string' ? round['report'] : '',
    }
  }
}

/** The rounds of checks of a run and its subagents, in the order in which they ended. */
export function goalRounds(records: readonly StepRecord[]): readonly RecordedRound[] {
  const reader = new GoalRoundReader()
  return records.map((record) => reader.read(record)).filter((round) => round !== undefined)
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Why it is unknown whether a goal is met. */
export type GoalUnknown = 'not_ended' | 'needs_approval' | 'not_checked' | 'changed'

/** The state of a run's goals at its end, or now. JSON. */
export interface GoalFigures extends GoalResult {
  /** The goals, in the order in which they are checked. */
  readonly goals: readonly GoalSpec[]
  /** How often an answer may be sent back; null when the record does not say. */
  readonly maxTries: number | null
  /** Present only when `met` is unknown. */
  readonly whyUnknown?: GoalUnknown
  /** Rounds of checks of the main loop: number, failures and total time. */
  readonly rounds: {
    /** All rounds. */
    readonly made: number
    /** Rounds that failed. */
    readonly failed: number
    /** Milliseconds of all rounds together. */
    readonly ms: number
  }
  /** The last check that failed; null for none. */
  readonly lastFailed: GoalCheck | null
}

/** Figures of the goals; undefined for a run without goals. */
export function goalFigures(
  records: readonly StepRecord[],
  { goal }: Pick<RunProgress, 'goal'>,
  maxTries: number | null,
  terminal: RunResult | undefined,
): GoalFigures | undefined {
  const rounds = goalRounds(records).filter(({ scope, isCut }) => scope === '' && !isCut)
  const result = terminal === undefined ? openResult(goal, rounds) : terminal.goal
  if (result === undefined) return undefined
  const failed = rounds.filter(({ met }) => !met)
  return {
    ...result,
    goals: goal?.specs ?? [],
    maxTries,
    ...(result.met === 'unknown' && { whyUnknown: whyUnknown(terminal, goal) }),
    rounds: {
      made: rounds.length,
      failed: failed.length,
      ms: rounds.reduce((sum, { durationMs }) => sum + durationMs, 0),
    },
    lastFailed: failed.at(-1)?.checks.findLast(({ met }) => !met) ?? null,
  }
}

/** Result for a run that has not ended: the state of its last iteration, updated by the checks since then. */
function openResult(goal: RunProgress['goal'], rounds: readonly RecordedRound[]): GoalResult | undefined {
  if (goal === undefined) return undefined
  const last = rounds.at(-1)
  const { checks = [], tampered = [], changedTests = [] } = last ?? goal.last ?? {}
  const baseline = rounds.find(({ place }) => place === 'baseline')?.met ?? null
  return {
    met: 'unknown',
    ...(goal.specs.some(({ judged }) => judged === true) && { judged: true }),
    tries: goal.tries,
    baseline: goal.baseline ?? baseline,
    checks,
    tampered,
    changedTests,
    flaky: goal.flaky,
  }
}

function whyUnknown(terminal: RunResult | undefined, goal: RunProgress['goal']): GoalUnknown {
  if (terminal === undefined) return 'not_ended'
  if (terminal.reason === 'needs_approval') return 'needs_approval'
  return (goal?.last ?? null) === null ? 'not_checked' : 'changed'
}
