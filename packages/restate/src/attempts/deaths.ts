/** An attempt to work at a session, as stored before its work begins. JSON. */
export type AttemptRecord = {
  readonly attempt: string
  /** Id of the process that runs it, new at each start. */
  readonly process: string
  /** Address at which the engine reaches that process; null if unknown. */
  readonly worker: string | null
  readonly atMs: number
}

/** A process that died while it worked at the session. */
export type Death = AttemptRecord & {
  /** Number of iterations of the session on record when the death was detected. */
  readonly laps: number
}

/** What is known about the attempts at one turn of a session's work. JSON. */
export interface Attempts {
  /** Number of the first request of the turn. */
  readonly turn: number
  /**
   * The attempt that is believed to be at work; null for none. Absent until an attempt has requested to begin; until
   * then it follows from the records of the run.
   */
  readonly atWork?: AttemptAtWork | null
  /** Ids of attempts whose process released the session in order, the newest last. */
  readonly excused: readonly string[]
  /** Deaths without progress in between, the oldest first. */
  readonly deaths: readonly Death[]
  /** How often a process died after other sessions had joined a session that had to be alone. */
  readonly undecided?: number
}

type AttemptAtWork = AttemptRecord & {
  /** Whether the session had to be alone for a time and other sessions have joined since. */
  readonly isAccompanied?: true
}

/** A request to begin an attempt. */
export type BeginAttempt = {
  readonly turn: number
  readonly attempt: AttemptRecord
  /** Number of iterations of the session on record. */
  readonly laps: number
  /** Whether the records show that the session rests, so that a process that died then was not working at it. */
  readonly isAtRest: boolean
  /** The first attempt of the turn according to its records; null if they do not contain it. */
  readonly first: AttemptRecord | null
  /** Whether no other session is at work in its process. */
  readonly isAlone: boolean
}

/** The answer to an attempt that wants to begin. */
export type AttemptVerdict =
  | {
      readonly type: 'go'
      readonly deaths: readonly Death[]
      /** How long a session that must be alone stays alone, unless it makes progress before, in milliseconds. */
      readonly aloneMs: number
    }
  /** The attempt may begin once no other session is at work in its process. The attempt is not stored yet. */
  | { readonly type: 'alone'; readonly deaths: readonly Death[] }
  | { readonly type: 'set_aside'; readonly deaths: readonly Death[] }

/** Number of deaths without progress that set a session aside. */
export const maxDeaths = 3
/**
 * Number of iterations after a death that count as progress. One is not enough: after a death the outcome of open calls is unknown, and a model that learns this may start the
 * same call again.
 */
export const iterationsOfProgress = 3
const maxExcused = 100
const firstAloneMs = 60_000
const maxAloneMs = 3_600_000

export const noAttempts: Attempts = Object.freeze({ turn: 0, excused: [], deaths: [] })

/** Attempts of an earlier turn no longer count. */
function atTurn(attempts: Attempts, turn: number): Attempts {
  return turn > attempts.turn ? { ...noAttempts, turn } : attempts
}

/**
 * Decides whether an attempt may begin.
 * D1: if another process's attempt was neither excused nor at rest, that process has died.
 * D2: progress since the last death clears all deaths.
 * D3: one death short of the limit, a session begins only if it is alone in its process, so that its next death is its own fault. After a time other sessions may join; then a
 * death decides nothing, and the next time alone is twice as long.
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

/** Excuses an attempt whose process is alive and releases the session in order. Removes a death that was attributed to the attempt. */
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

/** Records that the running attempt has made progress, so that earlier deaths no longer count. */
export function confirmProgress(before: Attempts, attempt: string): Attempts {
  return before.atWork?.attempt === attempt ? { ...before, deaths: [], undecided: 0 } : before
}

/** Records that the attempt has been alone for its time, so that other sessions may now join it. */
export function accompanyAttempt(before: Attempts, attempt: string): Attempts {
  const { atWork } = before
  return atWork?.attempt === attempt ? { ...before, atWork: { ...atWork, isAccompanied: true } } : before
}

/** Records that a person wants the session to be retried, so that earlier deaths no longer count. */
export function releaseAttempts(before: Attempts): Attempts {
  return { ...before, atWork: null, deaths: [], undecided: 0 }
}
