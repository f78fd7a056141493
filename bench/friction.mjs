// How many of 150 commands that only read does a person have to allow in default mode, and why? Another build: --agent=packages/agent/dist/index.js
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'

const named = process.argv.find((argument) => argument.startsWith('--agent='))?.slice('--agent='.length)
const agent = named === undefined ? new URL('../packages/agent/dist/index.js', import.meta.url) : pathToFileURL(resolve(named))
const { createPermissions, SessionWall } = await import(agent.href)

const root = realpathSync(mkdtempSync(join(tmpdir(), 'halting-friction-')))
const cwd = join(root, 'project')
process.env['HOME'] = join(root, 'home')

const files = {
  '../home/.gitconfig': '[user]\n\tname = A\n\temail = a@example.org\n[init]\n\tdefaultBranch = main\n',
  'package.json': '{ "name": "x", "version": "1.0.0", "scripts": { "test": "true" }, "dependencies": {} }\n',
  'README.md': '# x\n',
  'src/index.ts': "import { createServer } from 'node:http'\n// TODO\n",
  'src/server.ts': 'export function serve(): void {}\n',
  'test/index.test.ts': '// TODO\n',
  'data/rows.csv': 'a,b,c\n1,2,3\n',
  'data/access.log': '127.0.0.1 GET /\n',
  'logs/app.log.1.gz': gzipSync('line\n'),
}
for (const [name, content] of Object.entries(files)) {
  mkdirSync(dirname(join(cwd, name)), { recursive: true })
  writeFileSync(join(cwd, name), content)
}
const git = (...words) => execFileSync('git', words, { cwd, stdio: 'ignore' })
git('init', '--initial-branch=main')
git('add', '.')
git('commit', '-m', 'first')
git('tag', 'v1.0.0')
git('commit', '--allow-empty', '-m', 'second')

const list = readFileSync(new URL('friction/read-only.txt', import.meta.url), 'utf8')
const commands = list.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
/** The commands that ask, with the reason. @param {import('@halting/agent').RulePermissions} permissions */
const askedBy = (permissions) => commands.flatMap((command) => {
  const { behavior, parts } = permissions.explain(command)
  if (behavior === 'allow') return []
  const because = parts.filter((part) => part.behavior !== 'allow').map((part) => part.because)
  return [{ command, because: [...new Set(because)].join('; ').replaceAll(root, '') }]
})
/** @param {string} title @param {ReturnType<typeof askedBy>} asked */
function report(title, asked) {
  console.log(`\n${title}: ${asked.length} of ${commands.length} ask\n\n| command | why it asks |\n| --- | --- |`)
  for (const { command, because } of asked) console.log(`| \`${command.replaceAll('|', '\\|')}\` | ${because.replaceAll('|', '\\|')} |`)
}
report('By reading alone', askedBy(createPermissions({ cwd })))
if (SessionWall !== undefined) {
  const [path, home] = [process.env['PATH'] ?? '', join(root, 'home')]
  const wall = new SessionWall({ home, configFolder: join(root, 'config'), path, writable: [cwd], setting: 'auto', isSandboxed: () => false })
  report(`With the kernel behind it (${wall.means().kind})`, askedBy(createPermissions({ cwd, wall })))
}
rmSync(root, { recursive: true })
