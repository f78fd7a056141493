// Holds R-CALIB-6 of docs/spec: limits account for reservations before requests, as the program does, and stop the runs that what-if names.
import { describe, expect, test } from 'vitest'
import type { CalibratedFigure, CalibratedGroup } from '../../src/calibration/calibrated-limit.ts'
import { calibrateTrajectories, type GradedTrajectory } from '../../src/calibration/calibrate-trajectories.ts'
import { calibrateLimits } from '../../src/calibration/calibrate-limits.ts'
import { trajectoryOf } from '../../src/what-if/trajectory.ts'
import { whatIf } from '../../src/what-if/what-if.ts'
import { liveRun, worldOf } from '../support/what-if-world.ts'

const limitNames = { usd: 'maxRunUsd', tokens: 'maxTotalTokens', activeMs: 'maxDurationMs', turns: 'maxTurns' } as const

async function runsOf(count: number): Promise<readonly GradedTrajectory[]> {
  const runs: GradedTrajectory[] = []
  for (let seed = 0; seed < count; seed++) {
    const { terminal, records } = await liveRun(worldOf(seed)())
    const use = {
      usd: terminal.costUsd,
      tokens: terminal.totalTokens,
      activeMs: terminal.durationMs,
      turns: terminal.summary.turns,
    }
    const grade = { isGood: seed % 3 !== 0, by: 'goal' } as const
    const trajectory = trajectoryOf(records)
    runs.push({ sessionId: String(seed), model: 'm', repository: '/r', use, grade, trajectory, unpriced: [] })
  }
  return runs
}

const runs = await runsOf(90)

describe('calibration on live runs', () => {
  test('sets a limit that stops the solved runs that what-if names, and no more than allowed', () => {
    const [group] = calibrateTrajectories(runs, { mayLose: 0.05 }).groups
    const solved = runs.filter(({ grade }) => grade?.isGood === true)
    const figures = Object.keys(limitNames) as readonly CalibratedFigure[]
    const counted = figures.map((figure) => {
      const limit = limitIn(group, figure)
      const answers = (of: readonly GradedTrajectory[]) =>
        of.map(({ trajectory }) => whatIf(trajectory, { [limitNames[figure]]: limit.limit }))
      const lost = answers(solved).filter(({ verdict }) => verdict !== 'same').length
      const stopped = answers(runs.filter((run) => !solved.includes(run))).filter(({ verdict }) => verdict === 'stops')
      expect(limit.lost).toMatchObject({ runs: lost, of: 60 })
      expect(limit.lost.runs).toBeLessThanOrEqual(limit.solved - limit.rank)
      expect(limit.stops).toBe(stopped.length)
      return stopped.length
    })
    expect(Math.max(...counted)).toBeGreaterThan(0)
    expect(group?.together?.lost.runs).toBeGreaterThanOrEqual(
      Math.max(...figures.map((each) => limitIn(group, each).lost.runs)),
    )
    // Sums alone would give limits without room for the reservations of requests.
    const [bySums] = calibrateLimits(runs, { mayLose: 0.05 }).groups
    expect(limitIn(group, 'tokens').quantile).toBeGreaterThanOrEqual(limitIn(bySums, 'tokens').quantile)
  })

  test('combines limits so that they save in every figure and stop what any of them stops', () => {
    const [group] = calibrateTrajectories(runs, { mayLose: 0.1 }).groups
    const { together } = group ?? {}
    expect(together?.stops).toBeGreaterThan(0)
    expect(together?.saved.tokens.amount).toBeGreaterThan(0)
    expect(together?.saved.usd.amount).toBeGreaterThan(0)
    expect(together?.saved.tokens.share).toBeLessThan(1)
  })
})

function limitIn(group: CalibratedGroup | undefined, figure: CalibratedFigure) {
  const limit = group?.limits[figure]
  if (limit?.kind !== 'limit') throw new Error(`no limit on ${figure}`)
  return limit
}
