// Walks every path of every scenario with a kill after every record, and compares the results with packages/explorer/test/golden.json.
// `--most-kills=2000`: of a scenario with more kills, only every n-th one is made; all its paths are walked nevertheless.
// Needs a build. Writes its counts to .tmp/explore.json.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { exploreAll } from './explore-all.mjs'

const summary = new URL('../.tmp/explore.json', import.meta.url)
rmSync(summary, { force: true })
const golden = JSON.parse(readFileSync(new URL('../packages/explorer/test/golden.json', import.meta.url), 'utf8'))
const expected = new Map(golden.map(({ sampledKills: _sampled, ...rest }) => [rest.scenario, rest]))

const maxKills = Number(process.argv.find((each) => each.startsWith('--most-kills='))?.split('=')[1] ?? Infinity)
/** One kill in this many is made in a scenario; 1: all are made. */
const oneInOf = (name) => Math.ceil((expected.get(name)?.kills ?? 0) / maxKills) || 1

const problemOf = (explored) => {
  if (explored.failed !== undefined) return explored.failed
  const held = expected.get(explored.scenario)
  if (held === undefined) return 'is not in golden.json'
  const { kills, scenario } = explored
  const oneIn = oneInOf(scenario)
  if (kills < (held.kills / oneIn) * 0.75) return `made ${kills} kills of ${held.kills}`
  if (isDeepStrictEqual(explored, oneIn > 1 ? { ...held, kills } : held)) return undefined
  return `came out otherwise than in golden.json:\n  ${JSON.stringify(explored)}\n  ${JSON.stringify(held)}`
}

const explored = await exploreAll(
  (name) => (oneInOf(name) > 1 ? { oneIn: oneInOf(name) } : 'all'),
  (name) => {
    const { paths = 1000, kills = 20_000 } = expected.get(name) ?? {}
    // Walking a path takes about as long as three kills.
    return 3 * paths + kills / oneInOf(name)
  },
  (found) => {
    const problem = problemOf(found)
    if (problem === undefined) console.log(`${found.paths} paths, ${found.kills} kills: ${found.scenario}`)
    else console.log(`FAILED ${found.scenario}: ${problem}`)
  },
)
const names = new Set(explored.map(({ scenario }) => scenario))
const lost = [...expected.keys()].filter((name) => !names.has(name))
for (const name of lost) console.log(`FAILED ${name}: is in golden.json and no scenario`)
const failed = explored.filter((found) => problemOf(found) !== undefined).length + lost.length
const passed = explored.length + lost.length - failed
const sum = (name) => explored.reduce((total, found) => total + (found[name] ?? 0), 0)
console.log(`${sum('paths')} paths, ${sum('kills')} kills. ${passed} scenarios passed, ${failed} failed`)
mkdirSync(new URL('.', summary), { recursive: true })
writeFileSync(summary, JSON.stringify({ passed, failed }))
process.exit(failed === 0 ? 0 : 1)
