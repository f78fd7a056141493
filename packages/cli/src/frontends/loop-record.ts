import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import {
  codeOf,
  isJsonObject,
  longestDurationMs,
  messageOf,
  mostGoalTries,
  mostStablePasses,
} from '@halting/core/adapters'
import { type EndedRun, promptIdOf, type StepRecord } from '@halting/core/steps'
import type { SessionPlace } from '@halting/journal'
import { boundedFile, makeDurableFolder, removeWhole, writeWhole } from '@halting/journal/files'
import { maxRounds } from '../flags/values.ts'
import { UsageError } from '../usage-error.ts'
import { type LoopRound, roundOf } from './loop-end.ts'
import { loopFile } from './loop-file.ts'

/** What a loop repeats and what bounds it. */
export interface LoopTerms {
  readonly prompt: string
  /** Milliseconds from the start of a round to that of the next; 0: a round follows a round. */
  readonly everyMs: number
  readonly rounds?: number
  /** Milliseconds for the whole loop. */
  readonly forMs?: number
  /** US dollars of the session. */
  readonly maxBudgetUsd?: number
  /** Its goals, as flags name them. */
  readonly until?: readonly string[]
  readonly goal?: string
  readonly untilTries?: number
  readonly untilTimeout?: number
  readonly untilStable?: number
  readonly protect?: readonly string[]
}

/** A loop as it is on record, in a file of its session. Its rounds are the runs whose prompts have its id. */
export interface StoredLoop {
  readonly id: string
  /** Milliseconds since 1970. */
  readonly startedAtMs: number
  readonly terms: LoopTerms
}

/** What is on record of the rounds of a loop. */
export interface PastRounds {
  readonly rounds: readonly LoopRound[]
  /** The number of the round whose run did not end; undefined where all did. */
  readonly open?: number
  /** When the last round began, in milliseconds since 1970; null where there is none, or it is not on record. */
  readonly lastStartedAtMs: number | null
}

/** What of a session on disk tells which rounds were made. */
export interface RunsOnRecord {
  readonly ended: readonly EndedRun[]
  readonly open: readonly StepRecord[] | undefined
  /** When each run began, in milliseconds since 1970: those that ended, and then the open one. */
  readonly began: readonly (number | null)[]
}

/** The record of the loop of a session. */
export interface LoopStore {
  isThere(): boolean
  /** Undefined where the session has none. @throws UsageError for a file that is damaged. */
  read(): Promise<StoredLoop | undefined>
  /** Its rounds of earlier processes. */
  past(loopId: string): Promise<PastRounds>
  write(loop: StoredLoop): Promise<void>
  remove(): Promise<void>
}

export function newLoopId(): string {
  return randomBytes(4).toString('hex')
}

/** The name under which the prompt of a round is on record. */
export function promptIdOfRound(loopId: string, round: number): string {
  return `loop:${loopId}:${round}`
}

/** The number of the round that this prompt began; undefined for any other prompt. */
function roundOfPrompt(loopId: string, promptId: string | undefined): number | undefined {
  const [, id, round] = /^loop:([^:]+):([1-9]\d*)$/.exec(promptId ?? '') ?? []
  return id === loopId ? Number(round) : undefined
}

/** Which rounds of a loop are on record. A round is counted once, also where its run was interrupted by the death of a process and resumed. */
export function pastRounds(loopId: string, { ended, open, began }: RunsOnRecord): PastRounds {
  const rounds = ended.flatMap(({ promptId, terminal }, index) => {
    const round = roundOfPrompt(loopId, promptId)
    return round === undefined ? [] : [roundOf(round, began[index] ?? null, terminal)]
  })
  const openRound = open === undefined ? undefined : roundOfPrompt(loopId, promptIdOf(open))
  const lastStartedAtMs = openRound === undefined ? (rounds.at(-1)?.startedAtMs ?? null) : (began[ended.length] ?? null)
  return { rounds, ...(openRound !== undefined && { open: openRound }), lastStartedAtMs }
}

/** Whether a loop on record has rounds left to make. */
export function isLoopOpen({ terms, startedAtMs }: StoredLoop, past: PastRounds | undefined, nowMs: number): boolean {
  const last = past?.rounds.at(-1)
  const isOver = past?.open === undefined && last !== undefined
  if (terms.forMs !== undefined && nowMs - startedAtMs >= terms.forMs) return false
  return !isOver || (last.goalMet !== true && (terms.rounds === undefined || last.round < terms.rounds))
}

/** Prompts may be long; a file without end is none of ours. */
const largestBytes = 64 * 1024 * 1024

/** The loop of a session; undefined where it has none. @throws UsageError for a file that is damaged, or that is none. */
export async function readLoop(place: SessionPlace): Promise<StoredLoop | undefined> {
  const path = loopFile(place)
  let stored: unknown
  try {
    stored = JSON.parse(await boundedFile(path, largestBytes))
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined
    if (!(error instanceof SyntaxError))
      throw new UsageError(`Cannot read the loop of this session from ${path}: ${messageOf(error)}.`)
  }
  if (isStored(stored)) return stored
  throw new UsageError(`${path} is not a loop that this version can read. Delete the file and start the loop again.`)
}

/** Puts a loop on record, in place of the one before; on disk when it resolves. */
export async function writeLoop(place: SessionPlace, loop: StoredLoop): Promise<void> {
  const path = loopFile(place)
  await makeDurableFolder(dirname(path))
  await writeWhole(path, `${JSON.stringify(loop)}\n`)
}

/** The session has no loop any more. */
export async function removeLoop(place: SessionPlace): Promise<void> {
  await removeWhole(loopFile(place))
}

function isStored(stored: unknown): stored is StoredLoop {
  if (!isJsonObject(stored) || !isJsonObject(stored['terms'])) return false
  const { id, startedAtMs, terms } = stored
  if (typeof id !== 'string' || !/^[\da-f]+$/.test(id) || !isWithin(startedAtMs, [0, latestMs])) return false
  const { prompt, everyMs, goal, until, protect, maxBudgetUsd, ...amounts } = terms
  return (
    typeof prompt === 'string' &&
    prompt.trim() !== '' &&
    isWithin(everyMs, [0, longestDurationMs]) &&
    (maxBudgetUsd === undefined || isDollars(maxBudgetUsd)) &&
    Object.entries(amounts).every(([name, amount]) => amount === undefined || isWithin(amount, bounds.get(name))) &&
    (goal === undefined || typeof goal === 'string') &&
    [until, protect].every((each) => each === undefined || isTexts(each))
  )
}

/** The last moment that there is, in milliseconds since 1970. */
const latestMs = 8.64e15

/** What the flags take, too. */
const bounds: ReadonlyMap<string, readonly [least: number, most: number]> = new Map<
  keyof LoopTerms,
  readonly [number, number]
>([
  ['rounds', [1, maxRounds]],
  ['forMs', [1, longestDurationMs]],
  ['untilTries', [1, mostGoalTries]],
  ['untilTimeout', [1, longestDurationMs]],
  ['untilStable', [1, mostStablePasses]],
])

/** A whole number within what is given; none is where nothing is. */
function isWithin(value: unknown, given: readonly [least: number, most: number] | undefined): boolean {
  return given !== undefined && Number.isInteger(value) && Number(value) >= given[0] && Number(value) <= given[1]
}

function isDollars(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value > 0
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}
