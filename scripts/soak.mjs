// Runs many sessions at once, round after round, with everything that a session can have: servers, subagents, background commands, hooks. Sessions end by
// themselves and by limits, are interrupted, left, disposed of, killed and resumed. After each round, nothing may be left over, and memory may not grow.
// `npm run soak -- --minutes=2 --sessions=50`; `--plant=timer` leaves something behind, see soak/plants.mjs. Needs a build, and Linux. Writes its counts to .tmp/soak.json.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { markVariable, memory, processesOf, whatIsLeft, whatIsThere } from './soak/look.mjs'
import { plants } from './soak/plants.mjs'
import { embedded, programs } from './soak/scenarios.mjs'
import { playSession } from './soak/sessions.mjs'
import { growth, memoryProblems, warmUp } from './soak/verdict.mjs'
import { startWeb } from './soak/web.mjs'

const textOf = (name, otherwise) =>
  process.argv.find((each) => each.startsWith(`--${name}=`))?.slice(name.length + 3) ?? otherwise
const numberOf = (name, otherwise) => Number(textOf(name, otherwise))

const limitMs = numberOf('minutes', 30) * 60_000
const sessions = numberOf('sessions', 50)
const maxRounds = numberOf('rounds', Infinity)
/** Leaves something behind that the soak has to find. */
const plant = plants[textOf('plant', 'nothing')]
/** Runs only scenarios whose name contains this. */
const only = textOf('only', '')

/** No session takes this long, even on a busy machine: one that does hangs. */
const hangMs = 600_000
/** Time for ended processes to disappear. */
const settleMs = numberOf('settle', 60) * 1_000

const summary = new URL('../.tmp/soak.json', import.meta.url)
rmSync(summary, { force: true })
const root = realpathSync(mkdtempSync(join(tmpdir(), 'halting-soak-')))
process.on('exit', () => {
  // Leftovers were reported before.
  for (const { pid } of processesOf(mark)) process.kill(pid, 'SIGKILL')
  rmSync(root, { recursive: true, force: true })
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1))
const temporary = join(root, 'tmp')
const mark = `${process.pid}-${Date.now()}`
// For processes and files of this process itself, whatever environment a session was given.
process.env[markVariable] = mark
process.env.TMPDIR = temporary
mkdirSync(temporary)
const template = makeTemplate()

const web = await startWeb()

const warnings = []
process.on('warning', (warning) => warnings.push(String(warning.stack)))

/** The projects that the sessions work on: a folder, and the same folder with git. */
function makeTemplate() {
  const folder = join(root, 'template')
  for (const name of ['plain', 'commit']) {
    mkdirSync(join(folder, name), { recursive: true })
    writeFileSync(join(folder, name, 'sum.mjs'), 'export const sum = (a, b) => a - b\n')
  }
  const git = (...args) =>
    execFileSync('git', ['-c', 'user.name=soak', '-c', 'user.email=soak@localhost', ...args], {
      cwd: join(folder, 'commit'),
    })
  git('init', '-q')
  git('add', '.')
  git('commit', '-qm', 'sum')
  return folder
}

/** Scenarios that need a missing program are skipped, with a message. */
const isMissing = ({ needs, name }) => {
  const missing = needs !== undefined && spawnSync(needs, ['--version']).error !== undefined
  if (missing) console.log(`skipped, for want of ${needs}: ${name}`)
  return missing
}
const listed = (scenarios, isProgram) =>
  scenarios
    .filter(({ name }) => name.includes(only))
    .flatMap((scenario) => (isMissing(scenario) ? [] : [{ scenario, isProgram }]))
const inProcess = listed(embedded, false)
/** Scenarios by the program take a process of their own, so they occur half as often as the others. */
const order = [...inProcess, ...listed(programs, true), ...inProcess]

let started = 0

async function playRound(number, kept) {
  const folder = join(root, `round-${number}`)
  const played = Array.from({ length: sessions }, async (_, at) => {
    const { scenario, isProgram } = order[started++ % order.length]
    const place = { folder: join(folder, String(at)), template, mark, web: web.url, kept }
    const hangs = new AbortController()
    const late = wait(hangMs, undefined, { signal: hangs.signal }).then(
      () => ({ runs: 0, problems: ['it did not end'] }),
      () => undefined,
    )
    const found = await Promise.race([playSession(scenario, place, isProgram), late])
    hangs.abort()
    return { runs: found.runs, problems: found.problems.map((problem) => `${scenario.name}: ${problem}`) }
  })
  const found = await Promise.all(played)
  return {
    folder,
    runs: found.reduce((sum, { runs }) => sum + runs, 0),
    problems: found.flatMap(({ problems }) => problems),
  }
}

/** Checks until nothing is left, or the time is over. */
async function settled(look) {
  const deadline = performance.now() + settleMs
  for (;;) {
    const left = look()
    if (left.length === 0 || performance.now() > deadline) return left
    await wait(50)
  }
}

const began = performance.now()
const rounds = []
const problems = []
let runs = 0
// The output stays open once something was written to it.
console.log(
  `${sessions} sessions at once for ${limitMs / 60_000} minutes. Node ${process.versions.node}, ${cpus().length} cores, load ${loadavg()[0].toFixed(1)}`,
)
await memory()
const before = whatIsThere()

while (rounds.length < maxRounds && performance.now() - began < limitMs) {
  const number = rounds.length + 1
  const start = performance.now()
  const kept = []
  const played = await playRound(number, kept)
  await plant?.(played.folder, kept)
  const left = await settled(() => whatIsLeft(before, { mark, root, temporary, folder: played.folder }))
  rmSync(played.folder, { recursive: true, force: true })
  const sizes = await memory()
  const alive = kept.filter((reference) => reference.deref() !== undefined).length
  const found = [
    ...played.problems,
    ...left,
    ...(alive > 0 ? [`${alive} objects of sessions that are over are still held`] : []),
    ...warnings.splice(0),
  ]
  runs += played.runs
  rounds.push(sizes)
  problems.push(...found)
  const seconds = ((performance.now() - start) / 1_000).toFixed(1)
  console.log(
    `round ${number}: ${played.runs} runs in ${seconds} s, ${sizes.heldMb.toFixed(1)} MB held, RSS ${sizes.rssMb.toFixed(0)} MB, load ${loadavg()[0].toFixed(1)}`,
  )
  for (const problem of found) console.log(`  FAILED ${problem}`)
}
problems.push(...memoryProblems(rounds))
web.close()

const change = (name) => {
  const grown = growth(rounds.map((round) => round[name]))
  return grown === undefined
    ? `not judged, for which it takes ${warmUp + 3} rounds`
    : `${grown >= 0 ? '+' : ''}${grown.toFixed(2)} MB`
}
const minutes = ((performance.now() - began) / 60_000).toFixed(1)
console.log(
  `${started} sessions, ${runs} runs in ${rounds.length} rounds and ${minutes} minutes. Median of the last third to that of the first: held ${change('heldMb')}, RSS ${change('rssMb')}`,
)
for (const problem of problems) console.log(`FAILED ${problem}`)
// A scenario counts as one check, however often it was played.
const passed = Math.min(started, new Set(order.map(({ scenario }) => scenario.name)).size)
mkdirSync(new URL('.', summary), { recursive: true })
writeFileSync(summary, JSON.stringify({ passed, failed: problems.length, problems }))
// Exits even if a session that hangs has something open.
process.exit(problems.length === 0 ? 0 : 1)
