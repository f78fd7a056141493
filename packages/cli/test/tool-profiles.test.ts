// Holds rules of docs/spec: R-PATCH-5a and R-PROF-1 to R-PROF-3, in the program.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { call, type Ended, here, installProgram, linesOf, run, script } from './support/program.ts'

installProgram()

const id = '7f2a8c1e-5b7d-4e9a-8c61-0d2b4f6a7e93'
let cwd = ''
const at = (name: string): string => join(cwd, name)
const read = (name: string): string | undefined => (existsSync(at(name)) ? readFileSync(at(name), 'utf8') : undefined)
const halting = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> =>
  run(args, { cwd, env })
const patch = (body: string): unknown => ({
  content: [call('apply_patch', { input: `*** Begin Patch\n${body}\n*** End Patch` })],
})
const done = { content: 'Done.' }
const model = (...replies: readonly unknown[]): readonly string[] => ['--script', script(replies, 'claude-haiku-4-5')]
const codex = ['--tool-profile', 'codex', '--output-format', 'stream-json', '--verbose'] as const

beforeEach(() => {
  rmSync(join(here(), '.halting'), { recursive: true, force: true })
  cwd = mkdtempSync(join(here(), 'project-'))
  for (const name of ['a', 'b', 'c']) writeFileSync(at(name), `${name}\n`)
})

const ofThree = '*** Update File: a\n@@\n-a\n+1\n*** Update File: b\n@@\n-b\n+2\n*** Add File: d/new\n+3'

test('codex: applies a patch under edit rules, reports its files, and undoes it as a whole', async () => {
  const args = ['-p', 'go', ...model(patch(ofThree), done), '--session-id', id, ...codex, '--allowedTools', 'Edit']
  const { status, stdout } = await halting(args)
  expect(status).toBe(0)
  const result = linesOf(stdout).find((line) => line.type === 'user')
  expect(result).toMatchObject({ tool_use_result: { files: [{ change: 'update' }, { change: 'update' }, { change: 'add' }] } }) // prettier-ignore
  expect([read('a'), read('b'), read('d/new')]).toEqual(['1\n', '2\n', '3\n'])
  expect((await halting(['undo', '--yes'])).status).toBe(0)
  expect([read('a'), read('b'), existsSync(at('d'))]).toEqual(['a\n', 'b\n', false])
})

test('codex: applies nothing of a patch if no rule allows one of its files', async () => {
  const rules = ['--allowedTools', 'Edit(a),Edit(d/**)', '--disallowedTools', 'Edit(b)']
  await halting(['-p', 'go', ...model(patch(ofThree), done), ...codex, ...rules])
  expect([read('a'), read('b'), read('d/new')]).toEqual(['a\n', 'b\n', undefined])
})

test('codex: reports a patch as unknown on resume after a kill, and can undo what was written', async () => {
  const code = `import fs from 'node:fs/promises'; import { syncBuiltinESMExports } from 'node:module';
    const rename = fs.rename;
    fs.rename = async (from, to) => {
      if (/[/]b$/.test(String(to))) process.kill(process.pid, 'SIGKILL');
      return rename(from, to);
    };
    syncBuiltinESMExports();`
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` }
  const args = ['-p', 'go', ...model(patch(ofThree), done), '--session-id', id, ...codex, '--allowedTools', 'Edit']
  expect((await halting(args, env)).status).toBe('SIGKILL')
  expect([read('a'), read('b'), read('d/new')]).toEqual(['1\n', 'b\n', undefined])
  const resumed = await halting(['-p', '--resume', id, ...model(done), ...codex, '--allowedTools', 'Edit'])
  expect(resumed.status).toBe(0)
  expect((await halting(['sessions', 'show', id])).stdout).toContain('The outcome of this call is unknown')
  await halting(['undo', '--yes'])
  expect([read('a'), read('b'), read('d/new')]).toEqual(['a\n', 'b\n', undefined])
})

test('small: accepts fields that are not offered', async () => {
  const bash = { content: [call('Bash', { command: 'echo hi > out', timeout: 5000, description: 'Write a file' })] }
  const args = ['-p', 'go', ...model(bash, done), '--tool-profile', 'small', '--allowedTools', 'Bash']
  expect((await halting(args)).status).toBe(0)
  expect(read('out')).toBe('hi\n')
})

const offered = async (...flags: readonly string[]): Promise<readonly string[]> => {
  const { stdout } = await halting(['context', '--output-format', 'json', ...flags])
  const { parts } = JSON.parse(stdout) as {
    readonly parts: readonly { readonly kind: string; readonly name: string }[]
  }
  return parts.flatMap(({ kind, name }) => (kind === 'tool' ? [name] : [])).toSorted()
}

test('shows what a profile offers in halting context', async () => {
  const six = ['Bash', 'Edit', 'Glob', 'Grep', 'Read', 'Write']
  expect(await offered('--tool-profile', 'small')).toEqual(six)
  expect(await offered('--settings', '{"toolProfile":"small"}', '--tools', 'default,WebFetch')).toEqual([...six, 'WebFetch'].toSorted()) // prettier-ignore
  expect(await offered('--tool-profile', 'small', '--disallowedTools', 'Bash')).not.toContain('Bash')
  const patching = await offered('--tool-profile', 'codex')
  expect(patching.filter((name) => ['Edit', 'Write', 'apply_patch', 'NotebookEdit'].includes(name))).toEqual([
    'NotebookEdit',
    'apply_patch',
  ])
  expect(await offered('--tool-profile', 'codex', '--tools', 'Read,Edit')).toEqual(['Read', 'apply_patch'])
  expect(await offered('--tool-profile', 'codex', '--disallowedTools', 'Edit')).not.toContain('apply_patch')
})

test('shows where the profile comes from in halting config, and refuses an unknown name with a list', async () => {
  const { stdout } = await halting(['config', '--tool-profile', 'codex'])
  expect(stdout).toMatch(/toolProfile.*codex/)
  expect(stdout).toContain('--tool-profile')
  expect(await halting(['-p', 'hi', '--tool-profile', 'smal'])).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/default, codex, small.*Did you mean small/s) as string,
  })
})
