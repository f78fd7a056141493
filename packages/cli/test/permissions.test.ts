import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { call, here, installProgram, linesOf, run, script } from './support/program.ts'
import { given, one } from './support/servers.ts'

installProgram()

const write = (name: string) => call('Write', { file_path: name, content: 'written' })

test('runs reads in default mode, and denies writes, informs the model and lists them', async () => {
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

/** The command at the end of a report, as a shell parses it. */
function pasted(stderr: string): readonly string[] {
  const [, command = ''] = /Allow them and (?:run it again|continue):\n {2}(halting .*)\n$/s.exec(stderr) ?? []
  const words = execFileSync('bash', ['-c', `halting() { printf '%s\\0' "$@"; }; ${command}`], { encoding: 'utf8' })
  return words.split('\0').slice(0, -1)
}

test('ends denials with one command to paste that continues with the missing permissions (spec R-TEXT-6)', async () => {
  const command = 'touch "it\'s" && echo $HOME'
  const replies = script([
    { content: [write('denied.txt'), call('Bash', { command })] },
    { content: 'I may not.', repeat: 9 },
  ])
  const prompt = 'Write "it", don\'t\nask `why` $HOME!'
  const { stdout, stderr } = await run(['-p', prompt, '--script', replies])
  expect(stdout).toBe('I may not.\n')
  expect(stderr).toMatch(/^halting: 2 calls denied: Write denied\.txt, Bash touch .*\. Allow them and continue:/)
  const again = pasted(stderr)
  expect(again.slice(0, 3)).toEqual(['-p', 'The calls that were denied are allowed now. Try them again.', '--resume'])
  const same = script([{ content: [write('denied.txt'), call('Bash', { command })] }, { content: 'Done.' }])
  expect(await run(again.map((word) => (word === replies ? same : word)))).toMatchObject({
    stdout: 'Done.\n',
    stderr: '! Not checked: 1 file changed +1 −0, and no check has passed since.\n',
  })
  expect(existsSync(join(here(), "it's"))).toBe(true)
  rmSync(join(here(), 'denied.txt'))
})

test('allows a denied call of a server with the offered command (spec R-TEXT-6)', async () => {
  const config = join(here(), 'servers.json')
  writeFileSync(config, given({ s: one('good') }))
  const echo = call('mcp__s__do', {})
  const flags = ['--mcp-config', config]
  const denied = await run(['-p', 'hi', ...flags, '--script', script([{ content: [echo] }, { content: 'I may not.' }])])
  const again = pasted(denied.stderr)
  expect(again.slice(-2)).toEqual(['--allowedTools', 'mcp__s__do'])
  const replies = script([{ content: [echo] }, { content: 'Done.' }])
  const at = again.indexOf('--script') + 1
  expect(await run(again.with(at, replies))).toMatchObject({ status: 0, stdout: 'Done.\n', stderr: '' })
})

test('offers a mode for edits of several files, and repeats piped input if nothing is stored (spec R-TEXT-6)', async () => {
  const replies = script([{ content: [write('x.txt'), write('y.txt')] }, { content: 'I may not.' }])
  const { stderr } = await run(['-p', '--permission-mode', 'plan', '--no-session-persistence', '--script', replies], {
    stdin: 'piped in',
  })
  expect(pasted(stderr)).toEqual([
    '-p',
    'piped in',
    '--no-session-persistence',
    '--script',
    replies,
    '--permission-mode',
    'acceptEdits',
  ])
})

test('offers no rule that the flag would not parse (spec R-TEXT-6)', async () => {
  const replies = script([{ content: [write('a).txt'), write('b.txt')] }, { content: 'I may not.' }])
  const { stderr } = await run(['-p', 'hi', '--script', replies])
  expect(stderr).toContain('halting: 1 call denied. Write: Not allowed: no rule allows Write on')
  expect(pasted(stderr).slice(-2)).toEqual(['--allowedTools', 'Edit(/b.txt)'])
})

test('offers nothing against a deny rule (spec R-TEXT-6)', async () => {
  const replies = script([{ content: [write('never.txt')] }, { content: 'I may not.' }])
  const { stderr } = await run(['-p', 'hi', '--disallowedTools', 'Edit(./never.txt)', '--script', replies])
  expect(stderr).toMatch(/^halting: 1 call denied\. Write: .*Edit\(\.\/never\.txt\).*\n$/)
})

test.each([
  ['--allowedTools', 'Edit'],
  ['--allowed-tools=Edit(./allowed-*)'],
  ['--permission-mode', 'acceptEdits'],
  ['--permission-mode', 'bypassPermissions'],
  ['--dangerously-skip-permissions'],
])('%s %s allows a write', async (...args) => {
  const name = `allowed-${args.join('').replaceAll(/\W/g, '')}.txt`
  const replies = script([{ content: [write(name)] }, { content: 'Done.' }])
  expect(await run(['-p', 'hi', ...args.filter((arg) => arg !== undefined), '--script', replies])).toEqual({
    status: 0,
    stdout: 'Done.\n',
    stderr: '',
  })
  expect(readFileSync(join(here(), name), 'utf8')).toBe('written')
})

test.each([
  ['--allowedTools', 'Edit,Write,NotebookEdit,Edit(**),Edit(//**),Edit(~/**)'],
  ['--permission-mode', 'acceptEdits'],
])('%s %s writes no file that other programs execute or obey later (spec R-RULE-7b)', async (...args) => {
  const [project, home] = ['obeying', 'person'].map((name) => join(here(), name)) as [string, string]
  for (const folder of ['.git/hooks', '.cursor', 'src']) mkdirSync(join(project, folder), { recursive: true })
  mkdirSync(join(home, '.ssh'), { recursive: true })
  symlinkSync(join(project, '.git/hooks'), join(project, 'h'))
  const paths = [
    '.git/hooks/pre-commit',
    'h/pre-commit',
    '.GIT/hooks/x',
    '.git\u200B/x',
    '.vimrc',
    '.cursor/mcp.json',
    '.pnp.cjs',
  ]
  paths.push(
    '.halting/settings.json',
    'opencode.json',
    '~/.bashrc',
    '~/.ssh/authorized_keys',
    join(home, '.config/autostart/x'),
  )
  const calls = paths.flatMap((path) => [
    write(path),
    call('Edit', { file_path: path, old_string: '', new_string: 'written' }),
    call('Bash', { command: `echo written > ${path}` }),
    call('Bash', { command: `cp src/a.txt ${path}` }),
  ])
  const replies = script([
    { content: [write('src/a.txt')] },
    ...calls.map((one) => ({ content: [one] })),
    { content: 'Done.', repeat: 9 },
  ])
  const before = namesIn(here())
  const { stdout } = await run(['-p', 'hi', ...args.filter((arg) => arg !== undefined), '--script', replies], {
    cwd: project,
    env: { HOME: home },
  })
  expect(stdout).toBe('Done.\n')
  expect(namesIn(here()).filter((name) => !before.includes(name) && !/person\/\.halting/.test(name))).toEqual([
    './obeying/src/a.txt',
  ])
  rmSync(project, { recursive: true })
  rmSync(home, { recursive: true })
})

function namesIn(folder: string): readonly string[] {
  return execFileSync('find', ['.'], { cwd: folder, encoding: 'utf8' }).split('\n')
}

test('lets a deny rule override every mode', async () => {
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
    [
      'Read',
      'Edit',
      'Glob',
      'Grep',
      'TaskOutput',
      'TaskStop',
      'Wait',
      'TaskCreate',
      'TaskUpdate',
      'TaskList',
      'TaskGet',
      'NotebookEdit',
      'WebFetch',
      'Agent',
    ],
  ],
  [
    ['--tools', 'Read,Grep'],
    ['Read', 'Grep'],
  ],
  [['--tools', ''], []],
])('selects the offered tools with %j', async (args, tools) => {
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

test('adds a working directory with --add-dir', async () => {
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
