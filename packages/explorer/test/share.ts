import { readFileSync } from 'node:fs'
import { explore, type Exploration } from '../src/explore.ts'
import { scenarios } from '../src/scenarios.ts'
import type { Scenario } from '../src/world.ts'
import { describe, expect, test } from 'vitest'

// Explores every scenario, with kills after a sample of the records. Of large scenarios it draws some paths. `npm run explore` walks all paths with all kills. The results of a
// whole scenario are compared with `golden.json`: the number of paths and their endings. A change there is a change of what the loop does. `node scripts/golden.mjs` rewrites the
// file.

export const golden = JSON.parse(
  readFileSync(new URL('golden.json', import.meta.url), 'utf8'),
) as readonly (Exploration & {
  readonly sampledKills: number
})[]

/** Number of paths drawn from a large scenario. */
const somePaths = 4
/** A path with more kills than this takes too long for an interactive test run. */
const maxKillsOnPath = 300

const goldenOf = (name: string) => golden.find(({ scenario }) => scenario === name)

/** The scenarios of one share. Shares take about the same time and can run in parallel. */
function scenariosOf(share: number, shares: number): readonly Scenario[] {
  const weight = ({ name }: Scenario): number => (goldenOf(name)?.paths ?? 0) + (goldenOf(name)?.sampledKills ?? 0)
  const loads = Array.from({ length: shares }, () => ({ weight: 0, scenarios: [] as Scenario[] }))
  for (const scenario of scenarios.toSorted((a, b) => weight(b) - weight(a))) {
    const lightest = loads.reduce((least, load) => (load.weight < least.weight ? load : least))
    lightest.weight += weight(scenario)
    lightest.scenarios.push(scenario)
  }
  return loads[share]?.scenarios ?? []
}

export function exploreShare(share: number, shares: number): void {
  describe('every path has one ending, an emitted valid transcript, a falling ranking, a ledger above zero, and the same result after a kill', () => {
    test.each(scenariosOf(share, shares))('$name', { timeout: 900_000 }, async (scenario) => {
      const { sampledKills, ...golden } = goldenOf(scenario.name) ?? { sampledKills: 0, paths: 0, kills: 0 }
      const isDrawn = golden.paths > 2 * somePaths
      const isLong = golden.kills > maxKillsOnPath * golden.paths
      const kills = isLong ? 0 : sampledKills
      const explored = await explore(scenario, {
        kills: isLong ? 'none' : 'sampled',
        ...(isDrawn && { maxPaths: somePaths }),
      })
      console.log(`${explored.paths} paths, ${explored.kills} kills: ${scenario.name}`)
      // All checks passed for the drawn paths. Sometimes a draw finds no new path.
      expect(explored.paths).toBeGreaterThanOrEqual(isDrawn ? somePaths / 2 : golden.paths)
      expect(explored).toEqual(isDrawn ? explored : { ...golden, kills })
    })
  })
}
