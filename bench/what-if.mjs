// How fast `halting what-if` looks at a folder of sessions, and what it holds meanwhile. See README.md.
// Run: node bench/what-if.mjs [--megabytes=100] [--repeats=5] [--folder=/dev/shm]. Needs a build.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readJournal } from '@halting/journal'
import { suggestLimits, trajectoryOf, whatIf } from '@halting/analysis'
import { writeClaudeCode, writeCodex } from './lib/foreign.mjs'
import { heading, median, numberOf, table, textOf } from './lib/measure.mjs'
import { writeSession } from './lib/sessions.mjs'

const program = fileURLToPath(new URL('../packages/cli/bin/halting.js', import.meta.url))

/** Turns of the sessions: most are short. */
const lengths = [3, 8, 20, 50, 120, 300, 2_000]

/** Whose sessions they are; those of other programs are read by the command alone. */
const programs = {
  ours: { fill, names: (command) => [...Object.keys(ways), command] },
  'Claude Code': { fill: fillWith(writeClaudeCode), names: (command) => [Object.keys(ways)[0], command] },
  Codex: { fill: fillWith(writeCodex), names: (command) => [Object.keys(ways)[0], command] },
}

/** Each goes through all files, one after another. */
const ways = {
  'JSON.parse of every line': (files) => eachOf(files, async (file) => void linesOf(await readFile(file, 'utf8'))),
  'readJournal': (files) => eachOf(files, readJournal),
  'what-if, --max-turns 20': async (files) => (await trajectories(files)).map((each) => whatIf(each, { maxTurns: 20 })),
  'what-if --suggest': async (files) => suggestLimits(await trajectories(files)),
}

const [kind, way, folder] = process.argv.slice(2)
if (kind === 'child') process.stdout.write(JSON.stringify(await measure(way, folder)))
else await report()

async function report() {
  heading('What-if over a folder')
  const [repeats, megabytes] = [numberOf('repeats', 5), numberOf('megabytes', 100)]
  for (const [program, { fill: fillOf, names }] of Object.entries(programs))
    await reportOf(program, fillOf, names('halting what-if FOLDER --max-turns 20 --suggest'), repeats, megabytes)
}

async function reportOf(program, fillOf, names, repeats, megabytes) {
  const own = mkdtempSync(join(textOf('folder', tmpdir()), 'halting-what-if-'))
  const command = names.at(-1)
  try {
    await fillOf(own, megabytes * 1e6)
    const sizes = readdirSync(own).map((name) => statSync(join(own, name)).size)
    const total = sizes.reduce((sum, size) => sum + size, 0)
    console.log(`### ${program}\n\n${sizes.length} sessions, ${mb(total)} MB; the largest has ${mb(Math.max(...sizes))} MB.\n`)
    const samples = Object.fromEntries(names.map((name) => [name, []]))
    for (let repeat = 0; repeat < repeats; repeat++) {
      for (const name of names) samples[name].push(inChild(name === command ? ['command', own] : ['child', name, own]))
    }
    const least = (name, key) => Math.min(...samples[name].map((sample) => sample[key]))
    const rows = names.map((name) => [
      name,
      (total / 1e3 / least(name, 'wallMs')).toFixed(0),
      (total / 1e3 / median(samples[name].map(({ wallMs }) => wallMs))).toFixed(0),
      (least(name, 'cpuMs') / least(names[0], 'cpuMs')).toFixed(2),
      `${median(samples[name].map(({ rssMb }) => rssMb)).toFixed(0)} MB`,
    ])
    console.log(table(['', `MB/s, best of ${repeats}`, 'median', 'CPU to the first row', 'max RSS'], rows) + '\n')
  } finally {
    rmSync(own, { recursive: true })
  }
}

/** Sessions of 3 to 2,000 turns, most of them short, until there is so much. */
async function fill(own, bytes) {
  let total = 0
  for (let number = 0; total < bytes; number++) {
    const path = join(own, `session-${number}.jsonl`)
    // A copy of another one would not be counted.
    await writeSession(path, { turns: lengths[number % lengths.length], sessionId: `session-${number}` })
    total += statSync(path).size
  }
}

/** The same of another program. No two have a line in common: what stands in several files is counted once. */
function fillWith(write) {
  return (own, bytes) => {
    let total = 0
    for (let number = 0; total < bytes; number++) {
      const id = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`
      const path = join(own, `rollout-2026-01-01T00-00-00-${id}.jsonl`)
      write(path, { turns: lengths[number % lengths.length], id })
      total += statSync(path).size
    }
  }
}

function inChild(parameters) {
  const [what, own] = parameters
  const cost = fileURLToPath(new URL('./lib/cost.cjs', import.meta.url))
  const given =
    what === 'command'
      ? ['--require', cost, program, 'what-if', own, '--max-turns', '20', '--suggest']
      : [fileURLToPath(import.meta.url), ...parameters]
  const began = performance.now()
  const { output, stderr, status } = spawnSync(process.execPath, given, {
    encoding: 'utf8',
    maxBuffer: 1 << 26,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  const wallMs = performance.now() - began
  if (status !== 0) throw new Error(`${parameters.join(' ')} failed: ${stderr}`)
  if (what !== 'command') return JSON.parse(output[1])
  const { cpuMs, maxRssMb } = JSON.parse(output[3])
  return { wallMs, cpuMs, rssMb: maxRssMb }
}

async function measure(name, own) {
  const files = readdirSync(own).map((file) => join(own, file))
  const began = performance.now()
  await ways[name](files)
  const wallMs = performance.now() - began
  const { user, system } = process.cpuUsage()
  return { wallMs, cpuMs: (user + system) / 1_000, rssMb: process.resourceUsage().maxRSS / 1_024 }
}

async function eachOf(files, read) {
  for (const file of files) await read(file)
}

function linesOf(text) {
  return text.split('\n').map((line) => (line === '' ? undefined : JSON.parse(line)))
}

async function trajectories(files) {
  const all = []
  for (const file of files) for (const run of (await readJournal(file, { intents: 'open' })).runs) all.push(trajectoryOf(run))
  return all
}

function mb(bytes) {
  return (bytes / 1e6).toFixed(1)
}
