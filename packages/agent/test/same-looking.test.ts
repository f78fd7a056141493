// Holds R-HAND-6e and R-HAND-6f of docs/spec.
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createPermissions } from '@halting/policy'
import { describe, expect, test } from 'vitest'
import { bracketsAsName } from '../src/tools/search-texts.ts'
import { codingTools, type Harness } from './support/harness.ts'

function withNames(names: readonly string[], ...args: Parameters<typeof codingTools>): Harness {
  const harness = codingTools(...args)
  for (const name of names) {
    const path = join(harness.cwd, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, `text of ${name}\n`)
  }
  return harness
}

describe('names with brackets', () => {
  const routes = ['app/[id]/page.tsx', 'app/i/page.tsx', 'app/[id]/a.js', 'app/[id]/b.md', 'app/[[...slug]]/page.tsx']

  test.each([
    ['app/[id]/page.tsx', ['app/[id]/page.tsx']],
    ['app/[id]/*.[jt]s', ['app/[id]/a.js']],
    ['app/[[...slug]]/page.tsx', ['app/[[...slug]]/page.tsx']],
    ['**/[id]/*.{md,js}', ['app/[id]/a.js', 'app/[id]/b.md']],
    ['app/[hij]/page.tsx', ['app/i/page.tsx']],
    [String.raw`app/\[id\]/a.js`, ['app/[id]/a.js']],
    ['app/[!a-h]/page.tsx', ['app/i/page.tsx']],
  ])('are found by Glob and Grep: %s', async (pattern, expected) => {
    const { use } = withNames(routes)
    const found = await use('Glob', { pattern })
    expect((found.details as { filenames: string[] }).filenames.toSorted()).toEqual(expected)
    const grep = await use('Grep', { pattern: 'text of', glob: pattern })
    expect(grep.text.split('\n\n')[0]?.split('\n').toSorted()).toEqual(expected)
  })

  test('are counted where a match of the brackets as a set is omitted', async () => {
    const { use } = withNames(routes)
    const note = bracketsAsName(1)
    expect((await use('Glob', { pattern: 'app/[id]/page.tsx' })).text).toMatch(
      /^app\/\[id\]\/page\.tsx\n\n\[Brackets .* Left out: 1 file/,
    )
    expect((await use('Grep', { pattern: 'text', glob: 'app/[id]/page.tsx' })).text).toContain(note)
  })

  test('are excluded by a glob in both readings', async () => {
    const { use } = withNames(routes)
    const { text } = await use('Grep', { pattern: 'text of', glob: '!app/[id]/**' })
    expect(text).toBe('app/[[...slug]]/page.tsx')
  })

  test('have no effect if they must not be read', async () => {
    const { use } = withNames(routes, {}, { hides: (path) => path.includes('[id]') })
    expect((await use('Glob', { pattern: 'app/[id]/page.tsx' })).text).toBe('app/i/page.tsx')
    expect((await use('Grep', { pattern: 'text of', glob: 'app/[id]/page.tsx' })).text).toBe('app/i/page.tsx')
  })
})

const shot = 'Screenshot at 3.04\u202fPM.txt'
const plainShot = 'Screenshot at 3.04 PM.txt'

describe('names that look the same', () => {
  test.each([
    [plainShot, shot],
    ['a b.txt', 'a\u00a0b.txt'],
    ['caf\u00e9.txt', 'cafe\u0301.txt'],
    ['cafe\u0301.txt', 'caf\u00e9.txt'],
    ["Capture d'e\u0301cran.txt", 'Capture d\u2019\u00e9cran.txt'],
    ['my files/a b/c.txt', 'my\u00a0files/a\u202fb/c.txt'],
  ])('%j is %j for every tool, if it is the only one', async (written, name) => {
    const { use, cwd } = withNames([name, 'other.txt'])
    expect((await use('Read', { file_path: written })).text).toContain(`text of ${name}`)
    await use('Edit', { file_path: written, old_string: 'text', new_string: 'words' })
    expect((await use('Grep', { pattern: 'words', path: written })).text).not.toContain('No match')
    await use('Write', { file_path: written, content: 'all of it\n' })
    expect(readFileSync(join(cwd, name), 'utf8')).toBe('all of it\n')
    expect((await use('Glob', { pattern: written })).details).toMatchObject({ filenames: [name] })
    expect((await use('Grep', { pattern: 'all', glob: written })).text.split('\n\n')[0]).toBe(name)
    expect(existsSync(join(cwd, written))).toBe(false)
  })

  test('the written name applies if it exists', async () => {
    const { use } = withNames([shot, plainShot])
    expect((await use('Read', { file_path: plainShot })).text).toContain(`text of ${plainShot}`)
    expect((await use('Glob', { pattern: plainShot })).text).toBe(plainShot)
  })

  test('several candidates are listed with their characters, and none is used', async () => {
    const { use, cwd } = withNames([shot, 'Screenshot at 3.04\u00a0PM.txt'])
    const named = String.raw`"Screenshot at 3.04\u00a0PM.txt", "Screenshot at 3.04\u202fPM.txt"`
    for (const name of ['Read', 'Edit', 'NotebookEdit'] as const) {
      const field = name === 'NotebookEdit' ? 'notebook_path' : 'file_path'
      const further =
        name === 'Edit' ? { old_string: 'a', new_string: 'b' } : name === 'Read' ? {} : { new_source: '', cell_id: 'a' }
      const found = await use(name, { [field]: plainShot, ...further })
      expect(found).toMatchObject({ isError: true, text: expect.stringContaining(named) as string })
    }
    expect((await use('Glob', { pattern: plainShot })).text).toContain(`No files in ${cwd} match`)
    expect((await use('Glob', { pattern: plainShot })).text).toContain(String.raw`3.04\u202fPM.txt"`)
    expect((await use('Grep', { pattern: 'text', glob: plainShot })).text).toContain(String.raw`3.04\u202fPM.txt"`)
    expect((await use('Write', { file_path: plainShot, content: 'new' })).text).toContain(named)
    expect(readdirSync(cwd)).toHaveLength(3)
  })

  test('names that must not be read are not listed', async () => {
    const { use } = withNames(
      [shot, 'Screenshot at 3.04\u00a0PM.txt', 'secret.key'],
      {},
      {
        hides: (path) => path.includes('\u202f') || path.endsWith('.key'),
      },
    )
    expect((await use('Read', { file_path: plainShot })).text).not.toContain('202f')
    expect((await use('Read', { file_path: 'secret.txt' })).text).not.toContain('secret.key')
  })

  test('a rule is about the opened file, whatever was written (spec R-RULE-2)', () => {
    const { cwd } = withNames([shot])
    const decided = (rule: string, name: string): string => {
      const input = { file_path: name, content: '' }
      const tool = { name: 'Write', description: '', inputSchema: {}, readOnly: false, execute: () => '' }
      const request = { call: { type: 'tool_use', id: 'a', name: 'Write', input }, tool, readOnly: false } as const
      const decision = createPermissions({ cwd, mode: 'acceptEdits', deny: [rule] }).decide(request)
      return 'behavior' in decision ? decision.behavior : 'a promise'
    }
    expect(decided(`Edit(${shot})`, plainShot)).toBe('deny')
    expect(decided('Edit(Screenshot*)', plainShot)).toBe('deny')
    expect(decided('Edit(other.txt)', plainShot)).toBe('allow')
  })

  test.each([
    ['Read(./a b.txt)', 'a\u00a0b.txt'],
    ['Read(a b.txt)', 'a\u202fb.txt'],
    ['Read(./Bob\u2019s/**)', "Bob's/notes.txt"],
    ['Read(./caf\u00e9/k?y.txt)', 'cafe\u0301/key.txt'],
    ["Read(Bob's *.txt)", 'Bob\u2019s\u00a0keys.txt'],
  ])('the rule %j denies what looks the same (spec R-RULE-5a)', (rule, name) => {
    const { cwd } = withNames([name, 'a_b.txt'])
    const tool = { name: 'Read', description: '', inputSchema: {}, readOnly: true, execute: () => '' }
    const denies = createPermissions({ cwd, deny: [rule] })
    const asks = createPermissions({ cwd, ask: [rule] })
    const decided = (permissions: typeof denies, written: string): unknown =>
      permissions.decide({
        call: { type: 'tool_use', id: 'a', name: 'Read', input: { file_path: written } },
        tool,
        readOnly: true,
      })
    const plain = name
      .normalize('NFC')
      .replaceAll(/\p{Zs}/gu, ' ')
      .replaceAll('\u2019', "'")
    for (const written of [name, plain]) {
      expect(decided(denies, written)).toMatchObject({ behavior: 'deny' })
      expect(decided(asks, written)).toMatchObject({ behavior: 'ask' })
    }
    expect(denies.deniesReading(join(cwd, name))).toBe(true)
    const quoted = `'${name.slice(0, name.search(/$|\//)).replaceAll("'", String.raw`'\''`)}'`
    expect(denies.explain(`cat ${quoted}${name.includes('/') ? '/' : ''}*`).behavior).toBe('deny')
    expect(decided(denies, 'a_b.txt')).toMatchObject({ behavior: 'allow' })
  })

  test('an allow rule is about the name as it is written', () => {
    const { cwd } = withNames(['a\u00a0b.txt', 'a b.md'])
    const tool = { name: 'Write', description: '', inputSchema: {}, readOnly: false, execute: () => '' }
    const decided = (name: string): unknown =>
      createPermissions({ cwd, allow: ['Edit(./a b.*)'] }).decide({
        call: { type: 'tool_use', id: 'a', name: 'Write', input: { file_path: name, content: '' } },
        tool,
        readOnly: false,
      })
    expect(decided('a b.md')).toMatchObject({ behavior: 'allow' })
    expect(decided('a b.txt')).toMatchObject({ behavior: 'ask' })
  })

  test('a link that looks the same is judged by its target', () => {
    const { cwd } = withNames([])
    symlinkSync('/etc/hostname', join(cwd, 'a\u00a0b'))
    const input = { file_path: 'a b' }
    const tool = { name: 'Read', description: '', inputSchema: {}, readOnly: true, execute: () => '' }
    const request = { call: { type: 'tool_use', id: 'a', name: 'Read', input }, tool, readOnly: true } as const
    expect(createPermissions({ cwd }).decide(request)).toMatchObject({ behavior: 'ask' })
  })
})
