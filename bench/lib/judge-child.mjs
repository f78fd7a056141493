// One measurement of the judge in a process of its own: `node judge-child.mjs CHECKOUT COMMANDS CWD`, one line of JSON out. COMMANDS is a file of JSON:
// the commands in their order. The first ones (`first`, 1,000) and the largest ones are reported separately.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [folder, file, cwd] = process.argv.slice(2)
const { createPermissions } = await import(pathToFileURL(join(folder, 'packages/policy/dist/index.js')).href)
const { commands, largest, first: size = 1_000 } = JSON.parse(readFileSync(file, 'utf8'))
const permissions = createPermissions({ cwd, allow: ['Bash(git status:*)', 'Bash(npm test:*)'], deny: ['Bash(rm:*)', 'Read(.env)'] })
const tool = { name: 'Bash', description: '', inputSchema: {}, readOnly: false, execute: () => '' }
const judge = (command) => permissions.decide({ call: { type: 'tool_use', id: 'x', name: 'Bash', input: { command } }, tool, readOnly: false })

/** CPU milliseconds per command. */
function cpuOf(list) {
  const before = process.cpuUsage()
  for (const command of list) judge(command)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000 / list.length
}

const first = cpuOf(commands.slice(0, size))
const later = cpuOf(commands.slice(size))
const worst = largest.length === 0 ? 0 : Math.max(...largest.map((command) => cpuOf([command])))
process.stdout.write(`${JSON.stringify({ first, later, worst })}\n`)
