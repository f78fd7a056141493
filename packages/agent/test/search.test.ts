import { everyTool } from '../src/tools/available-tools.ts'
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ignoredFiles, noFiles, resultsCut, unsupportedPattern } from '../src/tools/search-texts.ts'
import { codingTools, type Harness } from './support/harness.ts'

function withFiles(files: Readonly<Record<string, string>>, ...args: Parameters<typeof codingTools>): Harness {
  const harness = codingTools(...args)
  let second = 1_000_000
  for (const [name, content] of Object.entries(files)) {
    const path = join(harness.cwd, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
    utimesSync(path, second, (second += 10))
  }
  return harness
}

describe('Glob', () => {
  test('finds by pattern, most recently changed first', async () => {
    const { use } = withFiles({ 'src/a.ts': '', 'b.ts': '', 'src/deep/c.ts': '', 'd.js': '', '.hidden.ts': '' })
    expect((await use('Glob', { pattern: '**/*.ts' })).text).toBe('.hidden.ts\nsrc/deep/c.ts\nb.ts\nsrc/a.ts')
    expect((await use('Glob', { pattern: 'src/*.ts' })).text).toBe('src/a.ts')
    expect((await use('Glob', { pattern: '*.{js,css}', path: '.' })).text).toBe('d.js')
    expect((await use('Glob', { pattern: '*.ts', path: 'src' })).text).toBe('src/deep/c.ts\nsrc/a.ts')
  })

  test('omits version control folders and what .gitignore names', async () => {
    const { use } = withFiles({ '.git/config': '', '.gitignore': 'out/\n', 'out/x.ts': '', 'a.ts': '' })
    expect((await use('Glob', { pattern: '**/*' })).text).toBe('a.ts\n.gitignore')
  })

  test('applies .gitignore outside a repository', async () => {
    const { use } = withFiles({ '.gitignore': 'out/\n', 'out/x.ts': '', 'a.ts': '' })
    expect((await use('Glob', { pattern: '**/*.ts' })).text).toBe('a.ts')
  })

  test('lists at most 100 and says how many there are', async () => {
    const { use } = withFiles(Object.fromEntries(Array.from({ length: 120 }, (_, index) => [`f${index}.txt`, ''])))
    const { text, details } = await use('Glob', { pattern: '*.txt' })
    expect(text).toMatch(/^f119\.txt\nf118\.txt\n/)
    expect(text).toMatch(/\nf20\.txt\n\n\[100 of 120 files, most recently changed first\. .*\]$/)
    expect(details).toMatchObject({ numFiles: 120, truncated: true })
  })

  test('says when nothing matches, and what to do', async () => {
    const { use, cwd } = withFiles({ 'a.ts': '' })
    expect(await use('Glob', { pattern: '*.py' })).toMatchObject({
      isError: false,
      text: noFiles('*.py', cwd, ignoredFiles(everyTool)),
    })
    expect((await use('Glob', { pattern: 'a/../*' })).text).toBe(unsupportedPattern)
    expect((await use('Glob', { pattern: '*', path: 'nowhere' })).text).toMatch(
      /nowhere does not exist, so nothing was searched\./,
    )
  })
})

describe('Grep', () => {
  const files = {
    'a.ts': 'one\nneedle here\nthree\n',
    'src/b.ts': 'Needle\nneedle needle\n',
    'c.py': 'needle\n',
    '-dash.txt': 'needle\n',
  }

  test('lists files by default, most recently changed first', async () => {
    const { use } = withFiles(files)
    expect((await use('Grep', { pattern: 'needle' })).text).toBe('-dash.txt\nc.py\nsrc/b.ts\na.ts')
    expect((await use('Grep', { pattern: 'needle', glob: '*.ts' })).text).toBe('src/b.ts\na.ts')
    expect((await use('Grep', { pattern: 'needle', type: 'py' })).text).toBe('c.py')
    expect((await use('Grep', { pattern: 'needle', path: 'src' })).text).toBe('src/b.ts')
    expect((await use('Grep', { pattern: 'needle', path: 'c.py', output_mode: 'content' })).text).toBe('c.py:1:needle')
  })

  test('shows lines with numbers and context', async () => {
    const { use } = withFiles(files)
    expect((await use('Grep', { pattern: 'needle', output_mode: 'content', glob: '*.ts', '-i': true })).text).toBe(
      'a.ts:2:needle here\nsrc/b.ts:1:Needle\nsrc/b.ts:2:needle needle',
    )
    expect((await use('Grep', { pattern: 'here', output_mode: 'content', '-C': 1 })).text).toBe(
      'a.ts-1-one\na.ts:2:needle here\na.ts-3-three',
    )
    expect((await use('Grep', { pattern: 'here', output_mode: 'content', '-B': 1, '-n': false })).text).toBe(
      'a.ts:one\na.ts:needle here',
    )
    expect((await use('Grep', { pattern: 'one\\nneedle', output_mode: 'content', multiline: true })).text).toBe(
      'a.ts:1:one\na.ts:2:needle here',
    )
  })

  test('counts lines per file', async () => {
    const { use } = withFiles(files)
    expect((await use('Grep', { pattern: 'needle', output_mode: 'count', glob: '*.ts', '-i': true })).text).toBe(
      'a.ts:1\nsrc/b.ts:2',
    )
  })

  test('applies head_limit, and says that there is more', async () => {
    const { use } = withFiles(files)
    const result = await use('Grep', { pattern: 'needle', head_limit: 2 })
    expect(result.text).toBe(`-dash.txt\nc.py\n\n${resultsCut(2, 2)}`)
    expect((await use('Grep', { pattern: 'needle', head_limit: 4 })).text).toBe('-dash.txt\nc.py\nsrc/b.ts\na.ts')
  })

  test('limits output, and truncates long lines', async () => {
    const { use } = withFiles({ 'long.txt': `${'needle '.repeat(10_000)}\n`.repeat(200) })
    const { text } = await use('Grep', { pattern: 'needle', output_mode: 'content' })
    expect(text.length).toBeLessThanOrEqual(30_100)
    expect(text.split('\n')[0]?.length).toBeLessThanOrEqual(1100)
    expect(text).toMatch(/For more, repeat the call with "offset": \d+/)
  })

  test('accepts a pattern that begins with a dash; reports an invalid one', async () => {
    const { use } = withFiles({ a: '--flag\n' })
    expect((await use('Grep', { pattern: '--flag' })).text).toBe('a')
    expect(await use('Grep', { pattern: '(' })).toMatchObject({ isError: true })
    expect((await use('Grep', { pattern: '(' })).text).toMatch(/regex parse error/)
    expect((await use('Grep', { pattern: 'x', type: 'nosuch' })).text).toMatch(/unrecognized file type/)
    expect(await use('Grep', { pattern: 'zzz' })).toMatchObject({
      isError: false,
      text: expect.stringMatching(/^No matches for "zzz" in /) as string,
    })
  })

  test('omits hidden files, in every mode', async () => {
    const hides = (path: string): boolean => path.endsWith('.env')
    const { use } = withFiles({ '.env': 'needle=secret\n', a: 'needle\n' }, {}, { hides })
    for (const mode of ['files_with_matches', 'content', 'count']) {
      const { text } = await use('Grep', { pattern: 'needle', output_mode: mode })
      expect(text).toMatch(/^a/)
      expect(text).not.toMatch(/env|secret/)
    }
    expect((await use('Glob', { pattern: '*' })).text).toBe('a')
  })

  test('an abort ends the search', async () => {
    const { use } = withFiles({ a: 'x' })
    expect(await use('Grep', { pattern: 'x' }, AbortSignal.abort())).toMatchObject({
      isError: true,
      text: 'Interrupted before the search was complete.',
    })
  })

  test('an abort ends a running search early', async () => {
    const { use } = codingTools()
    const controller = new AbortController()
    // Reading all of this takes many seconds.
    const search = use('Grep', { pattern: 'halting-has-no-such-text-[0-9]', path: '/usr' }, controller.signal)
    setTimeout(() => controller.abort(), 100)
    expect(await search).toMatchObject({ isError: true, text: 'Interrupted before the search was complete.' })
  })

  test('rejects a pipe: reading it would block', async () => {
    const { use, cwd } = codingTools()
    await use('Bash', { command: 'mkfifo pipe' })
    expect((await use('Grep', { pattern: 'x', path: 'pipe' })).text).toBe(
      `${cwd}/pipe is neither a file nor a directory.`,
    )
  })
})
