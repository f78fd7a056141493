import type { GoalCheck, GoalResult, GoalSpec, RunResult } from '@halting/core'
import { isJsonObject, type RunProgress } from '@halting/core/adapters'
import type { StepRecord } from '@halting/core/steps'
import { recordedStep } from './recorded-steps.ts'

// How a run stands with its goals, from its records alone.

/** When goals were checked: before the first request, at an answer, after a turn, and at a limit. */
export type RoundPlace = 'baseline' | 'answer' | 'turn' | 'limit'

/** One round of checks as it is on record. JSON. */
export interface RecordedRound {
  /** '' for the main loop, else the path of agents. */
  readonly scope: string
  /** The request of the main loop or the agent that it came after; for a baseline the one that it came before. */
  readonly request: number
  /** When the goals were checked. */
  readonly place: RoundPlace
  /** Milliseconds since 1970. */
  readonly at: number
  /** Milliseconds that the round took. */
  readonly durationMs: number
  /** Whether every check passed. */
  readonly met: boolean
  /** Up to the first that failed. */
  readonly checks: readonly GoalCheck[]
  /** Files that are protected and have changed: then nothing was checked. */
  readonly tampered: readonly string[]
  /** Files that the checks themselves changed. */
  readonly changedByChecks: readonly string[]
  /** Tests that changed since the goals were set. */
  readonly changedTests: readonly string[]
  /** The run was aborted meanwhile: what it came to does not count. */
  readonly isCut: boolean
  /** What the round said for the model, bounded; '' where everything passed. */
  readonly report: string
}

const places: ReadonlySet<string> = new Set<RoundPlace>(['baseline', 'answer', 'turn', 'limit'])

/** The step of a round: a judged goal asks in it, and what it came to is in the step behind. */
const roundName = /^goal:(\d+):([a-z]+)(\/asked)?$/

/** Reads rounds of checks from records that come one after another. A round that has no result on record is none. */
export class GoalRoundReader {
  /** When rounds began that ask a model, by their key. */
  readonly #began = new Map<string, number>()

  /** The round that this record tells of; undefined for any other record. */
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
      // Where records were read from storage, their rounds were looked at (`misfitOfRecord`).
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

/** Why it is not known whether a goal holds. */
export type GoalUnknown = 'not_ended' | 'needs_approval' | 'not_checked' | 'changed'

/** How a run stands with its goals, at its end or now. JSON. */
export interface GoalFigures extends GoalResult {
  /** What must hold, in the order in which it is checked. */
  readonly goals: readonly GoalSpec[]
  /** How often an answer may be sent back; null where the record does not say. */
  readonly maxTries: number | null
  /** Only where `met` is unknown. */
  readonly whyUnknown?: GoalUnknown
  /** Rounds of checks of the main loop: all that were made, those that failed, and how long they took together. */
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

/** Undefined for a run without goals. */
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

/** Of a run that did not end: as its last lap has it, with what was checked since. */
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
