/** An attempt at the work of a session, as it is stored before the work begins. JSON. */
export type AttemptRecord = {
  readonly attempt: string
  /** The process that makes it, by an id of its start. */
  readonly process: string
  /** Where the engine reaches that process; null where it did not say. */
  readonly worker: string | null
  readonly atMs: number
}

/** A process that ended while it worked at the session. */
export type Death = AttemptRecord & {
  /** Laps of the session on record when that was found. */
  readonly laps: number
}

/** What is known of the attempts at one turn of work of a session. JSON. */
export interface Attempts {
  /** The number of its first request. */
  readonly turn: number
  /** Works at the session as far as anybody knows; null for nobody, absent while nobody has asked: then that is in the records of the work. */
  readonly atWork?: AttemptAtWork | null
  /** Ids of attempts whose process let go of the session in order, the newest last. */
  readonly excused: readonly string[]
  /** Without progress in between, the oldest first. */
  readonly deaths: readonly Death[]
  /** How often a process ended while a session that had to be alone was no longer so. */
  readonly undecided?: number
}

type AttemptAtWork = AttemptRecord & {
  /** It had to be alone for a time, and is so no more. */
  readonly isAccompanied?: true
}

/** An attempt wants to begin. */
export type BeginAttempt = {
  readonly turn: number
  readonly attempt: AttemptRecord
  /** Laps of the session on record. */
  readonly laps: number
  /** On record nothing goes on: a process that ended then worked at nothing. */
  readonly isAtRest: boolean
  /** The first attempt of the turn, as its records tell it; null where they do not. */
  readonly first: AttemptRecord | null
  /** Nothing else is at work in its process. */
  readonly isAlone: boolean
}

/** What an attempt that wants to begin is told. */
export type AttemptVerdict =
  | {
      readonly type: 'go'
      readonly deaths: readonly Death[]
      /** One that has to be alone is so for this time, or until it made progress. */
      readonly aloneMs: number
    }
  /** It may begin where nothing else is at work, and is not stored yet. */
  | { readonly type: 'alone'; readonly deaths: readonly Death[] }
  | { readonly type: 'set_aside'; readonly deaths: readonly Death[] }

/** So many deaths without progress set a session aside. */
export const maxDeaths = 3
/**
 * So many laps since a death are progress. One is none: what was under way is unknown after a death, and a model that is told so may begin it once more, perhaps after it has
 * looked around.
 */
export const iterationsOfProgress = 3
const maxExcused = 100
const firstAloneMs = 60_000
const maxAloneMs = 3_600_000

export const noAttempts: Attempts = Object.freeze({ turn: 0, excused: [], deaths: [] })

/** Of an earlier turn nothing counts: that one is over. */
function atTurn(attempts: Attempts, turn: number): Attempts {
  return turn > attempts.turn ? { ...noAttempts, turn } : attempts
}

/**
 * An attempt begins. D1: one that finds another process's attempt that nobody excused, and that did not rest, has found a death. D2: laps of progress since the last death take all
 * of them back. D3: with one death less than sets it aside, a session begins only where nothing else is at work in its process, and its death there is its own doing. After a time
 * others may come in: then a death decides nothing, and the next time is twice as long.
 */
export function beginAttempt(
  before: Attempts,
  request: BeginAttempt,
): { readonly attempts: Attempts; readonly begun: AttemptVerdict } {
  const { turn, attempt, isAlone } = request
  const known = recordDeath(atTurn(before, turn), request)
  const { deaths, undecided = 0 } = known
  const waits = { ...known, atWork: null }
  if (deaths.length >= maxDeaths) return { attempts: waits, begun: { type: 'set_aside', deaths } }
  const isSuspect = deaths.length === maxDeaths - 1
  if (isSuspect && !isAlone) return { attempts: waits, begun: { type: 'alone', deaths } }
  const aloneMs = Math.min(maxAloneMs, firstAloneMs * 2 ** undecided)
  return { attempts: { ...known, atWork: attempt }, begun: { type: 'go', deaths, aloneMs } }
}

function recordDeath(known: Attempts, request: BeginAttempt): Attempts {
  const { laps } = request
  const remaining = hasProgressed(known.deaths, laps) ? [] : known.deaths
  const found = detectDeath(known, request)
  if (found === undefined) return { ...known, deaths: remaining }
  const { isAccompanied, ...attempt } = found
  if (isAccompanied === true && remaining.length === maxDeaths - 1)
    return { ...known, deaths: remaining, undecided: (known.undecided ?? 0) + 1 }
  return { ...known, deaths: [...remaining, { ...attempt, laps }] }
}

function detectDeath({ atWork, excused, deaths }: Attempts, request: BeginAttempt): AttemptAtWork | undefined {
  const before = atWork === undefined ? request.first : atWork
  if (before === null || before.process === request.attempt.process || request.isAtRest) return undefined
  const { attempt } = before
  return excused.includes(attempt) || deaths.some((death) => death.attempt === attempt) ? undefined : before
}

function hasProgressed(deaths: readonly Death[], laps: number): boolean {
  const last = deaths.at(-1)
  return last !== undefined && laps - last.laps >= iterationsOfProgress
}

/** The process of an attempt lives, and lets go of the session in order. What was taken for its death is none. */
export function excuseAttempt(before: Attempts, turn: number, attempt: string): Attempts {
  if (turn < before.turn) return before
  const known = atTurn(before, turn)
  const { atWork } = known
  return {
    ...known,
    ...(atWork?.attempt === attempt && { atWork: null }),
    excused: [...known.excused.filter((id) => id !== attempt), attempt].slice(-maxExcused),
    deaths: known.deaths.filter((death) => death.attempt !== attempt),
  }
}

/** The attempt that is at work has made progress: no death counts any more. */
export function confirmProgress(before: Attempts, attempt: string): Attempts {
  return before.atWork?.attempt === attempt ? { ...before, deaths: [], undecided: 0 } : before
}

/** The attempt was alone for its time: from here on others are at work beside it. */
export function accompanyAttempt(before: Attempts, attempt: string): Attempts {
  const { atWork } = before
  return atWork?.attempt === attempt ? { ...before, atWork: { ...atWork, isAccompanied: true } } : before
}

/** A person wants the session to be tried again: no death counts any more. */
export function releaseAttempts(before: Attempts): Attempts {
  return { ...before, atWork: null, deaths: [], undecided: 0 }
}
