// Holds R-INSTR-1 to R-INSTR-6 of docs/spec.
import { changesHead } from '../src/instructions/briefing-texts.ts'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { AgentState } from '@halting/core'
import { textOf } from '@halting/core/adapters'
import { createReadTool, Workspace } from '../src/index.ts'
import {
  instructionBlock,
  gitSummary,
  instructionText,
  readInstructions,
  withFolderInstructions,
} from '../src/instructions/index.ts'
import { importsIn, spellingsOf } from '../src/instructions/imports.ts'

let home = ''
let cwd = ''

beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'instructions-')))
  cwd = join(home, 'work/app')
  mkdirSync(cwd, { recursive: true })
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

function put(path: string, text: string): void {
  mkdirSync(dirname(join(home, path)), { recursive: true })
  writeFileSync(join(home, path), text)
}

const trusted = { lets: async () => true }
const untrusted = { lets: async () => false }
const rules = { trust: untrusted, mayRead: () => true }

function read(options: Partial<Parameters<typeof readInstructions>[0]> = {}) {
  return readInstructions({ cwd, home, env: {}, ...rules, ...options })
}

async function shown(options: Parameters<typeof read>[0] = {}): Promise<readonly string[]> {
  const { files } = await read(options)
  return files.map(({ path, text }) => `${path.slice(home.length + 1)}: ${text}`)
}

test("R-INSTR-1: reads the user's files first, then those from the outermost folder to the working directory", async () => {
  put('.halting/AGENTS.md', 'mine')
  put('.claude/CLAUDE.md', 'mine too')
  put('work/AGENTS.md', 'outer')
  put('work/app/AGENTS.md', 'inner')
  put('work/app/CLAUDE.md', 'inner for one')
  put('work/app/.claude/CLAUDE.md', 'in its folder')
  put('work/app/CLAUDE.local.md', 'for me here')
  put('work/app/below/AGENTS.md', 'below')
  const all = [
    '.halting/AGENTS.md: mine',
    '.claude/CLAUDE.md: mine too',
    'work/AGENTS.md: outer',
    'work/app/AGENTS.md: inner',
    'work/app/CLAUDE.md: inner for one',
    'work/app/.claude/CLAUDE.md: in its folder',
    'work/app/CLAUDE.local.md: for me here',
  ]
  expect(await shown()).toEqual(all)
  expect(await shown({ sources: ['user'] })).toEqual(all.slice(0, 2))
  expect(await shown({ sources: ['project'] })).toEqual(all.slice(2, 6))
  expect(await shown({ sources: [] })).toEqual([])
})

test('R-INSTR-1: shows the same text under two names once', async () => {
  put('work/app/AGENTS.md', 'Use tabs.')
  symlinkSync('AGENTS.md', join(cwd, 'CLAUDE.md'))
  put('work/AGENTS.md', 'Use tabs.\n')
  expect(await shown()).toEqual(['work/AGENTS.md: Use tabs.'])
})

test('R-INSTR-2: follows imports five levels deep, cycles once, and none in code', async () => {
  put('work/app/AGENTS.md', 'See @one.md, and `@not.md`.\n```\n@neither.md\n```\n@ann said so. a@b.c')
  for (const [at, name] of ['one', 'two', 'three', 'four', 'five', 'six'].entries())
    put(`work/app/${name}.md`, `${name} @${['two', 'three', 'four', 'five', 'six', 'one'][at]}.md`)
  put('work/app/not.md', 'not')
  put('work/app/neither.md', 'neither')
  const { files, notes } = await read()
  expect(files.map(({ path }) => path.slice(cwd.length + 1))).toEqual(
    ['AGENTS', 'one', 'two', 'three', 'four', 'five'].map((name) => `${name}.md`),
  )
  expect(files[1]?.importedBy).toBe(join(cwd, 'AGENTS.md'))
  expect(notes).toEqual([`${join(cwd, 'five.md')} imports six.md, nested more than 5 files deep. Skipped.`])
})

test('R-INSTR-2: reports missing imports', async () => {
  put('work/app/AGENTS.md', '@docs/gone.md')
  expect((await read()).notes).toEqual([`${join(cwd, 'AGENTS.md')} imports docs/gone.md, which does not exist.`])
})

test.each([
  ['~/secret.md', 'an own file'],
  ['../../secret.md', 'a path upward'],
  ['linked.md', 'a link'],
])('R-INSTR-3: %s (%s) is imported only in a trusted folder', async (path) => {
  put('secret.md', 'secret')
  symlinkSync(join(home, 'secret.md'), join(cwd, 'linked.md'))
  put('work/app/AGENTS.md', `@${path}`)
  const { files, waiting } = await read()
  expect(files.map(({ text }) => text)).toEqual([`@${path}`])
  expect(waiting).toEqual([{ path: join(home, 'secret.md'), by: join(cwd, 'AGENTS.md') }])
  expect((await read({ trust: trusted })).files.map(({ text }) => text)).toEqual([`@${path}`, 'secret'])
})

test('R-INSTR-3: an instruction file that is a link out of the folder counts as an import', async () => {
  put('secret.md', 'secret')
  symlinkSync(join(home, 'secret.md'), join(cwd, 'AGENTS.md'))
  expect(await shown()).toEqual([])
  expect(await shown({ trust: trusted })).toEqual(['work/app/AGENTS.md: secret'])
})

test("R-INSTR-3: the user's files may import from anywhere", async () => {
  put('notes.md', 'notes')
  put('.claude/CLAUDE.md', '@~/notes.md')
  expect(await shown()).toEqual(['.claude/CLAUDE.md: @~/notes.md', 'notes.md: notes'])
})

test('R-INSTR-4: deny rules apply, also to links', async () => {
  put('work/app/key.md', 'key')
  symlinkSync('key.md', join(cwd, 'AGENTS.md'))
  put('work/app/CLAUDE.md', '@key.md')
  const { files, notes } = await read({ mayRead: (path) => !path.endsWith('key.md') })
  expect(files.map(({ text }) => text)).toEqual(['@key.md'])
  expect(notes).toEqual([`${join(cwd, 'AGENTS.md')} was skipped: a permission rule denies it.`])
})

test('R-INSTR-4: long files are cut, with a note; nearer files have room first', async () => {
  for (const folder of ['work', 'work/app']) {
    for (const name of ['AGENTS.md', 'CLAUDE.md']) put(`${folder}/${name}`, `${folder}/${name} ${'x'.repeat(50_000)}`)
  }
  const { files, notes } = await read()
  expect(files.map(({ text }) => text.length)).toEqual([0, 20_000, 40_000, 40_000])
  expect(notes).toContain(`${join(home, 'work/AGENTS.md')} is too long: it is skipped.`)
  expect(files.map(instructionBlock)[3]).toContain(`For the rest, read ${join(cwd, 'CLAUDE.md')}.`)
})

test('R-INSTR-4: files that are not text or not regular are reported and do not block the run', async () => {
  execFileSync('mkfifo', [join(cwd, 'AGENTS.md')])
  put('work/app/CLAUDE.md', 'a\0b')
  mkdirSync(join(cwd, 'CLAUDE.local.md'))
  expect(await read()).toEqual({
    files: [],
    notes: [
      `${join(cwd, 'AGENTS.md')} is not a regular file.`,
      `${join(cwd, 'CLAUDE.md')} is no text.`,
      `${join(cwd, 'CLAUDE.local.md')} is not a regular file.`,
    ],
    waiting: [],
  })
})

test('shows a text with its source', async () => {
  put('work/app/AGENTS.md', '\uFEFFUse tabs.\n')
  const { files } = await read()
  expect(instructionText(files)).toContain(
    `<instructions from="${join(cwd, 'AGENTS.md')}">\nUse tabs.\n</instructions>`,
  )
  expect(instructionText([])).toBe('')
})

test('finds imports after white space and brackets, with escaped blanks', () => {
  expect(importsIn('@a.md (@b/c.md) x@d.md @my\\ notes.md\n    - @e.md')).toEqual([
    'a.md',
    'b/c.md)',
    'my notes.md',
    'e.md',
  ])
  expect(importsIn('~~~ts\n@a\n```\n@b\n~~~\n@c ``@d ` @e`` @f')).toEqual(['c', 'f'])
})

function context(state = AgentState.empty()) {
  const { signal } = new AbortController()
  return { callId: 'c', toolName: 'Read', signal, idempotencyKey: 'k', state, progress: () => undefined }
}

test('R-INSTR-5: shows instructions of a subfolder once, with the result of the first call there', async () => {
  put('work/app/AGENTS.md', 'root')
  put('work/app/api/AGENTS.md', 'of the API @more.md @../docs/style.md @../../private.md')
  put('work/app/api/more.md', 'more')
  put('work/app/docs/style.md', 'style of all')
  put('work/private.md', 'private')
  put('work/app/api/v1/x.ts', 'let x')
  const { files } = await read()
  const wrap = withFolderInstructions({ cwd, home, env: {}, ...rules }, new Set(files.map(({ realPath }) => realPath)))
  const tool = wrap(createReadTool(new Workspace({ cwd })))
  if (!('execute' in tool)) throw new Error('It is no agent.')
  // The tool accepts the input of Read.
  const call = (path: string, state?: AgentState) => tool.execute({ file_path: path } as never, context(state))
  const text = (output: Awaited<ReturnType<typeof call>>) =>
    typeof output === 'string' ? output : textOf(output.content)
  const first = text(await call('api/v1/x.ts'))
  expect(first).toContain('let x')
  expect(first).toContain('of the API @more.md @../docs/style.md @../../private.md\n</instructions>')
  expect(first).toContain('style of all\n</instructions>')
  expect(first).not.toContain('\nprivate\n')
  expect(first).toContain('more\n</instructions>')
  expect(first).not.toContain('root')
  // Next to it in the same message.
  expect(text(await call('api/v1/x.ts'))).not.toContain('instructions')
  const later = AgentState.empty().withUserMessage(first)
  expect(text(await call('api/v1/x.ts', later))).not.toContain('instructions')
  const compacted = AgentState.empty().withUserMessage('a summary')
  expect(text(await call('api/v1/x.ts', compacted))).toContain('of the API')
  expect(text(await call('gone.ts', compacted))).not.toContain('of the API')
})

test('R-INSTR-6: shows branch and changes in a few lines, and runs no program that the repository names', async () => {
  const env = { PATH: process.env['PATH'], HOME: home }
  expect(await gitSummary(cwd, env)).toBeUndefined()
  const git = (...args: string[]) => execFileSync('git', args, { cwd, env, stdio: 'pipe' })
  git('init', '-q', '-b', 'main')
  expect(await gitSummary(cwd, env)).toBe('Branch: No commits yet on main\nChanged files: none')
  put('work/app/a.txt', 'a')
  git('add', '.')
  git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qm', 'one')
  const trap = join(home, 'ran')
  for (const key of ['filter.x.clean', 'core.fsmonitor']) git('config', key, `touch ${trap}; cat`)
  put('work/app/.gitattributes', '* filter=x')
  put('work/app/a.txt', 'b')
  for (let at = 0; at < 40; at++) put(`work/app/new-${at}\n.txt`, 'x')
  const lines = (await gitSummary(cwd, env))?.split('\n') ?? []
  expect(lines.slice(0, 4)).toEqual(['Branch: main', changesHead, ' M a.txt', '?? .gitattributes'])
  expect(lines.at(-1)).toBe('(and 12 more)')
  expect(existsSync(trap)).toBe(false)
})

test('R-INSTR-4: limits the number of imports, and takes linear time for punctuation', async () => {
  put('work/app/AGENTS.md', Array.from({ length: 300 }, (_, index) => `@no-${index}.md`).join(' '))
  const { notes } = await read()
  expect(notes).toHaveLength(201)
  expect(notes.at(-1)).toBe('More than 200 files are imported. The rest is skipped.')
  const dots = '.'.repeat(200_000)
  expect(spellingsOf(`${dots}a`)).toEqual([`${dots}a`])
  expect(spellingsOf(`a${dots}`)).toEqual([`a${dots}`, 'a'])
  expect(spellingsOf('a.md).')).toEqual(['a.md).', 'a.md'])
})
