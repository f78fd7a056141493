import { readFileSync } from 'node:fs'
import { explore, type Exploration } from '../src/explore.ts'
import { scenarios } from '../src/scenarios.ts'
import type { Scenario } from '../src/world.ts'
import { describe, expect, test } from 'vitest'

// Every scenario is explored, with kills after a sample of the records; of large scenarios some paths are drawn. `npm run explore` goes all
// paths with all kills. What came out of a whole scenario is held against `golden.json`: how many paths
// there were and where they ended. A change there is a change of what the loop does.
// `node scripts/golden.mjs` writes it anew.

export const golden = JSON.parse(
  readFileSync(new URL('golden.json', import.meta.url), 'utf8'),
) as readonly (Exploration & {
  readonly sampledKills: number
})[]

/** So many paths of a large scenario. */
const somePaths = 4
/** A path with more kills than these is too long to be killed for somebody who waits. */
const mostKillsOnPath = 300

const goldenOf = (name: string) => golden.find(({ scenario }) => scenario === name)

/** Scenarios of one share, so that shares take about as long as each other and can run side by side. */
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
  describe('on every path: one terminal, a valid transcript that was told, a falling ranking, a ledger above zero, and the same after a kill', () => {
    test.each(scenariosOf(share, shares))('$name', { timeout: 900_000 }, async (scenario) => {
      const { sampledKills, ...golden } = goldenOf(scenario.name) ?? { sampledKills: 0, paths: 0, kills: 0 }
      const isDrawn = golden.paths > 2 * somePaths
      const isLong = golden.kills > mostKillsOnPath * golden.paths
      const kills = isLong ? 0 : sampledKills
      const explored = await explore(scenario, {
        kills: isLong ? 'none' : 'sampled',
        ...(isDrawn && { mostPaths: somePaths }),
      })
      console.log(`${explored.paths} paths, ${explored.kills} kills: ${scenario.name}`)
      // Of what was drawn it is known that all its checks passed; now and then nothing new is found.
      expect(explored.paths).toBeGreaterThanOrEqual(isDrawn ? somePaths / 2 : golden.paths)
      expect(explored).toEqual(isDrawn ? explored : { ...golden, kills })
    })
  })
}
