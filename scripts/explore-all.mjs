// Walks every path of every scenario, with the kills that are requested, on all cores. A scenario with many kills is explored in parts, so that no
// core waits for another. Needs a build.
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { explore, scenarios } from '../packages/explorer/dist/index.js'

const self = fileURLToPath(import.meta.url)
const work = 'explore'

/** A part has about this many kills, or takes as long. Each part also walks the paths of the others, without kills: too many parts cost more than they save. */
const weightOfPart = 20_000

/**
 *
 * @param kills `all` or `sampled`, or a function that returns for the name of a scenario which kills to make: `all` or `{ oneIn }`.
 * @param weightOf How long a scenario is expected to take, in kills.
 * @param tell Called with the exploration of each finished scenario.
 * @returns The explorations in the order of the scenarios. An exploration that broke a promise is `{ scenario, failed }`.
 */
export async function exploreAll(kills, weightOf, tell = () => {}) {
  const waiting = scenarios.flatMap(({ name }) => {
    const which = typeof kills === 'function' ? kills(name) : kills
    // A sample depends on the paths before it, so it is not divided.
    const of = which === 'sampled' ? 1 : Math.max(1, Math.ceil(weightOf(name) / weightOfPart))
    return Array.from({ length: of }, (_, number) => ({ name, kills: which, part: { number, of } }))
  })
  // Large parts first, so that only small ones are left at the end.
  waiting.sort((a, b) => weightOf(b.name) / b.part.of - weightOf(a.name) / a.part.of)
  const found = new Map(scenarios.map(({ name }) => [name, []]))
  const gather = (part, explored) => {
    const parts = found.get(part.name)
    parts.push(explored)
    if (parts.length === part.part.of) tell(together(parts))
  }
  await Promise.all(Array.from({ length: availableParallelism() }, () => worker(waiting, gather)))
  return scenarios.map(({ name }) => together(found.get(name)))
}

/** A process that explores one part after another until none is left. */
function worker(waiting, gather) {
  return new Promise((resolve, reject) => {
    const child = fork(self, [work])
    let part
    const next = () => {
      part = waiting.shift()
      if (part === undefined) child.disconnect()
      else child.send(part)
    }
    child.on('message', (explored) => {
      gather(part, explored)
      next()
    })
    child.on('error', reject)
    child.on('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`A process that explored ended with ${code}.`)),
    )
    next()
  })
}

function together(parts) {
  const failed = parts.find((part) => part.failed !== undefined)
  if (failed !== undefined) return failed
  return parts.reduce((sum, part) => ({
    scenario: sum.scenario,
    paths: sum.paths + part.paths,
    kills: sum.kills + part.kills,
    terminals: added(sum.terminals, part.terminals),
    transitions: added(sum.transitions, part.transitions),
  }))
}

function added(a, b) {
  const sum = { ...a }
  for (const [name, count] of Object.entries(b)) sum[name] = (sum[name] ?? 0) + count
  return Object.fromEntries(Object.entries(sum).toSorted(([one], [other]) => (one < other ? -1 : 1)))
}

if (process.argv[1] === self && process.argv[2] === work) {
  const answer = async ({ name, kills, part }) => {
    const scenario = scenarios.find((each) => each.name === name)
    process.send?.(
      await explore(scenario, { kills, part }).catch((error) => ({ scenario: name, failed: String(error) })),
    )
  }
  process.on('message', (asked) => void answer(asked))
}
