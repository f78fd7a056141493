// Plays each situation with each program and tells what it did, what it cost and how it said so. See README.md.
// Run: node bench/stopping/run.mjs [--peers=FOLDER] [--programs=halting,claude] [--only=TEXT] [--wall=SECONDS] [--json=FILE] [--halting=PROGRAM]. Needs a build, and Linux. FOLDER holds
// node_modules with the programs; those that are not there are left out.
import { fork } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { heading, numberOf, textOf } from '../lib/measure.mjs'
import { play } from './play.mjs'
import { programs } from './programs.mjs'
import { mostRequests, situations } from './situations.mjs'
import { tableOf } from './table.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
const peers = join(textOf('peers', join(here, '..')), 'node_modules')
const wallMs = numberOf('wall', 300) * 1_000
const wanted = textOf('programs', Object.keys(programs).join(',')).split(',')
const only = textOf('only', '')

const service = fork(join(here, 'service.mjs'))
const told = () => new Promise((resolve) => service.once('message', resolve))
const { port } = await told()
const ask = async (message) => {
  const answer = told()
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
      if (!title.includes(only)) continue
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
const json = textOf('json', '')
if (json !== '') writeFileSync(json, `${JSON.stringify(rows.map(({ words: _words, ...row }) => row), null, 1)}\n`)

async function rowOf(name, program, title, situation) {
  const home = join(folder, `${name}-${Object.keys(situations).indexOf(title)}`)
  const work = join(home, 'work')
  mkdirSync(work, { recursive: true })
  for (const [file, text] of Object.entries({ 'notes.txt': 'Notes.\n', 'plan.txt': 'A plan.\n', ...situation.files })) writeFileSync(join(work, file), text)
  const version = program.package === undefined ? '' : JSON.parse(readFileSync(join(peers, program.package, 'package.json'), 'utf8')).version
  const { limits, hooks, asksFirst } = situation
  const start = (prompt, resumes) => program.start({ url: `http://127.0.0.1:${port}`, home, prompt, resumes, limits, hooks, asksFirst, peers })
  if (start('', false) === undefined) return { program: name, version, title, verdict: 'has none', problems: [] }
  await ask({ situation: title })
  const played = await play({ start, home, situation, wallMs, mostRequests, figures: () => ask({}) })
  const files = (file) => (existsSync(join(work, file)) ? readFileSync(join(work, file), 'utf8') : '')
  const problems = situation.wrong({ ...played, files })
  const verdict = problems.length === 0 ? 'as it should be' : problems.join('; ')
  return { program: name, version, title, verdict, ...played, problems }
}
