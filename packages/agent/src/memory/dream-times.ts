import { join } from 'node:path'
import { isJsonObject } from '@halting/core/adapters'
import { boundedBytes } from '@halting/policy/files'
import { writeWhole } from '@halting/journal/files'
import { storedSessions } from '@halting/journal'
import type { MemoryOwner, MemoryPlace } from './places.ts'
import { rootOf } from './read-memory.ts'

/** Minimum number of sessions, and minimum time, between two dreams. */
const sessionsBetween = 5
const hoursBetween = 24

const timesName = '.dream-times.json'

/** When notes were last consolidated, and when a consolidation was last attempted. */
interface DreamTimes {
  /** The time of the first note if there was no dream yet. */
  readonly since: Date
  readonly tried: Date
}

// Spec R-DREAM-1.
/** Whether enough was stored since the last dream. The first call starts the count. */
export async function isDreamDue(place: MemoryPlace, owner: MemoryOwner, now: Date): Promise<boolean> {
  const times = await readTimes(place)
  // A time in the future was written with another clock.
  if (times === undefined || times.since > now || times.tried > now) {
    await writeTimes(place, { since: now, tried: now })
    return false
  }
  const hours = (now.getTime() - Math.max(times.since.getTime(), times.tried.getTime())) / 3_600_000
  if (hours < hoursBetween) return false
  const sessions = await storedSessions(owner, 'of this folder')
  return sessions.filter(({ changedAt }) => changedAt > times.since).length >= sessionsBetween
}

/** Records a dream or an attempt. A failed dream is not retried before the next one is due. */
export async function recordDream(place: MemoryPlace, how: 'tried' | 'done', now: Date): Promise<void> {
  const since = how === 'done' ? now : ((await readTimes(place))?.since ?? now)
  await writeTimes(place, { since, tried: now })
}

async function readTimes({ folder }: MemoryPlace): Promise<DreamTimes | undefined> {
  const read = await boundedBytes(join(rootOf(folder), timesName), 1_000)
  if (read.kind !== 'bytes') return undefined
  try {
    const times: unknown = JSON.parse(read.bytes.toString('utf8'))
    if (!isJsonObject(times)) return undefined
    const { since: done, tried: last } = times
    if (typeof done !== 'string' || typeof last !== 'string') return undefined
    const [since, tried] = [new Date(done), new Date(last)]
    return Number.isNaN(since.getTime() + tried.getTime()) ? undefined : { since, tried }
  } catch {
    return undefined
  }
}

async function writeTimes({ folder }: MemoryPlace, { since, tried }: DreamTimes): Promise<void> {
  const text = JSON.stringify({ since: since.toISOString(), tried: tried.toISOString() })
  await writeWhole(join(rootOf(folder), timesName), text)
}
