// What does it cost to judge one command? CPU of the first 1,000 commands of a fresh process, of those after them, and of the largest; then p50 and p99
// over the corpora. The sources of the corpora are those of the tests. See README.md.
// Run: node bench/judge.mjs [--before=FOLDER] [--repeats=N] [--node=PATH] [--data=FILE.jsonl.gz] [--only=cpu|times] [--list=daily|hostile|sessions]. Needs a build, and none of the peers.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { transformSync } from 'esbuild'
import { builtPackage, comparedBuilds, heading, medians, ms, node, numberOf, table, textOf } from './lib/measure.mjs'

const worst = readFileSync(new URL('../packages/policy/test/judge/worst-commands.ts', import.meta.url), 'utf8')
const { code } = transformSync(worst, { loader: 'ts', format: 'esm' })
const { worstCommands } = await import(`data:text/javascript,${encodeURIComponent(code)}`)

const folder = new URL('../packages/policy/test/judge/corpus/', import.meta.url)
const root = realpathSync(mkdtempSync(join(tmpdir(), 'halting-bench-')))
const cwd = join(root, 'project')
execFileSync('git', ['init', '--quiet', cwd])
const names = readdirSync(folder).filter((name) => name.endsWith('.txt'))
const hostile = names.filter((name) => name.startsWith('commands')).flatMap(commandsOf)
const daily = commandsOf('friction.txt')
const largest = worstCommands.map(({ command }) => command)

const only = textOf('only', '')
if (only !== 'times') cpu()
if (only !== 'cpu') await times()
if (!process.argv.includes("--keep")) rmSync(root, { recursive: true })

function commandsOf(name) {
  const lines = readFileSync(new URL(name, folder), 'utf8').split('\n')
  return lines.filter((line) => line !== '' && !/^(?:==|\/\/|setup:)/.test(line)).map((line) => line.replaceAll('⏎', '\n'))
}

/** Commands of recorded sessions, if the file exists: it is not shipped. */
function recorded() {
  const data = textOf('data', fileURLToPath(new URL('../../shared/data/trajectories/live.jsonl.gz', import.meta.url)))
  if (!existsSync(data)) return []
  const steps = gunzipSync(readFileSync(data)).toString('utf8').split('\n').filter(Boolean).flatMap((line) => JSON.parse(line).steps ?? [])
  return steps.flatMap(({ tool, input }) => {
    const command = tool === 'Bash' && input?.s !== undefined && input.len <= 300 ? JSON.parse(input.s).command : undefined
    return typeof command === 'string' ? [command] : []
  })
}

/** Daily commands and those of sessions, evenly mixed: every part of the list has the same share of both. */
function mixed() {
  const lists = [daily, recorded()].map((list) => list.map((command, at) => ({ command, place: (at + 0.5) / list.length })))
  return lists.flat().toSorted((one, other) => one.place - other.place).map(({ command }) => command)
}

function cpu() {
  const repeats = numberOf('repeats', 7)
  const sessions = mixed().slice(0, 2_000)
  // Each list in processes of its own. The daily one is short, so later commands repeat it.
  const lists = [
    ['daily', { commands: [...daily, ...daily], first: daily.length, largest }],
    ['hostile', { commands: hostile.slice(0, 2_000), largest: [] }],
    ...(recorded().length === 0 ? [] : [['sessions, one of eight daily', { commands: sessions, largest: [] }]]),
  ].filter(([name]) => name.startsWith(textOf('list', '')))
  heading('CPU of a judged command')
  console.log(`Medians of ${repeats} fresh processes, in turns.\n`)
  const rows = lists.flatMap(([name, list]) => rowsOf(name, list, repeats))
  console.log(table(['ms of CPU', 'first 1,000', 'later', 'worst of the largest'], rows))
}

function rowsOf(name, list, repeats) {
  const file = join(root, 'commands.json')
  writeFileSync(file, JSON.stringify(list))
  const builds = comparedBuilds().map((build) => ({ ...build, samples: [] }))
  const child = fileURLToPath(new URL('lib/judge-child.mjs', import.meta.url))
  for (let round = 0; round < repeats; round += 1)
    for (const { folder: checkout, samples } of builds) samples.push(JSON.parse(execFileSync(node, [child, checkout, file, cwd], { encoding: 'utf8' })))
  return builds.map(({ label, samples }) => {
    const { first, later, worst } = medians(samples)
    return [`${label}${name}`, ms(first), ms(later), list.largest.length === 0 ? '' : ms(worst)]
  })
}

async function times() {
  const { createPermissions } = await builtPackage('policy')
  const rules = { cwd, allow: ['Bash(git status:*)', 'Bash(npm test:*)'], deny: ['Bash(rm:*)', 'Read(.env)'] }
  const permissions = createPermissions(rules)
  const tool = { name: 'Bash', description: '', inputSchema: {}, readOnly: false, execute: () => '' }
  const judge = (command) => permissions.decide({ call: { type: 'tool_use', id: 'x', name: 'Bash', input: { command } }, tool, readOnly: false })
  const measured = (commands, rounds = 5) => {
    const spent = []
    for (let round = 0; round < rounds; round += 1)
      for (const command of commands) {
        const before = process.cpuUsage()
        judge(command)
        const { user, system } = process.cpuUsage(before)
        spent.push([(user + system) / 1_000, command])
      }
    spent.sort(([a], [b]) => a - b)
    const at = (share) => spent[Math.min(spent.length - 1, Math.floor(spent.length * share))][0].toFixed(2)
    return [at(0.5), at(0.99), at(1), `\`${spent.at(-1)[1].slice(0, 40).replaceAll('\n', ' ').replaceAll('|', '\\|')}\``]
  }
  measured(daily, 3)
  heading('CPU of one command, by corpus')
  const rows = [['hostile', hostile], ['daily', daily], ['largest (100 kB)', largest]].map(([name, commands]) => [name, String(commands.length), ...measured(commands)])
  console.log(table(['', 'commands', 'p50 ms', 'p99 ms', 'worst ms', 'which'], rows))
}
