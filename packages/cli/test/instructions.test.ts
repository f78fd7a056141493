// Holds R-INSTR-1 to R-INSTR-7 of docs/spec.md in the program.
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
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

/** What a run told, message by message. */
async function lines(prompt: string, replies: readonly unknown[], args: readonly string[] = []) {
  const told = await run(
    ['-p', prompt, '--script', script(replies), '--output-format', 'stream-json', '--verbose', ...args],
    { cwd },
  )
  if (told.stdout === '') throw new Error(told.stderr)
  const all = linesOf(told.stdout)
  const init = all.find(({ subtype }) => subtype === 'init')
  if (init === undefined) throw new Error(told.stderr)
  return { ...told, all, init }
}

test('R-INSTR-7: what was read is in init, told with --verbose, and counted by halting context', async () => {
  put('AGENTS.md', 'Use tabs. @docs/style.md @~/elsewhere.md')
  put('docs/style.md', 'Short lines.')
  writeFileSync(join(here(), 'elsewhere.md'), 'Elsewhere.')
  const { init, stderr } = await lines('hi', [says('Done.')])
  expect(init['instructions']).toEqual([join(cwd, 'AGENTS.md'), join(cwd, 'docs/style.md')])
  expect(stderr).toContain(`read ${join(cwd, 'AGENTS.md')} (40 characters)`)
  expect(stderr).toContain(`${join(here(), 'elsewhere.md')}, which is outside of its folder: it does not count.`)
  const { stdout } = await run(['context', '--json'], { cwd })
  expect(stdout).toContain(JSON.stringify(join(cwd, 'docs/style.md')))
  const trusting = await lines('hi', [says('Done.')], ['--trust'])
  expect(trusting.init['instructions']).toHaveLength(3)
  expect((await lines('hi', [says('Done.')], ['--setting-sources', 'user'])).init['instructions']).toBeUndefined()
})

test('R-INSTR-5: a folder below tells its own with the result, and a deny rule holds', async () => {
  put('api/AGENTS.md', 'Of the API.')
  put('api/x.ts', 'let x')
  put('AGENTS.md', 'Of all.')
  const replies = [{ content: [call('Read', { file_path: 'api/x.ts' })] }, says('Done.')]
  expect((await lines('hi', replies)).stdout).toContain('Of the API.')
  const denied = await lines('hi', replies, ['--disallowedTools', 'Read(./api/AGENTS.md)'])
  expect(denied.stdout).toContain('let x')
  expect(denied.stdout).not.toContain('Of the API.')
})

test('R-INSTR-6: the state of the repository is told once in a session, and again where it has changed', async () => {
  const git = (...args: string[]) => execFileSync('git', args, { cwd, stdio: 'pipe' })
  git('init', '-q', '-b', 'trunk')
  const first = await lines('hi', [says('One.')], ['--include-hook-events'])
  expect(first.stdout.match(/Branch: No commits yet on trunk/g)).toHaveLength(1)
  expect(first.stdout).not.toContain('halting:folder')
  const id = String(first.init['session_id'])
  expect((await lines('again', [says('Two.')], ['--resume', id])).stdout).not.toContain('Branch: ')
  put('new.txt', 'x')
  expect((await lines('again', [says('Three.')], ['--resume', id])).stdout).toContain('?? new.txt')
})
