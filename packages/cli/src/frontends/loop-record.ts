import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import {
  codeOf,
  isJsonObject,
  longestDurationMs,
  messageOf,
  maxGoalTriesAllowed,
  maxStablePasses,
} from '@halting/core/adapters'
import { type EndedRun, promptIdOf, type StepRecord } from '@halting/core/steps'
import type { SessionPlace } from '@halting/journal'
import { readBoundedFile, makeDurableFolder, removeWhole, writeWhole } from '@halting/journal/files'
import { maxRounds } from '../flags/values.ts'
import { UsageError } from '../usage-error.ts'
import { type LoopRound, roundOf } from './loop-end.ts'
import { loopFile } from './loop-file.ts'

/** What a loop repeats, and its bounds. */
export interface LoopTerms {
  readonly prompt: string
  /** Milliseconds from the start of one round to the start of the next; 0: no pause. */
  readonly everyMs: number
  readonly rounds?: number
  /** Milliseconds for the whole loop. */
  readonly forMs?: number
  /** US dollars of the session. */
  readonly maxBudgetUsd?: number
  /** The goals, as the flags name them. */
  readonly until?: readonly string[]
  readonly goal?: string
  readonly untilTries?: number
  readonly untilTimeout?: number
  readonly untilStable?: number
  readonly protect?: readonly string[]
}

/** The loop of a session as it is stored in a file. Its rounds are the runs whose prompt ids contain its id. */
export interface StoredLoop {
  readonly id: string
  /** Milliseconds since 1970. */
  readonly startedAtMs: number
  readonly terms: LoopTerms
}

/** The recorded rounds of a loop. */
export interface PastRounds {
  readonly rounds: readonly LoopRound[]
  /** The number of an unfinished round, if there is one. */
  readonly open?: number
  /** When the last round started, in milliseconds since 1970; null if no round started, or the time is not recorded. */
  readonly lastStartedAtMs: number | null
}

/** The part of a stored session that shows which rounds were made. */
export interface RecordedRuns {
  readonly ended: readonly EndedRun[]
  readonly open: readonly StepRecord[] | undefined
  /** When each run started, in milliseconds since 1970: the finished runs, then the unfinished one. */
  readonly began: readonly (number | null)[]
}

/** Stores the loop of a session. */
export interface LoopStore {
  isThere(): boolean
  /** Undefined if the session has no loop. @throws UsageError for a damaged file. */
  read(): Promise<StoredLoop | undefined>
  /** The rounds of earlier processes. */
  past(loopId: string): Promise<PastRounds>
  write(loop: StoredLoop): Promise<void>
  remove(): Promise<void>
}

export function newLoopId(): string {
  return randomBytes(4).toString('hex')
}

/** The recorded id of the prompt of a round. */
export function promptIdOfRound(loopId: string, round: number): string {
  return `loop:${loopId}:${round}`
}

/** The round that a prompt started; undefined for any other prompt. */
function roundOfPrompt(loopId: string, promptId: string | undefined): number | undefined {
  const [, id, round] = /^loop:([^:]+):([1-9]\d*)$/.exec(promptId ?? '') ?? []
  return id === loopId ? Number(round) : undefined
}

/** The recorded rounds of a loop. A round that a crash interrupted and a resume continued counts once. */
export function pastRounds(loopId: string, { ended, open, began }: RecordedRuns): PastRounds {
  const rounds = ended.flatMap(({ promptId, terminal }, index) => {
    const round = roundOfPrompt(loopId, promptId)
    return round === undefined ? [] : [roundOf(round, began[index] ?? null, terminal)]
  })
  const openRound = open === undefined ? undefined : roundOfPrompt(loopId, promptIdOf(open))
  const lastStartedAtMs = openRound === undefined ? (rounds.at(-1)?.startedAtMs ?? null) : (began[ended.length] ?? null)
  return { rounds, ...(openRound !== undefined && { open: openRound }), lastStartedAtMs }
}

/** Whether a stored loop has rounds left. */
export function isLoopOpen({ terms, startedAtMs }: StoredLoop, past: PastRounds | undefined, nowMs: number): boolean {
  const last = past?.rounds.at(-1)
  const isOver = past?.open === undefined && last !== undefined
  if (terms.forMs !== undefined && nowMs - startedAtMs >= terms.forMs) return false
  return !isOver || (last.goalMet !== true && (terms.rounds === undefined || last.round < terms.rounds))
}

/** Maximum size of the file. Prompts may be long, but this program writes no larger file. */
const maxBytes = 64 * 1024 * 1024

/** The loop of a session; undefined if it has none. @throws UsageError for a damaged or invalid file. */
export async function readStoredLoop(place: SessionPlace): Promise<StoredLoop | undefined> {
  const path = loopFile(place)
  let stored: unknown
  try {
    stored = JSON.parse(await readBoundedFile(path, maxBytes))
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined
    if (!(error instanceof SyntaxError))
      throw new UsageError(`Cannot read the loop of this session from ${path}: ${messageOf(error)}.`)
  }
  if (isStoredLoop(stored)) return stored
  throw new UsageError(`${path} is not a loop that this version can read. Delete the file and start the loop again.`)
}

/** Stores a loop in place of the previous one; it is on disk when the promise resolves. */
export async function writeStoredLoop(place: SessionPlace, loop: StoredLoop): Promise<void> {
  const path = loopFile(place)
  await makeDurableFolder(dirname(path))
  await writeWhole(path, `${JSON.stringify(loop)}\n`)
}

/** Deletes the loop of the session. */
export async function removeStoredLoop(place: SessionPlace): Promise<void> {
  await removeWhole(loopFile(place))
}

function isStoredLoop(stored: unknown): stored is StoredLoop {
  if (!isJsonObject(stored) || !isJsonObject(stored['terms'])) return false
  const { id, startedAtMs, terms } = stored
  if (typeof id !== 'string' || !/^[\da-f]+$/.test(id) || !isWithin(startedAtMs, [0, maxTimestampMs])) return false
  const { prompt, everyMs, goal, until, protect, maxBudgetUsd, ...amounts } = terms
  return (
    typeof prompt === 'string' &&
    prompt.trim() !== '' &&
    isWithin(everyMs, [0, longestDurationMs]) &&
    (maxBudgetUsd === undefined || isDollars(maxBudgetUsd)) &&
    Object.entries(amounts).every(([name, amount]) => amount === undefined || isWithin(amount, bounds.get(name))) &&
    (goal === undefined || typeof goal === 'string') &&
    [until, protect].every((each) => each === undefined || isStringArray(each))
  )
}

/** The latest time that a Date can represent, in milliseconds since 1970. */
const maxTimestampMs = 8.64e15

/** The same bounds that the flags have. */
const bounds: ReadonlyMap<string, readonly [least: number, most: number]> = new Map<
  keyof LoopTerms,
  readonly [number, number]
>([
  ['rounds', [1, maxRounds]],
  ['forMs', [1, longestDurationMs]],
  ['untilTries', [1, maxGoalTriesAllowed]],
  ['untilTimeout', [1, longestDurationMs]],
  ['untilStable', [1, maxStablePasses]],
])

/** Whether the value is an integer within the range; false without a range. */
function isWithin(value: unknown, range: readonly [least: number, most: number] | undefined): boolean {
  return range !== undefined && Number.isInteger(value) && Number(value) >= range[0] && Number(value) <= range[1]
}

function isDollars(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value > 0
}

function isStringArray(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}
