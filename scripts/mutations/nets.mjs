// The two nets in which a mutation is to be caught: promise tests, and the exploration.
// Each says what became of the code as it stands in the copy:
//   passed   nothing was noticed
//   failed   noticed, and by what
//   endless  it does not come to its end: still at work at a multiple of the processor time that the unmutated code takes, out of memory, or waiting for ever
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { entriesOf } from '../packages.mjs'
import { placeOf } from './copy.mjs'
import { run } from './run.mjs'

const root = fileURLToPath(new URL('../../', import.meta.url))
const explorer = join(root, 'packages/explorer')
const golden = join(explorer, 'test/golden.json')

/** Of the scenarios that can be explored. */
export const scenarioNames = JSON.parse(readFileSync(golden, 'utf8')).map(({ scenario }) => scenario)

const testOf = (file) => `${placeOf(file, 'test')}.test.ts`

/** Whether there is a test file of this name, or all of core's are meant. */
export const hasTest = (file) => file === '*' || existsSync(join(root, testOf(file)))

/** How much more time of the processor than the unmutated code a mutation may take, and the least that it is given. */
const factor = 5
const leastMs = 10_000
const limitOf = (unmutatedMs) => Math.max(leastMs, factor * unmutatedMs)
/** No limit yet: the unmutated code is being measured. */
const noLimitMs = 3_600_000

/** What is held against the docs needs the docs. */
const everything = ['packages/core/test', '--exclude', 'packages/core/test/docs.test.ts', '--bail', '1']

const isOutOfMemory = (output) => /heap out of memory|ERR_WORKER_OUT_OF_MEMORY/.test(output)
const env = { ...process.env, NODE_OPTIONS: '--max-old-space-size=1024', NO_COLOR: '1' }

/** Test files of core, named without their ending (`tools/subagents`); `*` for all of them beside the exploration. */
export function promiseTests(folder, files) {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const report = join(folder, 'vitest.json')
  const paths = files.includes('*') ? everything : files.map(testOf)

  async function once({ limitMs, testMs, wallMs }) {
    rmSync(report, { force: true })
    // In one process, whose time is reported.
    const alone = ['--pool=threads', '--no-file-parallelism', '--no-isolate']
    const args = ['run', ...paths, '--root', folder, ...alone, `--testTimeout=${testMs}`]
    const began = performance.now()
    const ran = await run(process.execPath, [vitest, ...args, '--reporter=json', `--outputFile=${report}`], {
      cwd: folder,
      limitMs,
      wallMs,
      env,
    })
    return { ...resultOf(ran, limitMs), cpuMs: ran.cpuMs, ms: performance.now() - began }
  }

  function resultOf({ isEnded, output }, limitMs) {
    if (isEnded) return endless(`still at work after ${seconds(limitMs)}`)
    if (isOutOfMemory(output)) return endless('out of memory')
    if (!existsSync(report)) return { kind: 'failed', why: output.trim().split('\n').at(-1) }
    const { testResults } = JSON.parse(readFileSync(report, 'utf8'))
    const broken = testResults.find(
      ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
    )
    if (broken !== undefined) return { kind: 'failed', why: broken.message }
    const tests = testResults.flatMap(({ name, assertionResults }) =>
      assertionResults.map((test) => ({
        ...test,
        file: relative(join(folder, 'packages'), name).replace('.test.ts', ''),
      })),
    )
    const failed = tests.filter(({ status }) => status === 'failed')
    const slowestMs = Math.max(0, ...tests.map(({ duration }) => duration ?? 0))
    if (failed.length === 0) return { kind: 'passed', count: tests.length, slowestMs }
    const report = failed.find(
      ({ failureMessages }) => !failureMessages.every((text) => /timed out in \d+ ?ms/.test(text)),
    )
    if (report !== undefined) return { kind: 'failed', why: `${report.file}: ${report.fullName}` }
    return endless(`a test never ended: ${failed[0].file}: ${failed[0].fullName}`)
  }

  return {
    name: files.join(', '),
    /** The unmutated code: how long it takes, from which the limits follow. */
    async measure() {
      const first = await once({ limitMs: noLimitMs, testMs: 60_000, wallMs: noLimitMs })
      if (first.kind !== 'passed') return first
      const limits = {
        limitMs: limitOf(first.cpuMs),
        testMs: Math.round(Math.max(10_000, 20 * first.slowestMs)),
        wallMs: Math.max(120_000, 20 * first.ms),
      }
      return { ...(await once(limits)), limits }
    },
    check: ({ limits }) => once(limits),
    tell: ({ count, ms, limits }) => `${count} tests in ${seconds(ms)}, limit ${seconds(limits.limitMs)}`,
  }
}

/** These scenarios as `npm test` explores them, the smaller ones first: most mutations are seen at once. */
export function exploration(folder, names) {
  const bundle = join(folder, 'exploration/testing.js')

  async function once(limits, stopAfter) {
    await build({
      entryPoints: { testing: join(explorer, 'src/index.ts') },
      outdir: join(folder, 'exploration'),
      bundle: true,
      format: 'esm',
      platform: 'neutral',
      logLevel: 'silent',
      plugins: [coreOf(folder)],
    })
    writeFileSync(join(folder, 'exploration/probe.js'), probe)
    const times = new Map()
    let current = 'the beginning'
    let isDone = false
    let why
    const ran = await run(
      process.execPath,
      [join(folder, 'exploration/probe.js'), golden, JSON.stringify(names), stopAfter ?? ''],
      {
        cwd: folder,
        limitMs: leastMs,
        wallMs: noLimitMs,
        env,
        onLine(line, restart) {
          const report = JSON.parse(line)
          if (report.begins !== undefined) {
            current = report.begins
            restart(limits === undefined ? noLimitMs : limitOf(limits.get(current) ?? 0))
          }
          if (report.cpuMs !== undefined) times.set(current, report.cpuMs)
          if (report.why !== undefined) why = `${current}: ${report.why}`
          if (report.isDone === true) isDone = true
        },
      },
    )
    const at = { scenario: current, times }
    if (why !== undefined) return { kind: 'failed', why: shortened(why), ...at }
    if (ran.isEnded) {
      const unmutated = limits?.get(current) ?? 0
      return {
        ...endless(`${current}: still at work after ${seconds(limitOf(unmutated))}, unmutated ${seconds(unmutated)}`),
        ...at,
      }
    }
    if (isOutOfMemory(ran.output)) return { ...endless(`${current}: out of memory`), ...at }
    if (isDone) return { kind: 'passed', ...at }
    // The process had nothing left to do, and the scenario had not come to its end.
    if (ran.code === 13) return { ...endless(`${current}: waits for ever`), ...at }
    return { kind: 'failed', why: shortened(ran.output), ...at }
  }

  return {
    name: names.join(', '),
    bundle,
    async measure() {
      const first = await once()
      return first.kind === 'passed' ? { ...first, limits: first.times } : first
    },
    check: ({ limits }, { stopAfter } = {}) => once(limits, stopAfter),
    tell: ({ times }) => `${times.size} scenarios in ${seconds([...times.values()].reduce((sum, ms) => sum + ms, 0))}`,
  }
}

/** The explorer as it is, with what is mutated in this folder. */
function coreOf(folder) {
  const entries = new Map(
    ['core', 'analysis'].flatMap((name) =>
      entriesOf(name).map(({ specifier, path }) => [specifier, `packages/${name}/src/${path}.ts`]),
    ),
  )
  return {
    name: 'mutated core',
    setup({ onResolve }) {
      onResolve({ filter: /^@halting\/(?:core|analysis)(?:\/|$)/ }, ({ path }) => ({
        path: join(folder, entries.get(path)),
      }))
      onResolve({ filter: /^\.\.\/\.\.\/core\/src\// }, ({ path }) => ({
        path: join(folder, path.replace('../../core/', 'packages/core/')),
      }))
    },
  }
}

const probe = `
import { readFileSync, writeSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { explore, scenarios } from './testing.js'
const golden = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const tell = (what) => writeSync(1, JSON.stringify(what) + '\\n')
const goldenOf = ({ name }) => golden.find((each) => each.scenario === name)
const weight = (scenario) => goldenOf(scenario).paths + goldenOf(scenario).sampledKills
const named = scenarios.filter(({ name }) => JSON.parse(process.argv[3]).includes(name))
for (const scenario of named.toSorted((a, b) => weight(a) - weight(b))) {
  const { sampledKills: kills, ...held } = goldenOf(scenario)
  const began = process.cpuUsage()
  tell({ begins: scenario.name })
  try {
    const explored = await explore(scenario, { kills: 'sampled' })
    // Kills count the records of a path: an attempt more or less shows there.
    if (!isDeepStrictEqual(explored, { ...held, kills })) { tell({ why: 'came out otherwise' }); process.exit(1) }
  } catch (error) {
    tell({ why: String(error?.stack ?? error) })
    process.exit(1)
  }
  const { user, system } = process.cpuUsage(began)
  tell({ cpuMs: (user + system) / 1_000 })
  if (scenario.name === process.argv[4]) break
}
tell({ isDone: true })
`

const endless = (why) => ({ kind: 'endless', why })
const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`
const shortened = (text) => text.trim().split('\n')[0].slice(0, 200)
