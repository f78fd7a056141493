import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { call, here, installProgram, linesOf, run, script } from './support/program.ts'

installProgram()

const write = (name: string) => call('Write', { file_path: name, content: 'written' })

test('in default mode reading runs, and writing is denied, told to the model and listed', async () => {
  writeFileSync(join(here(), 'notes.txt'), 'the notes')
  const replies = script([
    { content: [call('Read', { file_path: 'notes.txt' })] },
    { expect: 'the notes', content: [write('denied.txt')] },
    { expect: 'Edit(/denied.txt)', content: 'I may not write.' },
  ])
  const { status, stdout } = await run(['-p', 'hi', '--output-format', 'json', '--script', replies])
  expect({ status, wasWritten: existsSync(join(here(), 'denied.txt')) }).toEqual({ status: 0, wasWritten: false })
  expect(linesOf(stdout)[0]).toMatchObject({
    subtype: 'success',
    permission_denials: [
      {
        tool_name: 'Write',
        tool_use_id: 'toolu_scripted_2_0',
        tool_input: { file_path: 'denied.txt', content: 'written' },
      },
    ],
  })
})

test('in text mode a denial is one line on stderr that names the rule which would allow it', async () => {
  const replies = script([{ content: [write('denied.txt')] }, { content: 'I may not write.' }])
  const { stdout, stderr } = await run(['-p', 'hi', '--script', replies])
  expect(stdout).toBe('I may not write.\n')
  expect(stderr).toMatch(/^halting: 1 call denied\. Write: .*Edit\(\/denied\.txt\).*\n$/)
})

test.each([
  ['--allowedTools', 'Edit'],
  ['--allowed-tools=Edit(./allowed-*)'],
  ['--permission-mode', 'acceptEdits'],
  ['--permission-mode', 'bypassPermissions'],
  ['--dangerously-skip-permissions'],
])('%s %s lets it write', async (...args) => {
  const name = `allowed-${args.join('').replaceAll(/\W/g, '')}.txt`
  const replies = script([{ content: [write(name)] }, { content: 'Done.' }])
  expect(await run(['-p', 'hi', ...args.filter((arg) => arg !== undefined), '--script', replies])).toEqual({
    status: 0,
    stdout: 'Done.\n',
    stderr: '',
  })
  expect(readFileSync(join(here(), name), 'utf8')).toBe('written')
})

test('a deny rule wins over every mode', async () => {
  const replies = script([{ content: [write('never.txt')] }, { content: 'Denied.' }])
  await run([
    '-p',
    'hi',
    '--dangerously-skip-permissions',
    '--disallowedTools',
    'Edit(./never.txt)',
    '--script',
    replies,
  ])
  expect(existsSync(join(here(), 'never.txt'))).toBe(false)
})

test.each([
  [
    ['--disallowedTools', 'Bash,Write'],
    ['Read', 'Edit', 'Glob', 'Grep', 'TaskOutput', 'TaskStop'],
  ],
  [
    ['--tools', 'Read,Grep'],
    ['Read', 'Grep'],
  ],
  [['--tools', ''], []],
])('%j decides what the model is shown', async (args, tools) => {
  const { stdout } = await run([
    '-p',
    'hi',
    '--output-format',
    'stream-json',
    '--verbose',
    ...args,
    '--script',
    script([{ content: 'ok' }]),
  ])
  expect(linesOf(stdout)[0]?.['tools']).toEqual(tools)
})

test('--add-dir is a directory to work in', async () => {
  mkdirSync(join(here(), 'inner'), { recursive: true })
  mkdirSync(join(here(), 'other'), { recursive: true })
  writeFileSync(join(here(), 'other', 'there.txt'), 'from the other side')
  const replies = (): string =>
    script([
      { content: [call('Read', { file_path: '../other/there.txt' })] },
      { expect: 'from the other side', content: 'Read.' },
    ])
  const cwd = join(here(), 'inner')
  expect(await run(['-p', 'hi', '--add-dir', '../other', '--script', replies()], { cwd })).toEqual({
    status: 0,
    stdout: 'Read.\n',
    stderr: '',
  })
  expect((await run(['-p', 'hi', '--script', replies()], { cwd })).status).toBe(1)
})
