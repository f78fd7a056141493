// Reports of the places of all workers behind one address, so that no worker has a queue for long while another one has room.

/** The report of one worker process. */
export interface PlacesReport {
  /** Id of the process. */
  readonly worker: string
  /** Places without a session. */
  readonly free: number
  /** Sessions that wait for a place. */
  readonly waiting: number
}

/** The last reports of all workers, by their ids. JSON. */
export interface KnownPlaces {
  readonly [worker: string]: Omit<PlacesReport, 'worker'> & { readonly atMs: number }
}

/** The totals of the other workers. */
export interface OtherPlaces {
  readonly workers: number
  readonly free: number
  readonly waiting: number
}

/** A worker that has not reported for this long is gone. It is a multiple of the longest interval between reports (`reportEveryMs`). */
const goneAfterMs = 30_000
/** Maximum number of known workers; the workers that have been silent for longest are removed. */
const maxKnown = 1_000
/** A worker reports at least this often. */
export const reportEveryMs = 10_000

/** Records a report. F1: a worker that is gone has no places. F2: time never decreases, whichever clock reports it. */
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
 * How many of its waiting sessions a worker gives away while others have free places: its share of these places, or its
 * excess over the mean length of all queues. Sessions may be shorter than the interval between reports, so an idle
 * worker can use more sessions than it has places.
 */
export function sessionsToGiveAway(own: Omit<PlacesReport, 'worker'>, others: OtherPlaces): number {
  if (own.free > 0 || own.waiting === 0 || others.free === 0) return 0
  const all = own.waiting + others.waiting
  const part = Math.ceil((others.free * own.waiting) / all)
  const excess = Math.floor(own.waiting - all / (others.workers + 1))
  return Math.min(own.waiting, Math.max(part, excess))
}
