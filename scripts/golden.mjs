// Explores every scenario and writes what came out to packages/core/test/explorer/golden.json. Run after a change of what the loop does,
// and read the difference: it says which paths end elsewhere. Needs a build (`npm run build`); takes some minutes on two cores.
import { fork } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { explore, scenarios } from '../packages/core/dist/testing/index.js'

const self = fileURLToPath(import.meta.url)

/** A worker explores the scenarios that it is sent, one at a time. */
function work() {
  process.on('message', async (name) => {
    const scenario = scenarios.find((each) => each.name === name)
    const explored = await explore(scenario).catch((error) => ({ failed: String(error) }))
    process.send(explored)
  })
}

/** Hands out the scenarios in order and gathers what comes back. */
async function gather() {
  const explored = new Map()
  const waiting = scenarios.map(({ name }) => name)
  const worker = () =>
    new Promise((resolve, reject) => {
      const child = fork(self, ['work'])
      const next = () => {
        const name = waiting.shift()
        if (name === undefined) {
          child.kill()
          resolve()
          return
        }
        child.once('message', (found) => {
          if (found.failed !== undefined) {
            child.kill()
            reject(new Error(found.failed))
            return
          }
          console.log(`${found.paths} paths, ${found.kills} kills: ${name}`)
          explored.set(name, found)
          next()
        })
        child.send(name)
      }
      next()
    })
  await Promise.all(Array.from({ length: availableParallelism() }, worker))
  const golden = scenarios.map(({ name }) => explored.get(name))
  const path = new URL('../packages/core/test/explorer/golden.json', import.meta.url)
  writeFileSync(path, `${JSON.stringify(golden, null, 1)}\n`)
}

if (process.argv[2] === 'work') work()
else await gather()
