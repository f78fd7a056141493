// How long `halting what-if` and `halting report` take over runs of real work, and how much memory. See ../README.md.
// Run: node bench/trajectories/speed.mjs [--data=FOLDER] [--repeats=5] [--folder=/dev/shm] [--before=PATH]. Needs a build. --before=PATH names
// bin/halting.js of another build, which is measured alternately with this one.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { heading, median, numberOf, table, textOf } from '../lib/measure.mjs'
import { writeClaudeCodeFiles } from './claude-code-files.mjs'
import { dataFolder, readData } from './load.mjs'

const program = fileURLToPath(new URL('../../packages/cli/bin/halting.js', import.meta.url))
const cost = fileURLToPath(new URL('../lib/cost.cjs', import.meta.url))
const named = textOf('data', process.env['HALTING_TRAJECTORIES'] ?? '')
const data = dataFolder(named === '' ? undefined : named)
const live = data === undefined ? [] : readData(data).live

const commands = [
  ['what-if', '--claude-code', '--max-turns', '20'],
  ['what-if', '--claude-code', '--max-run-usd', '2', '--max-duration', '20m'],
  ['what-if', '--claude-code', '--no-progress'],
  ['what-if', '--claude-code', '--suggest'],
  ['what-if', '--claude-code', '--suggest', '--may-lose', '2%'],
  ['report', '--claude-code', '--since', '2026-01-01'],
]

if (live.length > 0) await report()
else console.error('There are no recorded runs, which are not shipped. Give their folder: --data=FOLDER, or HALTING_TRAJECTORIES.')

async function report() {
  heading('What-if over runs of real work')
  const folder = mkdtempSync(join(textOf('folder', tmpdir()), 'halting-live-'))
  try {
    const { sessions, runs, bytes, usd } = await writeClaudeCodeFiles(live, folder)
    console.log(`${runs} runs in ${sessions} sessions of Claude Code, ${(bytes / 1e6).toFixed(0)} MB, $${usd.toFixed(2)}.\n`)
    mkdirSync(join(folder, 'home'))
    const builds = [['now', program]]
    const before = textOf('before', '')
    if (before !== '') builds.unshift(['before', before])
    const rows = commands.flatMap((command) => rowsOf(command, builds, folder))
    console.log(table(['', 'CPU, s, least', 'median', 'wall-clock, s, least', 'median', 'max RSS'], rows))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function rowsOf(command, builds, folder) {
  const samples = new Map(builds.map(([name]) => [name, []]))
  for (let repeat = 0; repeat < numberOf('repeats', 5); repeat++)
    for (const [name, path] of builds) samples.get(name).push(inChild(path, command, folder))
  return [...samples].map(([name, taken]) => {
    const title = `\`${command.filter((word) => word !== '--claude-code').join(' ')}\`${builds.length > 1 ? `, ${name}` : ''}`
    if (taken.some((sample) => sample === undefined)) return [title, 'refused', '', '', '', '']
    const seconds = (key, of) => (of(taken.map((sample) => sample[key])) / 1_000).toFixed(2)
    const least = (values) => Math.min(...values)
    return [
      title,
      ...['cpuMs', 'wallMs'].flatMap((key) => [seconds(key, least), seconds(key, median)]),
      `${median(taken.map(({ maxRssMb }) => maxRssMb)).toFixed(0)} MB`,
    ]
  })
}

/** Undefined for a command that is refused: an older build does not know all of them. */
function inChild(path, command, folder) {
  const began = performance.now()
  const { output, stderr, status } = spawnSync(process.execPath, ['--require', cost, path, ...command], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: join(folder, 'home'), CLAUDE_CONFIG_DIR: folder },
    maxBuffer: 1 << 26,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  if (status === 2) return undefined
  if (status !== 0) throw new Error(`${command.join(' ')} failed: ${stderr}`)
  if (!output[1].includes(`${live.length.toLocaleString('en-US')} runs`)) throw new Error(`${command.join(' ')} did not read all runs: ${output[1].slice(0, 400)}`)
  return { wallMs: performance.now() - began, ...JSON.parse(output[3]) }
}
