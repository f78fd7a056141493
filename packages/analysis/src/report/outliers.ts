import type { Outlier, SessionSpent } from './report-model.ts'

/** Of fewer sessions nothing is unusual. */
const fewest = 8
const most = 10

/** The first in which a session stands out is told of it. */
const figures = ['costUsd', 'activeMs', 'turns', 'tokens'] as const

/**
 * Sessions far above the others in what they cost, or took: above the third quartile by more than three times the distance of the quartiles, and by
 * half of it at least. The furthest first.
 */
export function outliersOf(sessions: readonly SessionSpent[]): readonly Outlier[] {
  if (sessions.length < fewest) return []
  const told = new Set<SessionSpent>()
  const found = figures.flatMap((what) => {
    const values = sessions.map((session) => session[what]).toSorted((a, b) => a - b)
    const at = (share: number): number => values[Math.floor((values.length - 1) * share)] ?? 0
    const [first, median, third] = [at(0.25), at(0.5), at(0.75)]
    const bound = Math.max(third + 3 * (third - first), third * 1.5)
    return sessions.flatMap((session) => {
      const value = session[what]
      if (value <= bound || told.has(session)) return []
      told.add(session)
      return [{ session: session.session, what, value, median, times: value / (median || third || 1) }]
    })
  })
  return found
    .toSorted((a, b) => b.times - a.times)
    .slice(0, most)
    .map(({ session, what, value, median }) => ({ session, what, value, median }))
}
