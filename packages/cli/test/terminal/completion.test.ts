// Completions of the editor (spec R-TERM-65): commands, and files as `@path`.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { completionOf } from '../../src/terminal/completion/completion.ts'
import { fileList } from '../../src/terminal/completion/file-list.ts'
import { imageMention } from '../../src/terminal/app/key-actions.ts'

let cwd = ''

beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'halting-complete-'))
  const files = [
    'src/app/main.ts',
    'src/app/main.test.ts',
    'a b/c d.md',
    '.gitignore',
    '.github/ci.yml',
    'built/out.js',
    'pic.png',
    'my pic.png',
  ]
  for (const name of files) {
    mkdirSync(join(cwd, name, '..'), { recursive: true })
    writeFileSync(join(cwd, name), name === '.gitignore' ? 'built\n' : 'x')
  }
})
afterAll(() => rmSync(cwd, { recursive: true }))

const commands = [
  { name: 'help', description: 'Show commands and keys' },
  {
    name: 'limits',
    description: 'Limits',
    argumentHint: '[turns N]',
    values: () => [
      { value: 'turns', label: 'turns' },
      { value: 'usd', label: 'usd' },
    ],
  },
  { name: 'git:commit', description: 'Writes\na commit' },
]

async function offered(line: string, force = false): Promise<readonly string[]> {
  const completion = completionOf({ cwd, files: fileList(cwd, () => 0), commands: () => commands })
  const { signal } = new AbortController()
  const found = await completion.getSuggestions([line], 0, line.length, { signal, force })
  return found?.items.map(({ value }) => value) ?? []
}

async function completed(line: string, nth = 0, force = false): Promise<string> {
  const completion = completionOf({ cwd, files: fileList(cwd, () => 0), commands: () => commands })
  const { signal } = new AbortController()
  const found = await completion.getSuggestions([line], 0, line.length, { signal, force })
  if (found === null) return line
  const item = found.items[nth]!
  return completion.applyCompletion([line], 0, line.length, item, found.prefix).lines[0]!
}

describe('commands', () => {
  test('are offered at the start of the text, prefix matches first', async () => {
    expect(await offered('/')).toEqual(['/help', '/limits', '/git:commit'])
    expect(await offered('/li')).toEqual(['/limits'])
    expect(await offered('/com')).toEqual(['/git:commit'])
    expect(await offered('say /li')).toEqual([])
    expect(await completed('/li')).toBe('/limits ')
  })
  test('offer their values as arguments', async () => {
    expect(await offered('/limits ')).toEqual(['turns', 'usd'])
    expect(await completed('/limits u')).toBe('/limits usd ')
  })
})

describe('files', () => {
  test('are those of the project, without ignored ones', async () => {
    expect(await offered('look at @main')).toEqual(['@src/app/main.ts', '@src/app/main.test.ts'])
    expect(await offered('@out')).toEqual([])
    expect((await offered('@ci'))[0]).toBe('@.github/ci.yml')
    expect(await offered('a@main')).toEqual([])
  })
  test('include folders, which can be completed further', async () => {
    expect(await completed('@app')).toBe('@src/app/')
    expect(await offered('@src/app/main.te')).toEqual(['@src/app/main.test.ts'])
  })
  test('with spaces are quoted', async () => {
    expect(await completed('see @c d')).toBe('see @c d')
    expect(await completed('see @"c d')).toBe('see @"a b/c d.md" ')
  })
  test('keep a line range', async () => {
    expect(await offered('@src/app/main.ts#20-45')).toEqual([])
  })
  test('are completed with Tab anywhere', async () => {
    expect(await completed('cat src/app/main.t', 0, true)).toBe('cat src/app/main.test.ts ')
    expect(await offered('cat src/app/main.t')).toEqual([])
  })
})

test('complete words offer nothing, so that Enter sends them', async () => {
  expect(await offered('/limits usd')).toEqual([])
  expect(await offered('/limits us')).toContain('usd')
  expect(await offered('see @src/app/main.ts')).toEqual([])
  expect(await offered('see @src/app/main.t')).toContain('@src/app/main.ts')
  // Accepting a folder lists its content.
  expect(await offered('see @src/app')).toContain('@src/app/')
})

describe('an image dropped on the terminal', () => {
  test.each([
    ['its path', () => join(cwd, 'pic.png'), () => `@${join(cwd, 'pic.png')} `],
    ['in quotation marks', () => `'${join(cwd, 'my pic.png')}'`, () => `@"${join(cwd, 'my pic.png')}" `],
    ['with backslashes', () => join(cwd, 'my\\ pic.png'), () => `@"${join(cwd, 'my pic.png')}" `],
    ['as an address', () => `file://${join(cwd, 'my%20pic.png')}`, () => `@"${join(cwd, 'my pic.png')}" `],
  ])('is mentioned: %s', (_what, pasted, mention) => {
    expect(imageMention(pasted(), cwd)).toBe(mention())
  })
  test.each(['pic.png', '/nowhere/pic.png', 'a\n/pic.png', './pic', 'see ./pic.png for it'])(
    '%j stays text',
    (pasted) => {
      expect(imageMention(pasted, cwd)).toBeUndefined()
    },
  )
})
