// Plays each situation with each program and prints what it did, what it cost and how it reported that. See README.md.
// Run: node bench/stopping/run.mjs [--peers=FOLDER] [--programs=halting,claude] [--only=TEXT,TEXT] [--goals] [--waits] [--words] [--log=FILE] [--wall=SECONDS] [--json=FILE] [--halting=PROGRAM]. Needs a build, and Linux. FOLDER holds
// node_modules with the programs; missing ones are left out.
import { fork, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { heading, numberOf, textOf } from '../lib/measure.mjs'
import { ownProblems } from './own.mjs'
import { play } from './play.mjs'
import { programs } from './programs.mjs'
import { maxRequests, situations } from './situations.mjs'
import { tableOf } from './table.mjs'
import { waitingSituations } from './waiting-situations.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
const peers = join(textOf('peers', join(here, '..')), 'node_modules')
const wallMs = numberOf('wall', 300) * 1_000
const wanted = textOf('programs', Object.keys(programs).join(',')).split(',')
const only = textOf('only', '').split(',')
const goalsOnly = process.argv.includes('--goals')
const waitsOnly = process.argv.includes('--waits')
const log = textOf('log', '')

const service = fork(join(here, 'service.mjs'), { env: { ...process.env, ...(log !== '' && { STOPPING_LOG: log }) } })
const nextMessage = () => new Promise((resolve) => service.once('message', resolve))
const { port } = await nextMessage()
const ask = async (message) => {
  const answer = nextMessage()
  service.send(message)
  return (await answer).figures
}

heading('Stopping')
const rows = []
const folder = mkdtempSync(join(tmpdir(), 'halting-stopping-'))
try {
  for (const name of wanted) {
    const program = programs[name]
    if (program === undefined) throw new Error(`There is no program ${name}: ${Object.keys(programs).join(', ')}.`)
    if (program.package !== undefined && !existsSync(join(peers, program.package))) {
      console.error(`${name}: not installed in ${dirname(peers)}; left out`)
      continue
    }
    for (const [title, situation] of Object.entries(situations)) {
      if (!only.some((text) => title.includes(text)) || (goalsOnly && situation.ours === undefined)) continue
      if (waitsOnly && waitingSituations[title] === undefined && title !== 'polling in haste') continue
      const row = await rowOf(name, program, title, situation)
      rows.push(row)
      console.error(`${name}, ${title}: ${row.verdict}`)
    }
  }
} finally {
  service.kill()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

console.log(tableOf(rows))
if (process.argv.includes('--words')) for (const { program, title, words = '' } of rows) console.log(`\n${program}, ${title}:\n${words}`)
const json = textOf('json', '')
if (json !== '') writeFileSync(json, `${JSON.stringify(rows.map(({ words: _words, ...row }) => row), null, 1)}\n`)

async function rowOf(name, program, title, situation) {
  const home = join(folder, `${name}-${Object.keys(situations).indexOf(title)}`)
  const work = join(home, 'work')
  mkdirSync(work, { recursive: true })
  writeFiles(work, { 'notes.txt': 'Notes.\n', 'plan.txt': 'A plan.\n', ...situation.files })
  const version = program.package === undefined ? '' : JSON.parse(readFileSync(join(peers, program.package, 'package.json'), 'utf8')).version
  const { limits, hooks, asksFirst, until, goal, protect, checkSeconds, skipIfMet, needsJudge, resumesAlone, waits, loop, ours } = situation
  const aim = { until, goal, protect, checkSeconds, skipIfMet, needsJudge, resumesAlone, waits, loop, isBounded: ours !== undefined }
  const start = (prompt, resumes, before) => program.start({ url: `http://127.0.0.1:${port}`, home, prompt, resumes, before, limits, hooks, asksFirst, aim, peers })
  if (start('', false) === undefined) return { program: name, version, title, verdict: 'has none', problems: [] }
  await ask({ situation: title })
  const most = situation.maxRequests ?? maxRequests
  const played = await play({ start, home, situation, wallMs, maxRequests: most, figures: () => ask({}), resumed: () => ask({ resumed: true }) })
  if (situation.truth !== undefined) played.truth = holds(home, situation)
  const files = (file) => (existsSync(join(work, file)) ? readFileSync(join(work, file), 'utf8') : '')
  const own = program.package === undefined && ours !== undefined ? ownProblems({ ...played, start: start('', true), home, ours }) : []
  const problems = [...situation.wrong({ ...played, files }), ...own]
  const verdict = problems.length === 0 ? 'as it should be' : problems.join('; ')
  return { program: name, version, title, verdict, ...played, problems }
}

function writeFiles(folder, files) {
  for (const [file, text] of Object.entries(files)) {
    const path = join(folder, file)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    if (file.endsWith('.sh')) chmodSync(path, 0o755)
  }
}

/** Whether the goal is really met: runs in a copy of the work with the original tests, checks and package.json. */
function holds(home, { truth, files }) {
  const copy = join(home, 'truth')
  cpSync(join(home, 'work'), copy, { recursive: true })
  const pristine = Object.entries(files).filter(([file]) => /^test\/|\.sh$|^package\.json$/.test(file))
  writeFiles(copy, Object.fromEntries(pristine))
  return spawnSync('bash', ['-c', truth], { cwd: copy, timeout: 20_000 }).status === 0
}
