// Shows that the tests detect what they are there to detect. Each mutation removes one promise from a copy of core, and has to be caught. Mutations of
// `mutations/promises-*.mjs` are caught by the test files that they name, and those of `mutations/exploration.mjs` by scenarios of the exploration. Verdicts:
//   seen      a test or the exploration failed
// endless it does not end, although the unmutated code ends within a fifth of that time
//   SURVIVED  nothing failed
// The unmutated code runs first, and again whenever a mutation is endless. Exits with 1 for a survivor that `mutations/explained.mjs` does not explain, for an
// explanation that is no longer needed, and for a mutation that can no longer be made. Not part of CI: it takes more than half an hour. With `--check`
// it only lists mutations that cannot be made, as part of `npm run arch`. Rewrite such a mutation so that it removes the same promise.
// Its counts are in .tmp/mutations.json.
//   node scripts/mutate-core.mjs [--check] [--promises | --exploration] [part of a name]...
import { mkdirSync, writeFileSync } from 'node:fs'
import { copyCore, misfitOf } from './mutations/copy.mjs'
import { explained } from './mutations/explained.mjs'
import { explored } from './mutations/exploration.mjs'
import { exploration, hasTest, promiseTests, scenarioNames } from './mutations/nets.mjs'
import { promisesOfWorkBeside } from './mutations/promises-beside.mjs'
import { promisesOfCalls } from './mutations/promises-calls.mjs'
import { promisesOfGoals } from './mutations/promises-goals.mjs'
import { promisesOfJudges } from './mutations/promises-judged.mjs'
import { promisesOfLimits } from './mutations/promises-limits.mjs'
import { promisesOfLiveRuns } from './mutations/promises-live.mjs'
import { promisesOfLooking } from './mutations/promises-looking.mjs'
import { promisesOfRequests } from './mutations/promises-requests.mjs'
import { promisesOfResumes } from './mutations/promises-resume.mjs'
import { promisesOfTurns } from './mutations/promises-turns.mjs'
import { promisesOfVerification } from './mutations/promises-verification.mjs'
import { promisesOfWaits } from './mutations/promises-waits.mjs'

const summary = new URL('../.tmp/mutations.json', import.meta.url)
const flags = process.argv.slice(2).filter((argument) => argument.startsWith('--'))
const parts = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const promises = [
  ...promisesOfTurns,
  ...promisesOfRequests,
  ...promisesOfCalls,
  ...promisesOfGoals,
  ...promisesOfJudges,
  ...promisesOfVerification,
  ...promisesOfLimits,
  ...promisesOfLiveRuns,
  ...promisesOfResumes,
  ...promisesOfWorkBeside,
  ...promisesOfLooking,
  ...promisesOfWaits,
]
const all = [...promises, ...explored]

const misfits = [
  ...all.flatMap((mutation) => {
    const misfit = misfitOf(mutation)
    return misfit === undefined ? [] : [`${mutation.name}: ${misfit}`]
  }),
  ...all
    .map(({ name }) => name)
    .flatMap((name, index, names) => (names.indexOf(name) < index ? [`${name}: there are two`] : [])),
  ...promises.flatMap(({ name, tests }) =>
    tests.flatMap((each) => (hasTest(each) ? [] : [`${name}: there is no test ${each}`])),
  ),
  ...explored.flatMap(({ name, scenarios }) =>
    scenarios.flatMap((each) => (scenarioNames.includes(each) ? [] : [`${name}: there is no scenario ${each}`])),
  ),
  ...Object.keys(explained).flatMap((name) =>
    all.some((each) => each.name === name) ? [] : [`${name}: explained, and not there`],
  ),
]
if (misfits.length > 0) {
  console.error(
    `These mutations cannot be made, since the code has changed. Write each anew in scripts/mutations, so that it takes away the same promise.\n${misfits.join('\n')}`,
  )
  process.exit(1)
}
console.log(`${all.length} mutations can be made`)
if (flags.includes('--check')) process.exit(0)

const lists = flags.includes('--promises') ? promises : flags.includes('--exploration') ? explored : all
const chosen = lists.filter(({ name }) => parts.length === 0 || parts.some((part) => name.includes(part)))
const copy = copyCore()
const measured = new Map()
const counts = { seen: 0, endless: 0, SURVIVED: 0, 'NO MUTATION': 0, UNCLEAR: 0 }
let failures = 0
for (const mutation of chosen) {
  const net = await netOf(mutation)
  const { verdict, why } = await verdictOf(mutation, net)
  counts[verdict]++
  const expected = explained[mutation.name]
  const isExpected =
    expected === undefined ? verdict === 'seen' || verdict === 'endless' : expected.verdict === verdict.toLowerCase()
  if (!isExpected) failures++
  const explanation = expected === undefined ? '' : isExpected ? ` (${expected.why})` : ' (EXPLAINED OTHERWISE)'
  console.log(`${verdict.padEnd(11)} ${mutation.name}${why === undefined ? '' : ` — ${why}`}${explanation}`)
}
copy.remove()
console.log(
  Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([verdict, count]) => `${count} ${verdict}`)
    .join(', '),
)
mkdirSync(new URL('.', summary), { recursive: true })
writeFileSync(summary, JSON.stringify({ passed: chosen.length - failures, failed: failures }))
process.exit(failures === 0 ? 0 : 1)

/** The tests that have to catch a mutation, with their results on the unmutated code. */
async function netOf({ tests, scenarios }) {
  const net = tests === undefined ? exploration(copy.folder, scenarios) : promiseTests(copy.folder, tests)
  let unmutated = measured.get(net.name)
  if (unmutated === undefined) {
    unmutated = await net.measure()
    if (unmutated.kind !== 'passed') {
      console.error(`The unmutated code does not pass ${net.name}: ${unmutated.kind}, ${unmutated.why}`)
      copy.remove()
      process.exit(1)
    }
    console.log(`unmutated   ${net.name} — ${net.tell(unmutated)}`)
    measured.set(net.name, unmutated)
  }
  return { ...net, unmutated }
}

async function verdictOf(mutation, net) {
  const undo = copy.apply(mutation)
  let result
  try {
    const problem = await copy.problems()
    if (problem !== undefined) return { verdict: 'NO MUTATION', why: `it does not compile: ${problem}` }
    result = await net.check(net.unmutated)
  } finally {
    undo()
  }
  if (result.kind === 'passed') return { verdict: 'SURVIVED' }
  if (result.kind === 'failed') return { verdict: 'seen', why: result.why }
  // The machine may have been busy: checks whether the unmutated code still passes within the same limit.
  const again = await net.check(net.unmutated, { stopAfter: result.scenario })
  return again.kind === 'passed'
    ? { verdict: 'endless', why: result.why }
    : { verdict: 'UNCLEAR', why: `${result.why}; so is the unmutated code` }
}
