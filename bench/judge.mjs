// What does it cost to judge one command? p50 and p99 over the corpora, and the largest commands. The sources of the corpora are those of the tests.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { transformSync } from 'esbuild'
import { createPermissions } from '../packages/policy/dist/index.js'

const worst = readFileSync(new URL('../packages/policy/test/judge/worst-commands.ts', import.meta.url), 'utf8')
const { code } = transformSync(worst, { loader: 'ts', format: 'esm' })
const { worstCommands } = await import(`data:text/javascript,${encodeURIComponent(code)}`)

const folder = new URL('../packages/policy/test/judge/corpus/', import.meta.url)
const cwd = mkdtempSync(join(tmpdir(), 'halting-bench-'))
const rules = { cwd, allow: ['Bash(git status:*)', 'Bash(npm test:*)'], deny: ['Bash(rm:*)', 'Read(.env)'] }
const permissions = createPermissions(rules)
const tool = { name: 'Bash', description: '', inputSchema: {}, readOnly: false, execute: () => '' }
const judge = (command) =>
  permissions.decide({ call: { type: 'tool_use', id: 'x', name: 'Bash', input: { command } }, tool, readOnly: false })

function commandsOf(name) {
  const lines = readFileSync(new URL(name, folder), 'utf8').split('\n')
  return lines.filter((line) => line !== '' && !/^(?:==|\/\/|setup:)/.test(line)).map((line) => line.replaceAll('⏎', '\n'))
}

function measured(commands, rounds = 5) {
  const times = []
  for (let round = 0; round < rounds; round += 1)
    for (const command of commands) {
      const begin = performance.now()
      judge(command)
      times.push([performance.now() - begin, command])
    }
  times.sort(([a], [b]) => a - b)
  const at = (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))][0].toFixed(2)
  return { p50: at(0.5), p99: at(0.99), worst: at(1), of: times.at(-1)[1].slice(0, 40) }
}

const names = readdirSync(folder).filter((name) => name.endsWith('.txt'))
const hostile = names.filter((name) => name.startsWith('commands')).flatMap(commandsOf)
const daily = commandsOf('friction.txt')
measured(daily, 3)
console.log('| | commands | p50 ms | p99 ms | worst ms | which |\n| --- | ---: | ---: | ---: | ---: | --- |')
for (const [name, commands] of [['hostile', hostile], ['daily', daily], ['largest (100 kB)', worstCommands.map(({ command }) => command)]]) {
  const { p50, p99, worst, of } = measured(commands)
  console.log(`| ${name} | ${commands.length} | ${p50} | ${p99} | ${worst} | \`${of.replaceAll('\n', ' ').replaceAll('|', '\\|')}\` |`)
}
rmSync(cwd, { recursive: true })
