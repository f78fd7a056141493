// Explores every scenario anew and writes the results to packages/explorer/test/golden.json. Run it after a change to the behavior of the loop,
// and read the difference: it shows which paths end differently. Needs a build (`npm run build`); takes some minutes on two cores.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { exploreAll } from './explore-all.mjs'

const path = new URL('../packages/explorer/test/golden.json', import.meta.url)
const before = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : []
const weightOf = (name) => before.find(({ scenario }) => scenario === name)?.kills ?? 20_000

const whole = await exploreAll('all', weightOf, ({ scenario, paths, kills, failed }) =>
  console.log(failed ?? `${paths} paths, ${kills} kills: ${scenario}`),
)
const sampled = await exploreAll('sampled', weightOf)
const failures = [...whole, ...sampled].filter(({ failed }) => failed !== undefined)
if (failures.length > 0) {
  console.log('A promise is broken: nothing was written.')
  process.exit(1)
}
const golden = whole.map(({ scenario, paths, kills, terminals, transitions }, index) => ({
  scenario,
  paths,
  kills,
  sampledKills: sampled[index].kills,
  terminals,
  transitions,
}))
writeFileSync(path, `${JSON.stringify(golden, null, 1)}\n`)
