// docs/guide/goals.md: its examples are real output.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkFlagConflicts } from '../../src/flags/flag-conflicts.ts'
import { parseFlags } from '../../src/flags/parse.ts'
import { call, here, installProgram, run, script } from '../support/program.ts'

installProgram()

const guide = readFileSync(new URL('../../../../docs/guide/goals.md', import.meta.url), 'utf8')
const blocks = (language: string): readonly string[] =>
  [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, text = '']) => text)
const shell = blocks('sh')
const lines = shell.flatMap((block) => block.split('\n')).filter((line) => line.startsWith('halting '))

/** Three turns that fix sum.js, after one that only claims to. */
const replies = [
  { content: 'I think that it passes.' },
  { content: [call('Read', { file_path: 'sum.js' })] },
  { content: [call('Edit', { file_path: 'sum.js', old_string: 'a - b', new_string: 'a + b' })] },
  { content: 'Fixed.' },
]

function project(): string {
  const cwd = mkdtempSync(join(here(), 'guide-'))
  writeFileSync(join(cwd, 'package.json'), JSON.stringify({ name: 'sums', scripts: { test: 'node test.js' } }))
  writeFileSync(join(cwd, 'sum.js'), 'module.exports = (a, b) => a - b\n')
  const body = "if (require('./sum.js')(1, 2) !== 3) {\n  console.log('1 failed')\n  process.exit(1)\n}\n"
  writeFileSync(join(cwd, 'test.js'), body)
  return cwd
}

/** The words of a line as a shell parses it. */
function wordsOf(line: string): readonly string[] {
  const out = execFileSync('bash', ['-c', `printf '%s\\0' ${line}`], { encoding: 'utf8' })
  return out.split('\0').slice(0, -1)
}

test('begins with three lines to paste', () => {
  expect(guide).toMatch(/^# Goals\n\n```sh\n(?:.+\n){3}```\n/)
})

test.each(lines)('uses flags of the program: %s', (line) => {
  const [, ...args] = wordsOf(line)
  const { flags } = parseFlags(args)
  checkFlagConflicts(flags)
  expect(flags.until).toHaveLength(line.split('--until "').length - 1)
})

test('runs the first line as shown', async () => {
  const [, ...args] = wordsOf(lines[0] ?? '')
  // The scripted model has the price of this one.
  const scripted = script(replies, 'claude-haiku-4-5')
  const { status, stderr } = await run([...args, '--script', scripted, '--allowedTools', 'Edit'], { cwd: project() })
  const masked = (text: string): string => text.trimEnd().replace(/\d+ turns,.*? m?s\b/, 'FIGURES')
  expect(status).toBe(0)
  expect(masked(stderr)).toBe(masked(blocks('text')[0] ?? ''))
})

test('applies the settings in a trusted folder', async () => {
  const cwd = project()
  const line = (shell[0] ?? '').split('\n').find((each) => each.startsWith('mkdir ')) ?? ''
  execFileSync('bash', ['-c', line], { cwd })
  const args = ['-p', 'Fix it.', '--script', script(replies), '--allowedTools', 'Edit']
  const { status, stderr } = await run([...args, '--trust'], { cwd })
  expect(status).toBe(0)
  expect(stderr).toContain('goal: npm test ✗ (try 1 of 10: 1 failed)')
})

test('runs the check with a server as described, and leaves nothing running', () => {
  const cwd = mkdtempSync(join(here(), 'server-'))
  const check = shell.find((block) => block.startsWith('# check-health.sh\n')) ?? ''
  writeFileSync(join(cwd, 'check-health.sh'), check.replaceAll('18431', String(20_000 + (process.pid % 20_000))))
  const answersTo = (path: string): number | null => {
    const server = `require('node:http').createServer((q, r) => r.writeHead(q.url === '${path}' ? 200 : 404).end()).listen(process.env.PORT)`
    writeFileSync(join(cwd, 'server.js'), server)
    const env = { ...process.env, PATH: `${process.env['PATH']}:${join(process.execPath, '..')}` }
    return spawnSync('bash', ['-o', 'pipefail', '-c', 'sh check-health.sh'], { cwd, env }).status
  }
  expect(answersTo('/health')).toBe(0)
  expect(answersTo('/other')).toBe(1)
})
