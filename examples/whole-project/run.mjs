// A small project with every kind of file that halting reads from a project, used in two sessions. Run it with `node examples/whole-project/run.mjs` after `npm ci`.
// The model is scripted; everything else is real. The work happens on a copy, with its own home directory.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))
const program = process.env.HALTING_PROGRAM ?? join(here, '../../packages/cli/bin/halting.js')
const folder = mkdtempSync(join(tmpdir(), 'whole-project-'))
const project = join(folder, 'project')
const home = join(folder, 'home')
mkdirSync(home)
cpSync(join(here, 'project'), project, { recursive: true })

const env = { ...process.env, HOME: home, npm_config_update_notifier: 'false' }
const start = (command, args) => spawnSync(command, args, { cwd: project, env, encoding: 'utf8' })
const halting = (...args) => {
  console.log(`$ halting ${args.map((arg) => (/^[\w./=-]+$/.test(arg) ? arg : `'${arg}'`)).join(' ')}`)
  const { status, stdout, stderr } = start(process.execPath, [program, ...args])
  console.log([stderr, stdout].join('').trimEnd(), `\n(exit code ${status})\n`)
}

const memory = ['--settings', '{"autoMemoryEnabled":true}']
const script = (name) => ['--script', join(here, name)]

start('git', ['init', '--quiet', '.'])
halting('trust', '--yes')
halting(
  '-p',
  'Ticket 7 is yours: fix it, have it reviewed, and close it. Keep it small. We always round half a cent up.',
  '--verbose',
  '--permission-mode',
  'acceptEdits',
  '--max-budget-usd',
  '1',
  ...memory,
  ...script('first.json'),
)
halting('why')
halting('memory', 'list')
halting('-p', 'How do we round?', '--verbose', ...memory, ...script('second.json'))
console.log(start('npm', ['test']).status === 0 ? 'The tests pass.' : 'The tests fail.')

rmSync(folder, { recursive: true, force: true })
