// How many commands of real sessions does a person have to allow, by mode? See README.md.
// Run: node bench/asks.mjs [--data=FILE.jsonl.gz] [--policy=packages/policy/dist/index.js] [--without-edits] [--reasons]. Needs a build, and none of the peers.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { table } from './lib/measure.mjs'

const option = (name) => process.argv.find((argument) => argument.startsWith(`--${name}=`))?.slice(name.length + 3)
const has = (name) => process.argv.includes(`--${name}`)
const data = option('data') ?? fileURLToPath(new URL('../../shared/data/trajectories/live.jsonl.gz', import.meta.url))
if (!existsSync(data)) {
  console.error(`There is no file ${data}. Give the path of a .jsonl.gz file of recorded runs: node bench/asks.mjs --data=FILE`)
  process.exit(2)
}
const policy = option('policy')
const entry = policy === undefined ? new URL('../packages/policy/dist/index.js', import.meta.url) : pathToFileURL(resolve(policy))
const { createPermissions, SessionWall } = await import(entry.href)

const root = realpathSync(mkdtempSync(join(tmpdir(), 'halting-asks-')))
// Neither the measured project nor the home is a folder of /tmp: people have them elsewhere.
const cwd = join(root, 'home/project')
process.env['HOME'] = join(root, 'home')
mkdirSync(cwd, { recursive: true })
writeFileSync(join(root, 'home/.gitconfig'), '[user]\n\tname = A\n\temail = a@example.org\n[init]\n\tdefaultBranch = main\n')
const git = (...words) => execFileSync('git', words, { cwd, stdio: 'ignore' })
git('init', '--initial-branch=main')
git('commit', '--allow-empty', '-m', 'first')

/** Paths of files in the inputs of a run's other tools, and folders that its commands go to. */
function pathsOf(steps) {
  const files = []
  const folders = []
  for (const { tool, input } of steps) {
    const text = input?.s ?? ''
    const file = /^(?:Read|Edit|Write|MultiEdit|NotebookEdit)$/.test(tool) ? /"(?:file|notebook)_path":\s*"(\/[^"]+)"/.exec(text)?.[1] : undefined
    if (file !== undefined) files.push(file)
    if (tool === 'Bash') folders.push(...[...text.matchAll(/(?:\bcd|-C) (\/[\w./-]+)/g)].map((found) => found[1]))
  }
  return { files, folders }
}

/** The folder in which a run worked: the innermost one that contains four of five files that it read or changed, or a parent of it that its commands go to. */
function projectOf(steps) {
  const { files, folders } = pathsOf(steps)
  let names = []
  for (;;) {
    const counts = new Map()
    for (const file of files) {
      const parts = file.split('/').slice(1, -1)
      const next = parts[names.length]
      if (next !== undefined && names.every((name, at) => parts[at] === name)) counts.set(next, (counts.get(next) ?? 0) + 1)
    }
    const [best] = [...counts].sort((one, other) => other[1] - one[1])
    if (best === undefined || best[1] < 0.8 * files.length) break
    names = [...names, best[0]]
  }
  const inner = `/${names.join('/')}`
  const around = folders.filter((folder) => names.length > 0 && `${inner}/`.startsWith(`${folder}/`) && folder.split('/').length > 3)
  const [outermost] = around.sort((one, other) => one.length - other.length)
  return names.length < 3 ? undefined : (outermost ?? inner)
}

/** The inputs of Bash that were recorded completely. The folder of the recorded run is the project here, unless `--as-recorded`. */
function inputs() {
  const runs = gunzipSync(readFileSync(data)).toString('utf8').split('\n').filter(Boolean)
  return runs.flatMap((line) => {
    const { steps = [] } = JSON.parse(line)
    const project = has('as-recorded') ? undefined : projectOf(steps)
    return steps.flatMap(({ tool, input }) => {
      if (tool !== 'Bash' || input?.s === undefined || input.len > 300) return []
      const value = JSON.parse(input.s)
      if (typeof value.command !== 'string') return []
      const command = project === undefined ? value.command : value.command.replaceAll(project, cwd)
      return [{ ...value, command }]
    })
  })
}

const calls = inputs()
const session = new SessionWall({
  home: join(root, 'home'),
  configFolder: join(root, 'config'),
  path: process.env['PATH'] ?? '',
  writable: [cwd],
  setting: 'auto',
  isSandboxed: () => false,
  ...(has('without-edits') && { editsOff: 'it is measured without' }),
})
/** Assumes that commands can be tried: whether they can does not affect the number of questions. */
const trying = { means: () => session.means(), edits: () => session.edits(), reads: (...given) => session.reads(...given), trials: () => ({ kind: 'overlay' }) }
const tool = { name: 'Bash', description: '', inputSchema: {}, readOnly: false, execute: () => '' }
const { signal } = new AbortController()
const requestOf = (input, at) => ({ call: { type: 'tool_use', id: `call_${at}`, name: 'Bash', input }, tool, readOnly: false, signal })

/** Words of commands that are known to leave files behind, so that a trial decides nothing. */
const leavesFiles =
  /(?:^|[\s:/_-])(?:build|compile|fmt|format|fix|gen|generate|codegen|install|setup|release|deploy|migrate|snapshot|record|clean|init|update|upgrade)(?:$|[\s:;&|_-])|\s(?:-w|--write|--fix|-o|--output|--out|-coverprofile)(?:=|\s)|\btee\s|\bgit (?:\S+ )*?(?:add|commit|rm|restore|reset|tag|branch|checkout|switch)\b/

/** The calls that ask, with the reason. */
async function asked(mode, tries = false) {
  const trial = { run: (call) => Promise.resolve(leavesFiles.test(call.command) ? 'it leaves files' : undefined) }
  const permissions = createPermissions({ cwd, mode, wall: tries ? trying : session, ...(tries && { trial }) })
  const found = []
  for (const [at, input] of calls.entries()) {
    const decision = await permissions.decide(requestOf(input, at))
    if (decision.behavior !== 'allow') found.push({ input, why: kindOf(decision.message) })
  }
  return found
}

/** A reason without the details of one command. */
function kindOf(message) {
  const [sentence = ''] = message.split(/\. /, 1)
  if (/^(?:no rule allows (?:reading|writing|changing)) /.test(sentence)) return sentence.replace(/ \/.*$/s, ' a path outside, or one that is obeyed later')
  return sentence.replace(/\.$/, '').replace(/^it sets \w+/, 'it sets a variable').replace(/, and it is not known what .* does there$/s, ', and it is not known what the rest of the line does there').slice(0, 120)
}

/** The program of a call, with its subcommand if it has any. */
function programOf({ command }) {
  const words = command.replace(/^(?:cd \S+ && )+/, '').trim().split(/\s+/)
  const [first = '', second = ''] = words
  return /^(?:git|go|npm|mise|cargo|docker|gh)$/.test(first) && /^[a-z-]+$/.test(second) ? `${first} ${second}` : first.replace(/^.*\//s, '').slice(0, 20)
}

function counted(list) {
  const counts = new Map()
  for (const one of list) counts.set(one, (counts.get(one) ?? 0) + 1)
  return [...counts].sort((one, other) => other[1] - one[1])
}

const per100 = (count, of = calls.length) => ((100 * count) / of).toFixed(1)
try {
  const modes = [
    ['default', await asked('default')],
    ['default, `tryReadOnly`', await asked('default', true)],
    ['acceptEdits', await asked('acceptEdits')],
  ]
  console.log(`${calls.length} commands; reading is confined by ${session.means().kind}, changes by ${session.edits().kind}\n`)
  console.log(table(['mode', 'asks', 'of 100'], modes.map(([name, list]) => [name, String(list.length), per100(list.length)])))
  const programs = counted(calls.map(programOf)).slice(0, 25)
  const byProgram = modes.map(([, list]) => new Map(counted(list.map(({ input }) => programOf(input)))))
  console.log('\nAsks of 100 commands, by program\n')
  console.log(table(['program', 'commands', ...modes.map(([name]) => name)], programs.map(([name, count]) => [name, String(count), ...byProgram.map((counts) => per100(counts.get(name) ?? 0, count))])))
  for (const [name, list] of modes) {
    console.log(`\nWhy commands ask: ${name}\n`)
    console.log(table(['reason', 'of 100'], counted(list.map(({ why }) => why)).slice(0, 15).map(([why, count]) => [why.replaceAll('|', '\\|'), per100(count)])))
  }
} finally {
  session.dispose()
  rmSync(root, { recursive: true, force: true })
}
