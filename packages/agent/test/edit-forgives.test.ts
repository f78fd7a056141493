// Holds rules of docs/spec: R-HAND-3 to R-HAND-5.
import { chmodSync, chownSync, linkSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { FileCheckpoints } from '@halting/agent'
import { isDeep } from './support/deep.ts'
import { hardLinks } from '../src/tools/change-texts.ts'
import { loneSurrogate } from '../src/tools/input-texts.ts'
import { codingTools, type Harness } from './support/harness.ts'

async function withFile(content: string | Buffer): Promise<Harness & { readonly path: string }> {
  const harness = codingTools()
  const path = join(harness.cwd, 'file')
  writeFileSync(path, content)
  await harness.use('Read', { file_path: 'file' })
  return { ...harness, path }
}

async function miss(content: string, old: string): Promise<string> {
  const { use, path } = await withFile(content)
  const { text, isError } = await use('Edit', { file_path: 'file', old_string: old, new_string: 'something else' })
  expect(isError).toBe(true)
  expect(readFileSync(path, 'utf8')).toBe(content)
  expect(text.startsWith(`${path}: old_string is not in the file. `)).toBe(true)
  return text.slice(`${path}: old_string is not in the file. `.length)
}

const program = 'function first() {\n\treturn "one"\n}\n\nfunction second() {\n\treturn “two”\n}\n'

describe('a missing text is reported with the most similar lines and the difference', () => {
  const cases: readonly (readonly [string, string, string, readonly string[]])[] = [
    ['spaces for a tab', program, '{\n    return "one"\n}', ['lines 1 to 3. It differs in white space.', '     2\t\treturn "one"', 'Line 2: the file has "\\treturn \\"one\\"", old_string has "    return \\"one\\"".']], // prettier-ignore
    ['space at the end of a line', 'a = 1  \nb = 2\n', 'a = 1\nb = 2', ['lines 1 to 2. It differs in white space', 'Line 1: the file has "a = 1  ", old_string has "a = 1".']], // prettier-ignore
    ['a line end too much', 'a\nb', 'b\n', ['line 2. It differs in white space at the beginning or end']],
    ['straight quotes for curly ones', program, '\treturn "two"', ['line 6. It differs in similar characters', 'Line 6: the file has "\\treturn \\u201ctwo\\u201d"']], // prettier-ignore
    ['a space that does not break', 'price: 10\u00A0€\n', 'price: 10 €', ['line 1. It differs in']],
    ['an accent of two characters', 'cafe\u0301 open\n', 'café open', ['line 1. It differs in similar characters', 'has "caf\\u00e9 open"']], // prettier-ignore
    ['a long dash', 'a – b\n', 'a - b', ['line 1. It differs in similar characters']],
    ['upper case', 'const Name = 1\n', 'const name = 1', ['line 1. It differs in upper and lower case']],
    ['the line numbers of Read', program, '     1\tfunction first() {\n     2\t\treturn "one"', ['old_string includes the line numbers that Read shows, which are not part of the file. Without them it matches lines 1 to 2:']], // prettier-ignore
    ['line numbers, and spaces for the tab', program, '     2\t    return "one"\n     3\t}', ['lines 2 to 3', 'the line numbers that Read shows', 'white space']], // prettier-ignore
    ['line ends as two characters', 'one\ntwo\n', 'one\\ntwo', ['lines 1 to 2. It differs in escapes']],
    ['quotes with a backslash', 'say("hi")\n', 'say(\\"hi\\")', ['line 1. It differs in escapes']],
    [
      'carriage returns alone',
      'one\rtwo\rthree',
      'two\nthree',
      ['lines 2 to 3. It differs in line endings', '     2\ttwo'],
    ],
    ['another word', program, 'function first() {\n\treturn "uno"\n}', ['lines 1 to 3: 2 of 3 lines are equal.', 'Line 2: the file has "\\treturn \\"one\\"", old_string has "\\treturn \\"uno\\"".']], // prettier-ignore
    ['a line that is like it', 'let a = 1\nconst total = sum(items) + tax\nlet b = 2\n', 'const total = sum(item) + taxes', ['line 2, which is similar to old_string']], // prettier-ignore
    ['a line left out', 'one line\ntwo line\nthree line\nfour line\n', 'one line\nthree line\nfour line', ['2 of 3 lines are equal']], // prettier-ignore
    [
      'in a file with CRLF',
      'if (a) {\r\n\tb()\r\n}\r\n',
      'if (a) {\n  b()\n}',
      ['lines 1 to 3. It differs in white space'],
    ],
    [
      'twice',
      'x  y\n\nx  y\n',
      'x y',
      ['line 1. It differs in white space. There are several such places; this is the first.'],
    ],
    [
      'the mark of a secret',
      'key=abc\n',
      'key=[REDACTED]',
      ['old_string contains [REDACTED], but the file has a secret'],
    ],
    [
      'nothing like it',
      program,
      'zzzz qqqq',
      ['Nothing in the file is similar. Search for it with Grep, or read the file again.'],
    ],
    ['an empty file', '', 'a', ['Nothing in the file is similar.']],
  ]
  test.each(cases)('%s', async (_name, content, old, expectedParts) => {
    const text = await miss(content, old)
    for (const part of expectedParts) expect(text).toContain(part)
  })

  test.runIf(isDeep)('in bounded size and time, for any file and old_string', async () => {
    const long = `${'x'.repeat(50)} ${'y'.repeat(100_000)}\n`.repeat(9)
    const started = performance.now()
    expect((await miss(long, `${'x'.repeat(50)}  ${'y'.repeat(90_000)}`)).length).toBeLessThan(4000)
    expect((await miss('ab \n'.repeat(240_000), `${'ab\n'.repeat(1000)}c`)).length).toBeLessThan(4000)
    expect((await miss('ab\n'.repeat(2_000_000), 'abc')).length).toBeLessThan(500)
    expect(performance.now() - started).toBeLessThan(20_000)
  })

  test('without breaking on any input', async () => {
    const unit = fc.constantFrom('a', 'b', ' ', '\t', '\n', '\r', '\r\n', '1', '“', '"', '\\', '\\n', '😀', '\uFEFF')
    const texts = fc.array(unit, { maxLength: 30 }).map((units) => units.join(''))
    const harness = codingTools()
    await fc.assert(
      fc.asyncProperty(texts, texts, async (content, old) => {
        writeFileSync(join(harness.cwd, 'file'), content)
        await harness.use('Read', { file_path: 'file' })
        const { text, isError } = await harness.use('Edit', { file_path: 'file', old_string: old, new_string: 'ZZ', replace_all: true }) // prettier-ignore
        const plain = (given: string): string => given.replaceAll('\r\n', '\n')
        expect([content, old, isError, text]).toEqual([content, old, old === '' ? content.replace('\uFEFF', '') !== '' : !plain(content.replace(/^\uFEFF/, '')).includes(plain(old)), text]) // prettier-ignore
      }),
      { numRuns: isDeep ? 300 : 60 },
    )
  })
})

describe('an empty old_string', () => {
  test('creates a new file, with the folders above it', async () => {
    const { use, cwd } = codingTools()
    const edit = { file_path: 'a/b/new', old_string: '', new_string: 'one\ntwo\n' }
    expect(await use('Edit', edit)).toMatchObject({ isError: false, text: `Created ${cwd}/a/b/new (2 lines).` })
    expect(readFileSync(join(cwd, 'a/b/new'), 'utf8')).toBe('one\ntwo\n')
  })

  test('fills an empty file that was read, and changes no other', async () => {
    const { use, path } = await withFile('')
    const edit = { file_path: 'file', old_string: '', new_string: 'text\n' }
    expect(await use('Edit', edit)).toMatchObject({ isError: false })
    expect(readFileSync(path, 'utf8')).toBe('text\n')
    expect(await use('Edit', edit)).toMatchObject({ isError: true })
    expect(readFileSync(path, 'utf8')).toBe('text\n')
  })
})

describe('a file keeps its properties', () => {
  const big = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16()
  const forms: readonly (readonly [string, (text: string) => Buffer])[] = [
    ['UTF-8 with a mark', (text) => Buffer.from(`\uFEFF${text}`)],
    ['UTF-16, little end first, with a mark', (text) => Buffer.from(`\uFEFF${text}`, 'utf16le')],
    ['UTF-16, big end first, with a mark', (text) => big(`\uFEFF${text}`)],
    ['UTF-16, little end first', (text) => Buffer.from(text, 'utf16le')],
    ['UTF-16, big end first', (text) => big(text)],
  ]
  test.each(forms)('%s: read, edited, written', async (_name, bytesOf) => {
    const { use, path } = await withFile(bytesOf('first line\r\nzwölf 😀\r\nlast\r\n'))
    expect(await use('Read', { file_path: 'file' })).toMatchObject({
      isError: false,
      text: '     1\tfirst line\n     2\tzwölf 😀\n     3\tlast',
    })
    const edit = { file_path: 'file', old_string: 'zwölf 😀\nlast', new_string: 'drei\nend 🎉' }
    expect(await use('Edit', edit)).toMatchObject({ isError: false })
    expect(readFileSync(path)).toEqual(bytesOf('first line\r\ndrei\r\nend 🎉\r\n'))
    const written = await use('Write', { file_path: 'file', content: 'all new\n' })
    expect(written.isError).toBe(false)
    expect(readFileSync(path)).toEqual(bytesOf('all new\n'))
    expect(written.text).toMatch(/still stored with|are now LF\./)
  })

  test('preserves the mode, and reports that other hard links keep the old content', async () => {
    const { use, path, cwd } = await withFile('one\n')
    linkSync(path, join(cwd, 'other'))
    const { text } = await use('Edit', { file_path: 'file', old_string: 'one', new_string: 'two' })
    expect(text).toContain(hardLinks(2))
    expect([readFileSync(path, 'utf8'), readFileSync(join(cwd, 'other'), 'utf8')]).toEqual(['two\n', 'one\n'])
    expect(statSync(path).nlink).toBe(1)
  })

  test.runIf(process.getuid?.() === 0)('preserves the owner and the rights', async () => {
    const { use, path } = await withFile('one\n')
    chownSync(path, 1234, 1235)
    chmodSync(path, 0o4750)
    await use('Edit', { file_path: 'file', old_string: 'one', new_string: 'two' })
    const { uid, gid, mode } = statSync(path)
    expect([uid, gid, mode & 0o7777]).toEqual([1234, 1235, 0o4750])
  })

  test.each(['Edit', 'Write'])('R-HAND-5b: %s keeps what another program writes at the same time', async (tool) => {
    const checkpoints = {
      // Between the check of a file and its replacement: its former content is preserved then.
      around: async (_: unknown, path: string, __: unknown, save: () => Promise<unknown>) => {
        writeFileSync(path, 'of another program\n')
        return save()
      },
      dispose: async () => undefined,
    } as unknown as FileCheckpoints
    const { cwd, use } = codingTools({}, { checkpoints })
    writeFileSync(join(cwd, 'old'), 'one\n')
    await use('Read', { file_path: 'old' })
    for (const file_path of ['old', 'new']) {
      const old_string = file_path === 'old' ? 'one' : ''
      const result = await use(
        tool,
        tool === 'Edit' ? { file_path, old_string, new_string: 'x' } : { file_path, content: 'x' },
      )
      expect(result).toMatchObject({ isError: true, text: expect.stringContaining('changed by another program') })
      expect(readFileSync(join(cwd, file_path), 'utf8')).toBe('of another program\n')
    }
    expect(readdirSync(cwd).toSorted()).toEqual(['new', 'old'])
  })

  test.each(['Edit', 'Write'])('%s creates no file whose encoding is ambiguous', async (tool) => {
    const bytes = Buffer.from('one\n', 'utf16le')
    const { use, path } = await withFile(bytes)
    const content = '日本語のテキストです'
    const input = tool === 'Edit' ? { old_string: 'one\n', new_string: content } : { content }
    const result = await use(tool, { file_path: 'file', ...input })
    expect(result).toMatchObject({ isError: true, text: expect.stringContaining('without a byte order mark') })
    expect(readFileSync(path)).toEqual(bytes)
  })

  test('never writes half a character', async () => {
    const { use, path } = await withFile('one\n')
    expect((await use('Edit', { file_path: 'file', old_string: 'one', new_string: '\uD83D' })).text).toBe(
      loneSurrogate('new_string'),
    )
    expect((await use('Write', { file_path: 'file', content: 'a\uDE00' })).text).toBe(loneSurrogate('content'))
    expect(readFileSync(path, 'utf8')).toBe('one\n')
  })

  test('leaves invalid UTF-16 unchanged', async () => {
    const bytes = Buffer.concat([Buffer.from('\uFEFFab', 'utf16le'), Buffer.from([0x3d, 0xd8, 0x41])])
    const { use, path } = await withFile(bytes)
    expect((await use('Edit', { file_path: 'file', old_string: 'ab', new_string: 'x' })).text).toMatch(
      /not valid UTF-16 text/,
    )
    expect(readFileSync(path)).toEqual(bytes)
  })
})
