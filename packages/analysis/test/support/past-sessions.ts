import * as fc from 'fast-check'
import type { PastSession } from '../../src/sessions/read-session.ts'
import type { ManySessions } from '../../src/sessions/session-files.ts'
import type { PastPayment, PastTurn, Trajectory } from '../../src/what-if/trajectory.ts'
import { unknownLimits } from '../../src/account/limits.ts'

/** A request of a run, in hours since its start and whole dollars. */
export interface PastRequest {
  readonly atHours: number
  readonly usd: number
  /** With the shortest useful reply, 10 tokens, and with the longest one, 100. The actual cost when absent. */
  readonly leastUsd?: number
  readonly mostUsd?: number
  readonly minutes?: number
  readonly model?: string
  readonly of?: PastPayment['of']
  readonly outputTokens?: number
  readonly isAtWorst?: boolean
  readonly hasBounds?: boolean
}

const nanos = (usd: number): number => Math.round(usd * 1e9)

function paymentOf({
  atHours,
  usd,
  leastUsd,
  mostUsd = usd,
  minutes = 1,
  model = 'm',
  of = 'run',
  ...more
}: PastRequest): PastPayment {
  const { outputTokens = 100, isAtWorst = false, hasBounds = true } = more
  const beganMs = atHours * 3_600_000
  const least = { tokens: 10, nanos: nanos(leastUsd ?? mostUsd) }
  const bounds = { least, most: { tokens: 100, nanos: nanos(mostUsd) }, usefulTokens: 10, capTokens: 100 }
  return {
    model,
    beganMs,
    endMs: beganMs + minutes * 60_000,
    tokens: 10,
    nanos: nanos(usd),
    isAtWorst,
    of,
    outputTokens,
    bounds: hasBounds ? bounds : null,
  }
}

/** A run with one request per turn, each calling a tool that writes. It completed with an answer. */
function pastRun(requests: readonly PastRequest[]): Trajectory {
  const turns = requests.map((each, index): PastTurn => {
    const payment = paymentOf(each)
    const isLast = index === requests.length - 1
    return {
      countsAsTurn: true,
      isTold: true,
      payments: [payment],
      calls: isLast ? [] : [{ tool: 'Edit', input: {}, hasRun: true, endMs: payment.endMs }],
      endMs: payment.endMs,
      hash: null,
      isFreshAfter: false,
      agentTurns: 0,
    }
  })
  return {
    turns,
    ending: { reason: 'completed', limit: null, hasAnswer: true },
    limits: unknownLimits,
    carried: { turns: 0, tokens: 0, nanos: 0, ms: 0 },
  }
}

/** A session of one run that began at this time. */
export function pastSession(
  sessionId: string,
  began: number | null,
  requests: readonly PastRequest[],
  unpriced: readonly string[] = [],
): PastSession {
  const clock = began === null ? [] : [[0, began] as const]
  const runs = [{ trajectory: pastRun(requests), unpriced, isCopy: false, clock }]
  return { sessionId, cwd: '', runs, outcomes: [] }
}

export function manyPast(sessions: readonly PastSession[]): ManySessions<PastSession> {
  const byName = new Map(sessions.map((session) => [session.sessionId, session]))
  return { names: [...byName.keys()], read: (name) => Promise.resolve(byName.get(name) as PastSession) }
}

const drawnRequest = fc
  .record({
    atHours: fc.integer({ min: 0, max: 60 }),
    leastUsd: fc.integer({ min: 1, max: 5 }),
    more: fc.integer({ min: 0, max: 4 }),
    minutes: fc.integer({ min: 1, max: 90 }),
    model: fc.constantFrom('claude-opus-5', 'claude-haiku-5'),
    outputTokens: fc.integer({ min: 10, max: 100 }),
    isAtWorst: fc.boolean(),
    of: fc.constantFrom('run' as const, 'run' as const, 'run' as const, 'part' as const),
  })
  .map(({ more, ...each }): PastRequest => {
    const mostUsd = each.leastUsd + more
    // Each reply token costs the same, and unreported usage is charged at worst case.
    const usd = each.isAtWorst ? mostUsd : each.leastUsd + ((each.outputTokens - 10) * more) / 90
    return { ...each, mostUsd, usd }
  })

const drawnSession = fc.record({
  hour: fc.integer({ min: 0, max: 48 }),
  asked: fc.array(drawnRequest, { minLength: 1, maxLength: 8 }),
})

/** Sessions of a few days, with requests that overlap. */
export const drawnSessions: fc.Arbitrary<readonly PastSession[]> = fc
  .array(drawnSession, { minLength: 1, maxLength: 5 })
  .map((sessions) =>
    sessions.map(({ hour, asked }, index) => {
      const requests = asked.toSorted((a, b) => a.atHours - b.atHours)
      return pastSession(`session${index}`, Date.UTC(2026, 10, 20, hour), requests)
    }),
  )
