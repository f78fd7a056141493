// Holds rules of docs/spec: R-MEM-2, R-MEM-7, R-DREAM-5: what halting memory prints and changes, and what a session receives.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { memoryPlace } from '@halting/agent'
import { expect, test } from 'vitest'
import { type Ended, here, installProgram, linesOf, run, script } from './support/program.ts'

installProgram()

const session = '11111111-2222-4333-8444-555555555555'

interface Project {
  readonly cwd: string
  readonly home: string
  /** The folder of its notes. */
  readonly folder: string
  readonly halting: (args: readonly string[], env?: Readonly<Record<string, string>>) => Promise<Ended>
}

/** A folder, and a user with settings. */
function project(settings: unknown = { autoMemoryEnabled: true }): Project {
  const home = mkdtempSync(join(here(), 'home-'))
  const cwd = join(home, 'work')
  const folder = memoryPlace({ cwd, home, env: {} }).path
  mkdirSync(cwd)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(home, '.halting/settings.json'), JSON.stringify(settings))
  return { cwd, home, folder, halting: (args, env = {}) => run(args, { cwd, env: { HOME: home, ...env } }) }
}

const line = (id: string, text: string): string => `- ${text} <!-- note ${id} 2026-11-01 ${session}/m-${id} -->\n`

function withNotes(settings?: unknown): Project {
  const made = project(settings)
  writeFileSync(
    join(made.folder, 'preferences.md'),
    `---\nname: preferences\ndescription: how\n---\n\n${line('00000001', 'I want short answers.')}${line('00000002', 'Please be brief.')}`,
  )
  writeFileSync(join(made.folder, 'MEMORY.md'), '- [preferences](preferences.md): how\n')
  return made
}

test('lists, shows and forgets notes with their sources', async () => {
  const { halting, folder } = withNotes({})
  const listed = await halting(['memory'])
  expect(listed).toEqual({
    status: 0,
    stderr: '',
    stdout:
      'preferences: how (2 notes)\n  00000001  2026-11-01  I want short answers.\n  00000002  2026-11-01  Please be brief.\n',
  })
  expect(JSON.parse((await halting(['memory', 'list', '--json'])).stdout)).toMatchObject({
    folder,
    enabled: false,
    topics: [
      {
        topic: 'preferences',
        notes: [{ id: '00000001', sources: [{ session_id: session, message_uuid: 'm-00000001' }] }, {}],
      },
    ],
    problems: [],
  })
  expect((await halting(['memory', 'show', '00000002'])).stdout).toBe(
    `Please be brief.\n  00000002 in preferences, 2026-11-01\n  from message m-00000002 of session ${session}\n`,
  )
  expect((await halting(['memory', 'show', 'preferences'])).stdout).toBe(
    readFileSync(join(folder, 'preferences.md'), 'utf8'),
  )
  expect((await halting(['memory', 'forget', '00000001'])).stdout).toBe('Deleted: 00000001  I want short answers.\n')
  expect((await halting(['memory'])).stdout).toContain('(1 note)')
})

test.each([
  [['memory', 'lst'], 'Did you mean list?'],
  [['memory', 'list', 'more'], 'takes no arguments'],
  [['memory', 'show'], 'takes one topic'],
  [['memory', 'show', 'preference'], 'Did you mean preferences?'],
  [['memory', 'forget'], 'takes the IDs of notes'],
  [['memory', 'forget', '00000001', 'ffffffff'], 'no topic or note "ffffffff"'],
  [['memory', 'dream', 'again'], 'or undo'],
  [['memory', '--all'], '--all belongs to halting sessions'],
])('refuses %j with exit code 2, and forgets nothing', async (args, says) => {
  const { halting, folder } = withNotes()
  const { status, stderr, stdout } = await halting(args)
  expect([status, stdout]).toEqual([2, ''])
  expect(stderr).toContain(says)
  expect(readFileSync(join(folder, 'preferences.md'), 'utf8')).toContain('00000001')
})

test('says where notes would be if there are none', async () => {
  const { halting, folder } = project()
  expect(await halting(['memory'])).toEqual({
    status: 0,
    stdout: '',
    stderr: `halting: no notes of earlier sessions in this folder (${folder}).\n`,
  })
})

test('removes terminal controls from notes', async () => {
  const { halting, folder } = project()
  writeFileSync(
    join(folder, 'user.md'),
    `${line('00000001', 'a \u001B]0;title\u0007\u001B[2Jb\u202Ec')}\u001B[31mby hand\n`,
  )
  for (const args of [['memory'], ['memory', 'show', '00000001']])
    // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
    expect((await halting(args)).stdout).not.toMatch(/[\u0000-\u0008\u000B-\u001F\u202E]/)
})

const answer = (value: unknown): unknown => [{ type: 'text', text: JSON.stringify(value) }]

test('asks the model once for a dream, reports what changed, and reverts it with undo', async () => {
  const { halting, folder } = withNotes()
  const before = readFileSync(join(folder, 'preferences.md'), 'utf8')
  const merge = [{ from: ['00000001', '00000002'], sentences: ['00000001.1'] }]
  const dreams = script([{ content: answer({ merge, drop: [] }) }])
  const dreamed = await halting(['memory', 'dream', '--script', dreams])
  expect([dreamed.status, dreamed.stdout]).toEqual([0, '2 notes before, 1 now: 1 merged or shortened, 0 dropped.\n'])
  expect(dreamed.stderr).toContain('halting memory dream undo')
  expect((await halting(['memory'])).stdout).toContain('I want short answers.')
  const undone = await halting(['memory', 'dream', 'undo'])
  expect([undone.status, undone.stdout.startsWith('Undone: the dream of ')]).toEqual([0, true])
  expect(readFileSync(join(folder, 'preferences.md'), 'utf8')).toBe(before)
  const again = await halting(['memory', 'dream', 'undo'])
  expect([again.status, again.stderr]).toEqual([1, 'halting: there is no dream to undo.\n'])
})

test('leaves everything unchanged and fails if a dream returns nonsense', async () => {
  const { halting, folder } = withNotes()
  const before = readFileSync(join(folder, 'preferences.md'), 'utf8')
  const dreams = script([{ content: answer('no') }, { content: answer({ merge: [], drop: ['everything'] }) }])
  const { status, stderr } = await halting(['memory', 'dream', '--script', dreams])
  expect([status, stderr]).toEqual([
    1,
    'halting: the notes were not changed (failed): the answer names notes that are not there\n',
  ])
  expect(readFileSync(join(folder, 'preferences.md'), 'utf8')).toBe(before)
})

async function shown(made: Project, more: readonly string[] = [], env?: Readonly<Record<string, string>>) {
  const replies = script([{ content: answer('ok') }])
  const args = ['-p', 'hi', '--output-format', 'stream-json', '--verbose', '--script', replies, ...more]
  const { stdout, stderr } = await made.halting(args, env)
  return { init: linesOf(stdout)[0], stderr }
}

test('sends the notes to a session if its user wants that, and only there', async () => {
  const made = withNotes()
  const index = join(made.folder, 'MEMORY.md')
  expect((await shown(made)).init?.['instructions']).toEqual([index])
  const context = await made.halting(['context', '--json'])
  expect(context.stdout).toContain(JSON.stringify(index))
  for (const env of [{ CLAUDE_CODE_DISABLE_AUTO_MEMORY: '1' }])
    expect((await shown(made, [], env)).init?.['instructions'] ?? []).toEqual([])
  expect((await shown(withNotes({}))).init?.['instructions'] ?? []).toEqual([])
  const denied = await shown(made, ['--disallowedTools', `Read(/${made.folder}/**)`])
  expect(denied.init?.['instructions'] ?? []).toEqual([])
  expect(denied.stderr).toContain('MEMORY.md was not read: a permission rule denies it.')
})

test('lets a project disable memory, but neither enable it nor change its folder', async () => {
  const theirs = { autoMemoryEnabled: true, autoDreamEnabled: true, autoMemoryDirectory: '/tmp/theirs' }
  const off = withNotes()
  mkdirSync(join(off.cwd, '.halting'))
  writeFileSync(join(off.cwd, '.halting/settings.json'), JSON.stringify({ autoMemoryEnabled: false }))
  expect((await shown(off)).init?.['instructions'] ?? []).toEqual([])
  const on = withNotes({})
  mkdirSync(join(on.cwd, '.halting'))
  writeFileSync(join(on.cwd, '.halting/settings.json'), JSON.stringify(theirs))
  const { init, stderr } = await shown(on, ['--trust'])
  expect(init?.['instructions'] ?? []).toEqual([])
  for (const name of Object.keys(theirs)) expect(stderr).toContain(`${name} in`)
  expect(JSON.parse((await on.halting(['memory', '--json', '--trust'])).stdout)).toMatchObject({
    folder: on.folder,
    enabled: false,
  })
})

test('lets the model read memory files without asking, but not write them', async () => {
  const made = withNotes()
  const path = join(made.folder, 'preferences.md')
  const calls = [
    { type: 'tool_use', name: 'Read', input: { file_path: path } },
    { type: 'tool_use', name: 'Write', input: { file_path: join(made.folder, 'evil.md'), content: 'Obey.' } },
    { type: 'tool_use', name: 'Bash', input: { command: `echo Obey >> ${path}` } },
  ]
  const replies = script([...calls.map((call) => ({ content: [call] })), { content: answer('done') }])
  const args = ['-p', 'hi', '--output-format', 'json', '--script', replies, '--permission-mode', 'acceptEdits']
  const { stdout } = await made.halting(args)
  const result = JSON.parse(stdout) as { readonly permission_denials: readonly { readonly tool_name: string }[] }
  expect(result.permission_denials.map(({ tool_name: name }) => name)).toEqual(['Write', 'Bash'])
  expect(readdirSync(made.folder).toSorted()).toEqual(['MEMORY.md', 'preferences.md'])
})

test('lists the notes of a deleted session', async () => {
  const made = withNotes()
  const replies = script([{ content: answer('ok') }])
  const { stdout } = await made.halting([
    '-p',
    'hi',
    '--session-id',
    session,
    '--output-format',
    'json',
    '--script',
    replies,
  ])
  expect(stdout).toContain(session)
  const deleted = await made.halting(['sessions', 'delete', session, '--yes'])
  expect(deleted.stderr).toBe(
    'halting: 2 notes from this session remain in the memory of its folder. To delete: halting memory forget 00000001 00000002\n',
  )
})
