// Holds R-INSTR-5 to R-INSTR-7, R-CMD-1 to R-CMD-5, R-SKILL-1, R-MENTION-1 and R-INIT-1 of docs/spec in the program.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { call, here, installProgram, linesOf, run, script } from './support/program.ts'

installProgram()

const says = (text: string) => ({ content: [{ type: 'text', text }] })

let folders = 0
let cwd = ''

beforeEach(() => {
  cwd = join(here(), `project-${++folders}`)
  mkdirSync(cwd)
})

function put(path: string, text: string): void {
  mkdirSync(dirname(join(cwd, path)), { recursive: true })
  writeFileSync(join(cwd, path), text)
}

/** The messages of a run. */
async function lines(prompt: string, replies: readonly unknown[], args: readonly string[] = []) {
  const ran = await run(
    ['-p', prompt, '--script', script(replies), '--output-format', 'stream-json', '--verbose', ...args],
    { cwd },
  )
  if (ran.stdout === '') throw new Error(ran.stderr)
  const all = linesOf(ran.stdout)
  const init = all.find(({ subtype }) => subtype === 'init')
  if (init === undefined) throw new Error(ran.stderr)
  return { ...ran, all, init }
}

test('R-INSTR-7: lists read files in init and with --verbose, and counts them in halting context', async () => {
  put('AGENTS.md', 'Use tabs. @docs/style.md @~/elsewhere.md')
  put('docs/style.md', 'Short lines.')
  writeFileSync(join(here(), 'elsewhere.md'), 'Elsewhere.')
  const { init, stderr } = await lines('hi', [says('Done.')])
  expect(init['instructions']).toEqual([join(cwd, 'AGENTS.md'), join(cwd, 'docs/style.md')])
  expect(stderr).toContain(`read ${join(cwd, 'AGENTS.md')} (40 characters)`)
  expect(stderr).toContain(`imports ${join(here(), 'elsewhere.md')}, which is outside of its folder.`)
  const { stdout } = await run(['context', '--json'], { cwd })
  expect(stdout).toContain(JSON.stringify(join(cwd, 'docs/style.md')))
  const trusting = await lines('hi', [says('Done.')], ['--trust'])
  expect(trusting.init['instructions']).toHaveLength(3)
  expect((await lines('hi', [says('Done.')], ['--setting-sources', 'user'])).init['instructions']).toBeUndefined()
})

test('R-INSTR-5: adds instructions of a subfolder to the result, and applies a deny rule', async () => {
  put('api/AGENTS.md', 'Of the API.')
  put('api/x.ts', 'let x')
  put('AGENTS.md', 'Of all.')
  const replies = [{ content: [call('Read', { file_path: 'api/x.ts' })] }, says('Done.')]
  expect((await lines('hi', replies)).stdout).toContain('Of the API.')
  const denied = await lines('hi', replies, ['--disallowedTools', 'Read(./api/AGENTS.md)'])
  expect(denied.stdout).toContain('let x')
  expect(denied.stdout).not.toContain('Of the API.')
})

test("R-INSTR-6: sends the repository's state once per session, and again after it changed", async () => {
  const git = (...args: string[]) => execFileSync('git', args, { cwd, stdio: 'pipe' })
  git('init', '-q', '-b', 'trunk')
  const first = await lines('hi', [says('One.')], ['--include-hook-events'])
  expect(first.stdout.match(/Branch: No commits yet on trunk/g)).toHaveLength(1)
  expect(first.stdout).not.toContain('halting:folder')
  const id = String(first.init['session_id'])
  expect((await lines('again', [says('Two.')], ['--resume', id])).stdout).not.toContain('Branch: ')
  put('new.txt', 'x')
  const third = await lines('once more', [ifSaid('once more')], ['--resume', id])
  expect(third.stdout).toContain('?? new.txt')
  expect(third.all.at(-1)).toMatchObject({ subtype: 'success', result: 'Heard.' })
})

/** A reply that is given only if the last user message contains the text. */
const ifSaid = (expected: string) => ({ ...says('Heard.'), expect: expected })

test('R-CMD-1, R-CMD-2: sends a slash command as its text, with its arguments and piped input', async () => {
  put('.claude/commands/git/fix.md', '---\ndescription: Fixes.\n---\nFix $1, then $2.')
  const { init, all, stderr } = await lines('/git:fix 12 "the rest"', [ifSaid('Fix 12, then the rest.')])
  expect(stderr).not.toContain("is the project's command")
  expect(init['slash_commands']).toEqual(['git:fix'])
  expect(all.at(-1)).toMatchObject({ subtype: 'success', result: 'Heard.' })
  const piped = await run(['-p', '/git:fix 1 2', '--script', script([ifSaid('Fix 1, then 2.\n\nA log')])], {
    cwd,
    stdin: 'A log',
  })
  expect(piped).toMatchObject({ status: 0, stdout: 'Heard.\n', stderr: '' })
  const unknown = await lines('/git:fox', [ifSaid('/git:fox')])
  expect(unknown.stderr).toContain('Unknown command /git:fox; sending it as a prompt. Commands: /git:fix.')
})

test('R-CMD-3, R-CMD-4: applies what a project command runs and allows only if it was trusted', async () => {
  put('.claude/commands/c.md', '---\nallowed-tools: Bash(touch:*)\n---\nSay !`echo $((6 * 7))`, then touch.')
  const touch = { content: [call('Bash', { command: 'touch made.txt' })] }
  const before = await lines('/c', [{ ...touch, expect: '(not run: the folder is not trusted)' }, says('Done.')])
  expect(before.stderr).toContain('allowed-tools: Bash(touch:*) in ')
  expect(before.all.at(-1)).toMatchObject({ permission_denials: [{ tool_name: 'Bash' }] })
  const asked = await run(['trust', '--yes'], { cwd })
  expect(asked.stderr).toContain('commands  !`echo $((6 * 7))` in ')
  const after = await lines('/c', [{ ...touch, expect: 'Say 42, then touch.' }, says('Done.')])
  expect(after.all.at(-1)).toMatchObject({ permission_denials: [] })
  // Later additions were not trusted.
  put('.claude/commands/c.md', 'Say !`echo changed`.')
  expect((await lines('/c', [ifSaid('Say (not run')])).stderr).toContain(
    'runs "echo changed". Review with `halting trust`.',
  )
})

test('R-CMD-5: uses the model of a command, unless the command line names one', async () => {
  put('.claude/commands/c.md', '---\nmodel: claude-haiku-4-5\n---\nSay it.')
  const env = { ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: 'http://127.0.0.1:9', CLAUDE_CODE_MAX_RETRIES: '0' }
  const args = ['-p', '/c', '--output-format', 'stream-json', '--verbose']
  const modelOf = async (...more: readonly string[]) =>
    linesOf((await run([...args, ...more], { cwd, env })).stdout).find(({ subtype }) => subtype === 'init')?.['model']
  expect(await modelOf('--trust')).toBe('claude-haiku-4-5')
  expect(await modelOf('--trust', '--model', 'claude-opus-4-5')).toBe('claude-opus-4-5')
  const own = await modelOf()
  expect(own).not.toBe('claude-haiku-4-5')
  // A host uses it for the run that starts with the command.
  const say = (content: string): string => JSON.stringify({ type: 'user', message: { role: 'user', content } })
  const host = ['--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose', '--trust', '-p']
  const { stdout } = await run(host, { cwd, env, stdin: `${say('/c')}\n` })
  const inits = linesOf(stdout).filter(({ subtype }) => subtype === 'init')
  expect(inits.map(({ model }) => model)).toEqual(['claude-haiku-4-5'])
})

test('R-SKILL-1: lists a skill, and sends its text when it is used', async () => {
  put('.claude/skills/deploy/SKILL.md', '---\ndescription: How to deploy.\n---\nRun the pipeline $ARGUMENTS.')
  const use = { content: [call('Skill', { skill: 'deploy', args: 'twice' })] }
  const { init, stdout } = await lines('go', [use, says('Done.')])
  expect(init).toMatchObject({ skills: ['deploy'], slash_commands: ['deploy'] })
  expect(init['tools']).toContain('Skill')
  expect(stdout).toContain(`The files of this skill are in ${join(cwd, '.claude/skills/deploy')}.`)
  expect(stdout).toContain('Run the pipeline twice.')
  const denied = await lines('go', [says('Done.')], ['--disallowedTools', 'Skill'])
  expect(denied.init).toMatchObject({ skills: [] })
  expect(denied.init['tools']).not.toContain('Skill')
  expect((await lines('go', [says('Done.')], ['--tools', 'Read'])).init['tools']).toEqual(['Read'])
})

test('R-MENTION-1: includes a mentioned file, and reports a missing one', async () => {
  put('src/a.ts', 'let a = 1')
  const { all, stderr } = await lines('Explain @src/a.ts and @gone.ts', [ifSaid('let a = 1')])
  expect(all.at(-1)).toMatchObject({ subtype: 'success' })
  expect(stderr).toContain('@gone.ts: no such file or folder. Sent as written.')
})

test('R-INIT-1: writes an AGENTS.md, and never overwrites one', async () => {
  put('package.json', '{ "scripts": { "test": "vitest" } }')
  const first = await run(['init'], { cwd })
  expect([first.status, first.stderr]).toEqual([0, ''])
  expect(readFileSync(join(cwd, 'AGENTS.md'), 'utf8')).toContain('`npm test`: `vitest`')
  put('AGENTS.md', 'Mine.')
  const second = await run(['init'], { cwd })
  expect([second.status, second.stderr]).toEqual([2, expect.stringContaining('already exists and was not changed.')])
  expect(readFileSync(join(cwd, 'AGENTS.md'), 'utf8')).toBe('Mine.')
})
