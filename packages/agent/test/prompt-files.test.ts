// Holds R-CMD-1 to R-CMD-5, R-SKILL-1, R-MENTION-1 and R-MENTION-2 of docs/spec.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { textOf } from '@halting/core/adapters'
import { createPermissions, Workspace } from '../src/index.ts'
import {
  agentsFileFor,
  commandIn,
  expandPrompt,
  loadMentions,
  readPromptFiles,
  runPromptCommand,
  skillList,
  type PromptFile,
  projectFileOffers,
} from '../src/instructions/index.ts'
import { listField, parseFrontMatter, textField } from '../src/instructions/frontmatter.ts'
import { mentionsIn } from '../src/instructions/mentions.ts'

let home = ''
let cwd = ''

beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'written-')))
  cwd = join(home, 'app')
  mkdirSync(cwd)
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

function put(path: string, text: string): void {
  mkdirSync(dirname(join(home, path)), { recursive: true })
  writeFileSync(join(home, path), text)
}

const { signal } = new AbortController()
const places = () => ({ cwd, home, env: {}, mayRead: () => true })
const trusted = { lets: async () => true }
const untrusted = { lets: async () => false }

function prompt(body: string, more: Partial<PromptFile> = {}): PromptFile {
  return {
    kind: 'command',
    name: 'c',
    level: 'project',
    path: join(cwd, '.claude/commands/c.md'),
    description: '',
    argumentHint: '',
    allowedTools: [],
    model: '',
    body,
    isForPerson: true,
    isForModel: false,
    ...more,
  }
}

test.each([
  ['name: x', 'x'],
  ['name: &n x', 'x'],
  ['"name" : x', 'x'],
  ['name: true', 'true'],
  ['name: @x', '@x'],
  ['name: *', '*'],
  ['name: [a] [b]', ''],
  ['argument-hint: [a] [b]\nname: x', 'x'],
  ['name: "a \\"b\\" c" # why', 'a "b" c'],
  ["name: 'it''s'", "it's"],
  ['name: >\n  one\n  two', 'one two'],
  ['name: |\n  one\n  two', 'one\ntwo'],
  ['other: y\nname: a: b', 'a: b'],
  ['# name: x', ''],
])('front matter %j has %j', async (head, value) => {
  const { fields, body } = await parseFrontMatter(`---\n${head}\n---\nBody.\n`)
  expect([textField(fields, 'name'), body]).toEqual([value, 'Body.'])
})

test('front matter has lists in every usual form', async () => {
  const list = ['Bash(git add:*)', 'Read', 'Bash(a, b)']
  for (const given of [
    ' Bash(git add:*), Read, Bash(a, b)',
    ' [Bash(git add:*), "Read", Bash(a, b)]',
    `\n${list.map((each) => `  - ${each}`).join('\n')}`,
  ])
    expect(listField((await parseFrontMatter(`---\nallowed-tools:${given}\n---\n`)).fields, 'allowed-tools')).toEqual(
      list,
    )
  // Blanks before a possible comment are scanned once.
  const blanks = ' '.repeat(30_000)
  expect(textField((await parseFrontMatter(`---\nmodel: a${blanks}b # no\n---\n`)).fields, 'model')).toBe(`a${blanks}b`)
  expect(await parseFrontMatter('--- a\nb')).toMatchObject({ fields: new Map(), body: '--- a\nb', problems: [] })
})

const stairs = Array.from({ length: 12 }, (_, step) => ' '.repeat(step * 198) + '- '.repeat(99)).join('\n')

test.each([
  ['brackets closed in remarks', `a: ${'[ # ]\n '.repeat(4_000)}`, 'its header is nested too deeply'],
  ['brackets closed in quotes', `a: ${'["]",'.repeat(6_000)}`, 'its header is nested too deeply'],
  ['lists nested over several lines', stairs, 'its header is nested too deeply'],
  ['an error in each word', '- &a '.repeat(6_000), 'cannot parse the line'],
  ['an alias in each item', `a: &a x\nb: [${'*a,'.repeat(9_000)}]`, 'an alias refers to nothing, or to too much'],
  ['an alias in what it refers to', 'a: &a [*a]', 'an alias refers to nothing, or to too much'],
  [
    'many fields',
    Array.from({ length: 4_000 }, (_, at) => `k${at}: a: b`)
      .join('\n')
      .slice(0, 30_000),
    'more than 1000',
  ],
  ['a long text', `a: ${'b'.repeat(40_000)}`, 'its header is longer than 32768 characters'],
])('front matter with %s is refused in time', async (_, header, problem) => {
  const start = performance.now()
  const { problems } = await parseFrontMatter(`---\n${header}\n---\n`)
  expect(problems[0]).toContain(problem)
  expect(performance.now() - start).toBeLessThan(10_000)
})

test('examples of front matter that do not end, or that have many lines, are parsed', async () => {
  for (const lines of ['<example>\n'.repeat(3_000), `<example>\n${'\n'.repeat(30_000)}</example>\n`]) {
    const { fields, problems } = await parseFrontMatter(`---\ndescription: a: b\n${lines}model: m\n---\n`)
    expect([textField(fields, 'model'), problems]).toEqual(['m', []])
  }
})

test.each(['...\nmodel: m', '--- {model: m}', '--- # remark\nmodel: m'])(
  'front matter has the fields below the end of a document: %j',
  async (rest) => {
    const { fields } = await parseFrontMatter(`---\nname: a\n${rest}\n---\n`)
    expect(textField(fields, 'model')).toBe('m')
  },
)

test('a prompt with front matter that cannot be parsed is reported', async () => {
  put('app/.halting/commands/odd.md', '---\nmodel: "m\n---\nText')
  const { all, notes } = await readPromptFiles(places())
  expect(all).toMatchObject([{ name: 'odd', body: 'Text' }])
  expect(notes).toEqual([expect.stringContaining('odd.md: cannot parse the line')])
})

test.each([
  ['brackets', `name: ${'['.repeat(60_000)}`],
  ['lists', `name: ${'- '.repeat(30_000)}x`],
  [
    'aliases',
    `a: &a [${'x,'.repeat(20)}]\nb: &b [${'*a,'.repeat(20)}]\nc: &c [${'*b,'.repeat(20)}]\nname: [${'*c,'.repeat(20)}]`,
  ],
])('front matter with endless %s is a problem and not a crash', async (_, head) => {
  const { fields, problems } = await parseFrontMatter(`---\n${head}\n---\nBody.\n`)
  expect([fields.has('name'), problems.length > 0]).toEqual([false, true])
})

test("R-CMD-1: commands are named by their folders, and the project's precede the user's", async () => {
  put('.claude/commands/fix.md', 'mine')
  put('.claude/commands/own.md', 'own')
  put('app/.claude/commands/fix.md', '---\ndescription: Fixes.\nargument-hint: "[issue]"\nmodel: haiku\n---\nFix $1')
  put('app/.halting/commands/git/commit.md', '# Commit\n')
  put('app/.claude/commands/no good.md', 'x')
  const { all, notes } = await readPromptFiles(places())
  expect(all.map(({ name, level, description }) => [name, level, description])).toEqual([
    ['git:commit', 'project', 'Commit'],
    ['fix', 'project', 'Fixes.'],
    ['own', 'user', 'own'],
  ])
  expect(all.map(({ inPlaceOf }) => inPlaceOf)).toEqual([undefined, join(home, '.claude/commands/fix.md'), undefined])
  expect(notes).toEqual([
    `${join(cwd, '.claude/commands/no good.md')} is not a command: its name has characters that are not allowed.`,
  ])
})

test('R-CMD-1: a link out of the project, and a denied file, are not commands of it', async () => {
  put('secret.md', 'secret')
  mkdirSync(join(cwd, '.claude/commands'), { recursive: true })
  symlinkSync(join(home, 'secret.md'), join(cwd, '.claude/commands/a.md'))
  put('app/.claude/commands/b.md', 'b')
  const { all, notes } = await readPromptFiles({ ...places(), mayRead: (path) => !path.endsWith('b.md') })
  expect(all).toEqual([])
  expect(notes.map((note) => note.split(' ').slice(1).join(' '))).toEqual([
    'was skipped: it is a symbolic link that leaves the project.',
    'was skipped: a permission rule denies it.',
  ])
})

test('a prompt that begins with a slash is a command, but not a path', () => {
  expect(commandIn(' /git:commit a b\nc ')).toEqual({ name: 'git:commit', given: 'a b\nc' })
  expect(['/tmp/x', 'a /b', '/', '// x'].map(commandIn)).toEqual([undefined, undefined, undefined, undefined])
})

test.each([
  ['Fix $ARGUMENTS now', '12 high', 'Fix 12 high now'],
  ['Fix $1 as $2$3', '12 "very high"', 'Fix 12 as very high'],
  ['Fix $ARGUMENTS[1]', 'a b', 'Fix b'],
  ['Fix it', '12', 'Fix it\n\nARGUMENTS: 12'],
  ['Fix it', '', 'Fix it'],
  ['Say $ARGUMENTS', '!`date` $1', 'Say !`date` $1'],
])('R-CMD-2: %j with %j becomes %j', async (body, given, text) => {
  const run = () => Promise.reject(new Error('Nothing is run.'))
  expect((await expandPrompt(prompt(body), given, { trust: trusted, run })).text).toBe(text)
})

function running(options: Partial<Parameters<typeof createPermissions>[0]> = {}) {
  return runPromptCommand(new Workspace({ cwd }), createPermissions({ cwd, ...options }), { signal })
}

test('R-CMD-3: a bash command runs in a trusted folder, under the rules', async () => {
  const how = { trust: trusted, run: running() }
  const { text, authoredText: written } = await expandPrompt(prompt('Now !`echo @here` and @there.'), '', how)
  expect([text, written]).toEqual(['Now @here and @there.', 'Now   and @there. '])
  const refused = await expandPrompt(prompt('!`touch x`'), '', how)
  expect(refused.text).toContain('(not run: ')
  expect(refused.notes).toHaveLength(1)
  const denied = await expandPrompt(prompt('!`echo x`'), '', {
    trust: trusted,
    run: running({ deny: ['Bash(echo:*)'] }),
  })
  expect(denied.text).toContain('Denied by the rule Bash(echo:*)')
})

test("R-CMD-3: nothing of an untrusted folder runs; the user's own does", async () => {
  const how = { trust: untrusted, run: running() }
  const body = 'Now !`echo here`.'
  expect(await expandPrompt(prompt(body), '', how)).toMatchObject({
    text: 'Now (not run: the folder is not trusted).',
    notes: [expect.stringContaining('Review with `halting trust`')],
  })
  expect((await expandPrompt(prompt(body, { level: 'user' }), '', how)).text).toBe('Now here.')
})

test('R-CMD-4: the trust review names everything that they would run, loosen and import', async () => {
  put('app/.claude/commands/a.md', '---\nallowed-tools: Bash(git:*)\nmodel: opus\n---\n!`git status`')
  put('app/.claude/skills/s/SKILL.md', '!`date`')
  put('.claude/commands/mine.md', '!`rm x`')
  put('notes.md', 'x')
  put('app/AGENTS.md', '@~/notes.md')
  const a = join(cwd, '.claude/commands/a.md')
  expect((await projectFileOffers(places())).map(({ setting, text }) => `${setting}: ${text}`)).toEqual([
    `imports: ${join(home, 'notes.md')} (by ${join(cwd, 'AGENTS.md')})`,
    `commands: !\`git status\` in ${a}`,
    `commands: allowed-tools: Bash(git:*) in ${a}`,
    `commands: model: opus in ${a}`,
    `commands: !\`date\` in ${join(cwd, '.claude/skills/s/SKILL.md')}`,
  ])
})

test('R-SKILL-1: skills are listed by name and description, in bounds', async () => {
  for (let at = 0; at < 60; at++)
    put(`app/.claude/skills/s${at}/SKILL.md`, `---\ndescription: ${'d'.repeat(500)}\n---\nText.`)
  put('.halting/skills/own/SKILL.md', '---\nname: mine\ndescription: Own.\n---\nOwn text.')
  put('.halting/skills/hidden/SKILL.md', '---\ndisable-model-invocation: true\n---\nx')
  const { all } = await readPromptFiles(places())
  const shown = all.filter(({ isForModel }) => isForModel)
  expect(all.filter(({ isForModel }) => !isForModel).map(({ name }) => name)).toEqual(['hidden'])
  const list = skillList(shown)
  expect(list).toContain('\n- mine')
  expect(list).not.toContain('Text.')
  expect(list.length).toBeLessThan(10_000)
  expect(skillList([])).toBe('')
})

test('finds mentions after white space and brackets', () => {
  expect(mentionsIn('see @a.ts#20-45, (@b/c) and @"my notes.md"#3 but not x@y.z or @ this')).toEqual([
    { text: '@a.ts#20-45,', path: 'a.ts', firstLine: 20, lastLine: 45 },
    { text: '@b/c)', path: 'b/c)' },
    { text: '@"my notes.md"#3', path: 'my notes.md', firstLine: 3, lastLine: 3 },
  ])
})

test('R-MENTION-1: embeds a file, some of its lines, and the names in a folder', async () => {
  put('app/a.ts', 'one\ntwo\nthree\nfour')
  put('app/lib/b.ts', 'b')
  const workspace = new Workspace({ cwd })
  const { blocks, notes } = await loadMentions(
    '@a.ts#2-3. @lib, @gone.md',
    workspace,
    createPermissions({ cwd }),
    signal,
  )
  const shown = blocks.map((block) => textOf([block]))
  expect(shown).toEqual([
    `File ${join(cwd, 'a.ts')}, lines 2 to 3 (mentioned by the user):`,
    expect.stringMatching(/2\ttwo\n\s*3\tthree/),
    `Folder ${join(cwd, 'lib')} (mentioned by the user):`,
    'b.ts',
  ])
  expect(shown[1]).not.toContain('\tone')
  expect(notes).toEqual(['@gone.md: no such file or folder. Sent as written.'])
})

test('R-MENTION-2: applies the rules about reading', async () => {
  put('app/.env', 'KEY=1')
  put('outside.md', 'outside')
  const workspace = new Workspace({ cwd })
  const permissions = createPermissions({ cwd, deny: ['Read(./.env)'], whenAsked: 'deny' })
  const { blocks, notes } = await loadMentions('@.env @../outside.md', workspace, permissions, signal)
  expect(blocks).toEqual([])
  expect(notes.map((note) => note.slice(0, 40))).toEqual([
    '@.env was not added: Denied by the rule ',
    '@../outside.md was not added: Not allowe',
  ])
})

test('R-INIT-1: an AGENTS.md describes the folder', async () => {
  put(
    'app/package.json',
    JSON.stringify({ description: 'Does it.', scripts: { start: 'node x', test: 'vitest', pretest: 'y' } }),
  )
  put('app/package-lock.json', '{}')
  put('app/tsconfig.json', '{ "compilerOptions": { "strict": true } }')
  put('app/src/x.ts', '')
  put('app/node_modules/y/x.js', '')
  put('app/Makefile', 'all: x\nVAR := 1\nx:\n\techo')
  expect(await agentsFileFor(cwd, 'app')).toBe(`# app

For people and agents that work on this code.

## What it is

- Does it.
- Written in TypeScript.

## Where things are

- \`src/\`: the sources

## Build, test, check

- \`npm ci\`: installs
- \`npm test\`: \`vitest\`
- \`npm run start\`: \`node x\`
- \`make all\`
- \`make x\`

## Rules

- TypeScript is strict.
`)
})
