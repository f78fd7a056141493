// What the workers behind one address report of their places, so that none has a queue for long while another one has room.

/** What one worker process reports. */
export interface PlacesReport {
  /** Names the process, once and for all. */
  readonly worker: string
  /** Places that no session has. */
  readonly free: number
  /** Sessions that wait for one. */
  readonly waiting: number
}

/** What is known of all workers, by their names. JSON. */
export interface KnownPlaces {
  readonly [worker: string]: Omit<PlacesReport, 'worker'> & { readonly atMs: number }
}

/** What the others have in all. */
export interface OtherPlaces {
  readonly workers: number
  readonly free: number
  readonly waiting: number
}

/** A worker that has reported nothing for so long is gone. It is some times the longest silence of one that is there (`reportEveryMs`). */
const goneAfterMs = 30_000
/** So many are known at once; those that have been silent for longest are not. */
const maxKnown = 1_000
/** A worker reports at least so often. */
export const reportEveryMs = 10_000

/** F1: a worker that is gone has no places. F2: time goes on, never back, whoever's clock it is. */
export function recordReport(
  before: KnownPlaces,
  nowMs: number,
  { worker, free, waiting }: PlacesReport,
): { readonly known: KnownPlaces; readonly others: OtherPlaces } {
  const latestMs = Math.max(nowMs, ...Object.values(before).map(({ atMs }) => atMs))
  const others = Object.entries(before)
    .filter(([name, { atMs }]) => name !== worker && atMs >= latestMs - goneAfterMs)
    .toSorted(([, one], [, other]) => one.atMs - other.atMs)
    .slice(1 - maxKnown)
  const sum = (what: 'free' | 'waiting'): number => others.reduce((all, [, one]) => all + one[what], 0)
  return {
    known: { ...Object.fromEntries(others), [worker]: { free, waiting, atMs: latestMs } },
    others: { workers: others.length, free: sum('free'), waiting: sum('waiting') },
  }
}

/**
 * How many of its waiting sessions a worker gives away while others have free places: its part of these places, or what it has more than the mean of all queues. Sessions may be
 * shorter than the time between two reports, so a worker that comes needs more of them than it has places.
 */
export function sessionsToGiveAway(own: Omit<PlacesReport, 'worker'>, others: OtherPlaces): number {
  if (own.free > 0 || own.waiting === 0 || others.free === 0) return 0
  const all = own.waiting + others.waiting
  const part = Math.ceil((others.free * own.waiting) / all)
  const excess = Math.floor(own.waiting - all / (others.workers + 1))
  return Math.min(own.waiting, Math.max(part, excess))
}
