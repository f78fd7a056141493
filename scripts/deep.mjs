// Runs one of the long checks by its name, or lists them. Further arguments go to the check:
// `npm run deep -- guard --lines=1000000 --seed=7`. The last line is the count. Exits with 1 after a failure, and with 2 for an unknown name.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { root } from './packages.mjs'

/** Flags of checks that are test files, and the environment variables that pass them on. */
const seed = { seed: 'HALTING_SEED' }
/** With this variable, a test file generates all its cases and leaves none out. */
const whole = { HALTING_DEEP: 'all' }

/** Runs test files. Flags that are not listed go to vitest. */
const tests = (files, flags = {}, env = {}) => ({
  command: ['npx', 'vitest', 'run', ...files],
  flags: { ...seed, ...flags },
  env: { ...whole, ...env },
  counts: 'vitest',
})
/** Runs a script of package.json, which writes its counts to `.tmp/NAME.json`. */
const script = (name, more = [], counts = name) => ({
  command: ['npm', 'run', '--silent', name, '--', ...more],
  counts,
  isBuilt: true,
})

/** `takes` is the duration on two cores. */
const checks = {
  guard: {
    proves: 'generated lines: bash runs nothing that the analysis does not name, and no line that is allowed does harm',
    takes: '1.5 hours; --lines=1000000 --seed=1',
    needs: 'bubblewrap',
    ...tests(
      ['packages/policy/test/judge/differential.test.ts'],
      { lines: 'HALTING_LINES' },
      { HALTING_LINES: '1000000' },
    ),
  },
  commands: {
    proves: 'generated commands with tempting words: none that is allowed does harm',
    takes: '10 minutes; --count=100000 --seed=1',
    needs: 'bubblewrap',
    ...tests(['packages/policy/test/judge/fuzz.test.ts'], { count: 'HALTING_FUZZ' }, { HALTING_FUZZ: '100000' }),
  },
  corpus: {
    proves: 'each command of the hostile corpus does its harm, and none is allowed',
    takes: '5 minutes',
    needs: 'bubblewrap; the programs of the corpus',
    ...tests(['packages/policy/test/judge/hostile.test.ts']),
  },
  confined: {
    proves:
      'commands of real kinds of projects come out the same when they are confined to the workspace, and no hostile command of the corpus does harm there',
    takes:
      '1 hour; --project=node, --project=python, --project=go or --project="git zoo" for one kind of project, --rows=TEXT for commands with a text, --slice=2/8 for a part of the hostile ones',
    needs: 'bubblewrap; python3 with pytest and venv, and go: without them their commands are left out',
    ...tests(['packages/agent/test/edit'], {
      project: 'HALTING_PROJECT',
      rows: 'HALTING_ROWS',
      slice: 'HALTING_SLICE',
    }),
  },
  tests: {
    proves: 'all tests, with all cases of random ones and streams cut at every byte',
    takes: '40 minutes; --seed=N',
    needs: 'bubblewrap, chromium, tmux, ripgrep',
    ...tests([]),
  },
  kills: {
    proves: 'sessions that are killed again and again come to their end',
    takes: '1 hour; --count=5000 --seed=N',
    needs: 'nothing',
    ...tests(['packages/journal/test/kills.test.ts'], { count: 'HALTING_KILLS' }, { HALTING_KILLS: '5000' }),
  },
  stores: {
    proves:
      'sessions in SQLite and PostgreSQL that are killed at every record and at random come to their end with nothing done twice',
    takes: '1 hour; --count=1000',
    needs: 'a package registry, which brings a newer Node and better-sqlite3; the server of PostgreSQL',
    ...tests(
      ['packages/store-sqlite/test', 'packages/store-postgres/test'],
      { count: 'HALTING_KILLS' },
      { HALTING_KILLS: '1000' },
    ),
  },
  goals: {
    proves:
      'drawn runs with goals, killed and resumed: what is reported was checked and recorded, and a run is done only where its goals hold',
    takes: '10 minutes; --count=10000 --seed=N',
    needs: 'nothing',
    ...tests(['packages/journal/test/goals'], { count: 'HALTING_RUNS' }, { HALTING_RUNS: '10000' }),
  },
  budgets: {
    proves: 'processes that are killed at random overshoot no standing budget, and leave nothing in the way of others',
    takes: '2 minutes; --count=1500 --processes=20 --seed=N',
    needs: 'nothing',
    ...tests(['packages/agent/test/budgets'], { count: 'HALTING_REQUESTS', processes: 'HALTING_PROCESSES' }),
  },
  waits: {
    proves:
      'drawn sequences of limits and outages, killed and gone on with: nobody asks too early or too late, and no run waits longer than it may',
    takes: '1 minute; --count=1000 --seed=N',
    needs: 'nothing',
    ...tests(['packages/core/test/limits/service-sequences.test.ts'], { count: 'HALTING_SEQUENCES' }),
  },
  trouble: {
    proves:
      'sessions side by side come to one result each through kills, questions, clocks that jump, servers that die and agents under one budget',
    takes: '25 minutes; --count=200 --seed=N',
    needs: 'nothing',
    ...tests(['packages/cli/test/trouble/troubled-sessions.test.ts'], { count: 'HALTING_SESSIONS' }),
  },
  explore: {
    proves: 'every path of the loop, with a kill after every record, ends as golden.json says',
    takes: '10 minutes; --most-kills=N',
    needs: 'a build (made first)',
    ...script('explore'),
  },
  paths: {
    proves: 'every path of the loop ends as golden.json says, with few kills',
    takes: '2 minutes',
    needs: 'a build (made first)',
    ...script('explore', ['--most-kills=100']),
  },
  mutations: {
    proves: 'tests and exploration notice each promise of core that is taken away',
    takes: '40 minutes; --promises, --exploration, part of a name',
    needs: 'a build (made first)',
    command: ['node', 'scripts/mutate-core.mjs'],
    counts: 'mutations',
    isBuilt: true,
  },
  soak: {
    proves: 'many sessions leave nothing behind, and memory is flat',
    takes: '30 minutes; --minutes=30 --sessions=50',
    needs: 'a build (made first), Linux',
    ...script('soak'),
  },
  cluster: {
    proves: 'sessions on real nodes of Restate survive killed workers and nodes',
    takes: '15 minutes; --minutes=2 --sessions=20 --seed=14, part of a title',
    needs: 'a build (made first), npm brings the server',
    ...script('cluster'),
  },
  startup: {
    proves: 'a prompt starts within its budget of CPU and memory against bare Node (bench/startup-budget.json)',
    takes: '1 minute; --repeats=20',
    needs: 'a build (made first)',
    command: ['node', 'bench/startup.mjs', '--check'],
    counts: 'startup',
    isBuilt: true,
  },
  packed: {
    proves: 'the packed packages work when installed in empty folders, on the oldest Node and the newest LTS',
    takes: '3 minutes',
    needs: 'a build (made first), a package registry',
    ...script('packed'),
  },
  types: {
    proves:
      'programs compile strictly against every entry, as ES modules, CommonJS and for bundlers, by TypeScript 5.4, 5.9 and the newest',
    takes: '3 minutes',
    needs: 'a build (made first), a package registry',
    command: ['node', 'scripts/consumers.mjs'],
    counts: 'consumers',
    isBuilt: true,
  },
  mcp: {
    proves: 'the MCP client passes the conformance kit of the protocol',
    takes: '2 minutes; part of a scenario',
    needs: 'a build (made first), a package registry',
    command: ['node', 'scripts/mcp-conformance.mjs'],
    counts: 'mcp-conformance',
    isBuilt: true,
  },
  editors: {
    proves: 'an independent client of the editor protocol works with the program',
    takes: '1 minute',
    needs: 'a build (made first), a package registry',
    ...script('editors', [], 'editor-client'),
  },
  providers: {
    proves: 'models of the current AI SDK packages (LanguageModelV4) answer as their services do',
    takes: '1 minute',
    needs: 'a package registry',
    ...script('providers'),
  },
}

const [name, ...rest] = process.argv.slice(2)
if (name === undefined) list()
else if (Object.hasOwn(checks, name)) process.exitCode = run(checks[name], rest)
else {
  const names = Object.keys(checks)
  console.error(`Unknown check ${name} (did you mean ${nearest(name, names)}?). Checks: ${names.join(', ')}`)
  process.exitCode = 2
}

function list() {
  console.log('npm run deep -- NAME [flags]\n')
  const width = Math.max(...Object.keys(checks).map(({ length }) => length)) + 2
  for (const [each, { proves, takes, needs }] of Object.entries(checks))
    console.log(
      `${each.padEnd(width)}${proves}\n${' '.repeat(width)}takes ${takes}\n${' '.repeat(width)}needs ${needs}`,
    )
}

/** @returns The exit code. */
function run({ command: [program, ...given], counts, flags = {}, env = {}, isBuilt = false }, rest) {
  const start = (file, args, more = {}) =>
    spawnSync(file, args, { cwd: fileURLToPath(root), stdio: 'inherit', env: { ...process.env, ...env, ...more } })
      .status
  if (isBuilt && start('npm', ['run', '--silent', 'build']) !== 0) return tell({ passed: 0, failed: 1, skipped: 0 })
  const summary = new URL(`.tmp/${counts}.json`, root)
  rmSync(summary, { force: true })
  const variables = rest.flatMap((each) => {
    const [, flag, value] = /^--(\w+)=(.*)$/.exec(each) ?? []
    return Object.hasOwn(flags, flag ?? '') ? [[flags[flag], value]] : []
  })
  const others = rest.filter((each) => !Object.hasOwn(flags, /^--(\w+)=/.exec(each)?.[1] ?? ''))
  const status = start(program, [...given, ...others], Object.fromEntries(variables))
  const found = countsIn(summary)
  return tell(status === 0 ? found : { ...found, failed: Math.max(1, found.failed) })
}

/** What a check wrote about itself. A check that wrote nothing has failed. */
function countsIn(summary) {
  if (!existsSync(summary)) return { passed: 0, failed: 1, skipped: 0 }
  const found = JSON.parse(readFileSync(summary, 'utf8'))
  const { passed = found.numPassedTests, failed = found.numFailedTests } = found
  const { skipped = (found.numPendingTests ?? 0) + (found.numTodoTests ?? 0) } = found
  return { passed, failed: found.success === false ? Math.max(1, failed) : failed, skipped }
}

function tell({ passed, failed, skipped }) {
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  return failed === 0 ? 0 : 1
}

/** The name with the smallest edit distance. */
function nearest(wanted, names) {
  return names.toSorted((a, b) => distance(wanted, a) - distance(wanted, b))[0]
}

function distance(one, other) {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1]
    for (let at = 1; at <= other.length; at += 1)
      next.push(Math.min(row[at] + 1, next[at - 1] + 1, row[at - 1] + (letter === other[at - 1] ? 0 : 1)))
    row = next
  }
  return row[other.length]
}
