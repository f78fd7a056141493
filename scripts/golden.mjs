// Explores every scenario and writes what came out to packages/core/test/explorer/golden.json. Run after a change of what the loop does,
// and read the difference: it says which paths end elsewhere. Needs a build (`npm run build`).
import { writeFileSync } from 'node:fs'
import { explore, scenarios } from '../packages/core/dist/testing/index.js'

const golden = []
for (const scenario of scenarios) {
  const explored = await explore(scenario)
  console.log(`${explored.paths} paths, ${explored.kills} kills: ${scenario.name}`)
  golden.push(explored)
}
writeFileSync(
  new URL('../packages/core/test/explorer/golden.json', import.meta.url),
  `${JSON.stringify(golden, null, 1)}\n`,
)
