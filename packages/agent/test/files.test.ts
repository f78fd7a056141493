import { everyTool } from '../src/tools/available-tools.ts'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { redactSecrets } from '@halting/agent'
import {
  changedSinceRead,
  existsUnread,
  missingToEdit,
  notRead,
  oldStringAmbiguous,
} from '../src/tools/change-texts.ts'
import { similarNames } from '../src/tools/path-texts.ts'
import { missingFile, moreLines, offsetBeyondEnd, readDirectory } from '../src/tools/read-texts.ts'
import { codingTools, type Harness } from './support/harness.ts'

/** A workspace with one file in it, already read. */
async function withFile(
  content: string | Buffer,
  name: string = 'file.txt',
): Promise<Harness & { readonly path: string }> {
  const harness = codingTools()
  const path = join(harness.cwd, name)
  writeFileSync(path, content)
  await harness.use('Read', { file_path: name })
  return { ...harness, path }
}

describe('Read', () => {
  test('shows numbered lines, by relative and absolute path', async () => {
    const { use, path } = await withFile('one\ntwo\r\n\nfour')
    const expected = '     1\tone\n     2\ttwo\n     3\t\n     4\tfour'
    expect(await use('Read', { file_path: 'file.txt' })).toMatchObject({ text: expected, isError: false })
    expect(await use('Read', { file_path: path })).toMatchObject({ text: expected })
  })

  test('shows a range and how to continue', async () => {
    const { use, path } = await withFile(Array.from({ length: 5000 }, (_, index) => `line ${index + 1}`).join('\n'))
    expect(await use('Read', { file_path: 'file.txt', offset: 10, limit: 2 })).toMatchObject({
      text: `    10\tline 10\n    11\tline 11\n\n${moreLines(path, 10, 11, 5000)}`,
    })
    const whole = await use('Read', { file_path: 'file.txt' })
    expect(whole.text).toContain(`  2000\tline 2000\n\n${moreLines(path, 1, 2_000, 5_000)}`)
    expect(await use('Read', { file_path: 'file.txt', offset: 4999 })).toMatchObject({
      text: '  4999\tline 4999\n  5000\tline 5000',
    })
  })

  test('cuts long lines with a note, and bounds the whole result', async () => {
    const { use } = await withFile(`${'x'.repeat(5000)}\nshort`)
    const { text } = await use('Read', { file_path: 'file.txt' })
    expect(text).toBe(`     1\t${'x'.repeat(2000)} [... 3000 characters of this line left out]\n     2\tshort`)
    const { use: useLong } = await withFile(`${'y'.repeat(1999)}\n`.repeat(1000))
    const long = await useLong('Read', { file_path: 'file.txt' })
    expect(long.text.length).toBeLessThan(50_000)
    expect(long.text).toMatch(/\n\n\[Lines 1 to 23 of 1000\. .*"offset": 24\}\.\]$/)
  })

  test('reads a line of a gigabyte without a gigabyte of memory', async () => {
    const { use, path } = await withFile('start')
    truncateSync(path, 0)
    execFileSync('bash', ['-c', 'head -c 300000000 /dev/zero | tr "\\0" z > file.txt'], { cwd: join(path, '..') })
    const before = process.memoryUsage().rss
    const { text } = await use('Read', { file_path: 'file.txt' })
    expect(text).toBe(`     1\t${'z'.repeat(2000)} [... 299998000 characters of this line left out]`)
    expect(process.memoryUsage().rss - before).toBeLessThan(150_000_000)
  })

  test('says what to do about a file that is not text', async () => {
    const { use, cwd } = codingTools()
    mkdirSync(join(cwd, 'folder'))
    writeFileSync(join(cwd, 'empty'), '')
    writeFileSync(join(cwd, 'program'), Buffer.from([1, 2, 0, 3]))
    writeFileSync(join(cwd, 'readme.md'), 'text')
    writeFileSync(join(cwd, 'three'), 'a\nb\nc\n')
    execFileSync('bash', ['-c', 'mkfifo pipe'], { cwd })
    expect(await use('Read', { file_path: 'readme.txt' })).toMatchObject({
      isError: true,
      text: missingFile(`${cwd}/readme.txt`, cwd, similarNames('readme.md')),
    })
    expect(await use('Read', { file_path: 'folder' })).toMatchObject({
      isError: true,
      text: readDirectory(`${cwd}/folder`, everyTool),
    })
    expect((await use('Read', { file_path: 'program' })).text).toMatch(/is a binary file/)
    expect((await use('Read', { file_path: 'pipe' })).text).toMatch(/is not a regular file/)
    expect(await use('Read', { file_path: 'empty' })).toMatchObject({
      isError: false,
      text: `${cwd}/empty exists and is empty.`,
    })
    expect(await use('Read', { file_path: 'three', offset: 4 })).toMatchObject({
      isError: true,
      text: offsetBeyondEnd(`${cwd}/three`, 3, 4),
    })
  })

  const dot = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  )

  test('shows an image as an image, with the media type of its bytes whatever its name', async () => {
    const { use, cwd } = codingTools()
    writeFileSync(join(cwd, 'dot.jpg'), dot)
    const { output } = await use('Read', { file_path: 'dot.jpg' })
    expect(output.content).toEqual([
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: dot.toString('base64') } },
    ])
  })

  test('rejects an image that would break the session', async () => {
    const { use, cwd } = codingTools({}, { imageLibrary: async () => undefined })
    const wide = Buffer.from(dot)
    wide.writeUInt32BE(8001, 16)
    writeFileSync(join(cwd, 'wide.png'), wide)
    writeFileSync(join(cwd, 'large.png'), Buffer.concat([dot, Buffer.alloc(4_000_000)]))
    writeFileSync(join(cwd, 'not.png'), 'hello there, this is text')
    const advice = 'Make it smaller, or install sharp (npm i sharp) to have images resized automatically.'
    const textOfRead = async (name: string): Promise<string> => (await use('Read', { file_path: name })).text
    expect([await textOfRead('wide.png'), await textOfRead('large.png'), await textOfRead('not.png')]).toEqual([
      `${join(cwd, 'wide.png')} cannot be shown as an image. The image is 8001x1 px; at most 8000x8000 are accepted. ${advice}`,
      `${join(cwd, 'large.png')} cannot be shown as an image. The image has 5.1 MB encoded; at most 5 MB are accepted. ${advice}`,
      `${join(cwd, 'not.png')} cannot be shown as an image. It is not a PNG, JPEG, GIF or WebP file.`,
    ])
    const { use: useLess } = codingTools({ imageFileBytes: 100 }, { cwd })
    writeFileSync(join(cwd, 'file.png'), Buffer.concat([dot, Buffer.alloc(100)]))
    expect((await useLess('Read', { file_path: 'file.png' })).text).toMatch(
      /has \d+ bytes; Read takes images of at most 100/,
    )
  })

  test('reports all problems of a wrong input at once, with what is right', async () => {
    const { use } = codingTools()
    expect((await use('Read', { colour: 'x', offset: -1 })).text).toBe(
      'file_path is missing (a non-empty string without NUL characters); offset must be an integer >= 0, but is -1; there is no field colour. Fields of Read: file_path, offset?, limit?, pages?.',
    )
  })
})

describe('an input whose meaning is clear is accepted', () => {
  const cases: readonly (readonly [string, unknown, string])[] = [
    ['a number as text', { file_path: 'three', offset: '2', limit: ' 1 ' }, '     2\tb\n\n[Lines 2 to 2 of 3.'],
    ['an offset of 0, and no limit', { file_path: 'three', offset: 0, limit: 0 }, '     1\ta\n     2\tb\n     3\tc'],
    ['null for what may be absent', { file_path: 'three', offset: 3, limit: null }, '     3\tc'],
    ['the whole input as JSON', '{"file_path":"three","offset":3}', '     3\tc'],
  ]
  test.each(cases)('%s', async (_name, input, text) => {
    const { use, cwd } = codingTools()
    writeFileSync(join(cwd, 'three'), 'a\nb\nc\n')
    const read = await use('Read', input)
    expect([read.isError, read.text.slice(0, text.length)]).toEqual([false, text])
  })

  test('accepts words for yes and no, a choice in capitals, and an empty text for no answer', async () => {
    const { use, cwd } = codingTools()
    writeFileSync(join(cwd, 'three'), 'a\nB\nc\n')
    const input = { pattern: 'b', '-i': 'True', '-n': 'false', output_mode: ' Content', glob: '', path: null }
    expect(await use('Grep', input)).toMatchObject({ isError: false, text: 'three:B' })
  })

  test('rejects an ambiguous input, in one line', async () => {
    const { use } = codingTools()
    for (const offset of ['three', '1e3', '0x10', '', [], {}, true, '1.5', '99999999999999999999']) {
      const { text, isError } = await use('Read', { file_path: 'three', offset })
      expect([text, isError]).toEqual([expect.stringMatching(/^offset must be [^\n]*$/), true])
    }
  })
})

describe('Write', () => {
  test.runIf(existsSync('/proc'))('says so if no folder can be created, and does not retry for ever', async () => {
    const { use } = codingTools()
    expect(await use('Write', { file_path: '/proc/no-such-folder/in/it', content: 'x' })).toMatchObject({
      isError: true,
      text: '/proc/no-such-folder/in/it cannot be written: it no longer exists, or its folder cannot be created (ENOENT).',
    })
  })

  test('creates a file and the folders above it', async () => {
    const { use, cwd } = codingTools()
    expect(await use('Write', { file_path: 'a/b/c.txt', content: 'hi\n' })).toMatchObject({
      text: `Created ${cwd}/a/b/c.txt (1 line).`,
      details: {
        type: 'create',
        filePath: join(cwd, 'a/b/c.txt'),
        structuredPatch: [],
        linesAdded: 1,
        linesRemoved: 0,
      },
    })
    expect(readFileSync(join(cwd, 'a/b/c.txt'), 'utf8')).toBe('hi\n')
    expect(readdirSync(join(cwd, 'a/b'))).toEqual(['c.txt'])
  })

  test('does not overwrite a file that was never read', async () => {
    const { use, cwd } = codingTools()
    writeFileSync(join(cwd, 'x'), 'mine')
    expect(await use('Write', { file_path: 'x', content: 'yours' })).toMatchObject({
      isError: true,
      text: existsUnread(`${cwd}/x`, everyTool),
    })
    expect(readFileSync(join(cwd, 'x'), 'utf8')).toBe('mine')
  })

  test('does not overwrite a secret with the mark that replaces it in output', async () => {
    const secret = `gh${String()}p_Zq7Xw3Vt9Ls2Kd5Mf8Hj4Ng6Pb1Rc0Yabcd`
    const { use, cwd, workspace } = codingTools()
    workspace.redact = redactSecrets
    const path = join(cwd, '.env')
    writeFileSync(path, `TOKEN=${secret}\nDEBUG=0\n`)
    await use('Read', { file_path: '.env' })
    expect(await use('Write', { file_path: '.env', content: 'TOKEN=[REDACTED]\nDEBUG=1\n' })).toMatchObject({
      isError: true,
      text: `${path} contains secrets that were shown to you as [REDACTED]. Your content has [REDACTED] in their place, so they would be lost. Use Edit for the other lines.`,
    })
    expect(readFileSync(path, 'utf8')).toContain(secret)
    expect((await use('Edit', { file_path: '.env', old_string: 'DEBUG=0', new_string: 'DEBUG=1' })).isError).toBe(false)
    expect(readFileSync(path, 'utf8')).toBe(`TOKEN=${secret}\nDEBUG=1\n`)
    // A text without a secret may contain the mark, and a secret may be deleted.
    expect((await use('Write', { file_path: '.env', content: 'TOKEN=\n' })).isError).toBe(false)
    expect((await use('Write', { file_path: '.env', content: 'TOKEN=[REDACTED]\n' })).isError).toBe(false)
  })

  test('does not overwrite a change since the read, even with the same time and size', async () => {
    const { use, path } = await withFile('aaaa')
    const { atime, mtime } = statSync(path)
    writeFileSync(path, 'bbbb')
    utimesSync(path, atime, mtime)
    expect(await use('Write', { file_path: 'file.txt', content: 'c' })).toMatchObject({
      isError: true,
      text: expect.stringContaining(`${changedSinceRead(path, everyTool)} What changed:`),
    })
    expect(readFileSync(path, 'utf8')).toBe('bbbb')
  })

  test('overwrites a merely touched file, keeps its mode, and returns the patch', async () => {
    const { use, path } = await withFile('one\ntwo\n')
    chmodSync(path, 0o751)
    utimesSync(path, new Date(), new Date(0))
    const result = await use('Write', { file_path: 'file.txt', content: 'one\n2\n' })
    expect(result.details).toEqual({
      type: 'update',
      filePath: path,
      structuredPatch: [{ oldStart: 1, oldLines: 2, newStart: 1, newLines: 2, lines: [' one', '-two', '+2'] }],
      linesAdded: 1,
      linesRemoved: 1,
    })
    expect(statSync(path).mode & 0o777).toBe(0o751)
  })

  test('may overwrite what it wrote', async () => {
    const { use } = codingTools()
    await use('Write', { file_path: 'x', content: '1' })
    expect(await use('Write', { file_path: 'x', content: '2' })).toMatchObject({ isError: false })
  })

  test('writes through a link, which stays a link', async () => {
    const { use, cwd, path } = await withFile('old')
    symlinkSync('file.txt', join(cwd, 'link'))
    expect(await use('Write', { file_path: 'link', content: 'new' })).toMatchObject({ isError: false })
    expect(readFileSync(path, 'utf8')).toBe('new')
    expect(
      readdirSync(cwd, { withFileTypes: true })
        .find(({ name }) => name === 'link')
        ?.isSymbolicLink(),
    ).toBe(true)
  })

  test('reports a folder at the path of the file', async () => {
    const { use, cwd } = codingTools()
    mkdirSync(join(cwd, 'd'))
    expect(await use('Write', { file_path: 'd', content: '' })).toMatchObject({
      isError: true,
      text: `${cwd}/d is a directory. Write works on files only.`,
    })
  })
})

describe('Edit', () => {
  test('replaces one occurrence, shows it, and returns the patch', async () => {
    const { use, path } = await withFile('a\nb\nc\n')
    const result = await use('Edit', { file_path: 'file.txt', old_string: 'b', new_string: 'B' })
    expect(result.text).toBe(`Edited ${path}. The lines are now:\n     1\ta\n     2\tB\n     3\tc`)
    expect(result.details).toEqual({
      filePath: path,
      oldString: 'b',
      newString: 'B',
      replaceAll: false,
      structuredPatch: [{ oldStart: 1, oldLines: 3, newStart: 1, newLines: 3, lines: [' a', '-b', '+B', ' c'] }],
      linesAdded: 1,
      linesRemoved: 1,
    })
    expect(readFileSync(path, 'utf8')).toBe('a\nB\nc\n')
  })

  test('rejects a missing text, and one that occurs more than once', async () => {
    const { use, path } = await withFile('x\ny\nx\n')
    const lines = '     1\tx\n     2\ty\n     3\tx'
    expect((await use('Edit', { file_path: 'file.txt', old_string: 'z', new_string: 'q' })).text).toMatch(
      /old_string is not in the file/,
    )
    expect((await use('Edit', { file_path: 'file.txt', old_string: 'x', new_string: 'q' })).text).toBe(
      oldStringAmbiguous(path, 2, '1, 3', lines),
    )
    expect(readFileSync(path, 'utf8')).toBe('x\ny\nx\n')
    const all = await use('Edit', { file_path: 'file.txt', old_string: 'x', new_string: 'q', replace_all: true })
    expect(all.text).toMatch(/in 2 places/)
    expect(readFileSync(path, 'utf8')).toBe('q\ny\nq\n')
  })

  test('rejects identical and empty texts', async () => {
    const { use } = await withFile('x')
    expect((await use('Edit', { file_path: 'file.txt', old_string: 'x', new_string: 'x' })).text).toMatch(
      /are identical/,
    )
    expect((await use('Edit', { file_path: 'file.txt', old_string: '', new_string: 'y' })).text).toMatch(
      /exists and is not empty, but old_string is/,
    )
  })

  test('rejects a file that was not read, changed since, or is gone', async () => {
    const { use, cwd } = codingTools()
    const edit = { file_path: 'x', old_string: 'mine', new_string: 'yours' }
    expect((await use('Edit', edit)).text).toContain(missingToEdit(`${cwd}/x`, '', everyTool))
    writeFileSync(join(cwd, 'x'), 'mine')
    expect((await use('Edit', edit)).text).toBe(notRead(`${cwd}/x`, everyTool))
    await use('Read', { file_path: 'x' })
    await use('Bash', { command: 'echo more >> x' })
    expect((await use('Edit', edit)).text).toBe(
      `${changedSinceRead(`${cwd}/x`, everyTool)} What changed:\n@@ -1,1 +1,1 @@\n-mine\n\\ No newline at end of file\n+minemore`,
    )
    expect(readFileSync(join(cwd, 'x'), 'utf8')).toBe('minemore\n')
  })

  test('rejects text that is not UTF-8: writing it back would damage it', async () => {
    const bytes = Buffer.from([0x63, 0x61, 0x66, 0xe9])
    const { use, path } = await withFile(bytes)
    expect((await use('Edit', { file_path: 'file.txt', old_string: 'caf', new_string: 'x' })).text).toMatch(
      /is not valid UTF-8 text/,
    )
    expect(readFileSync(path)).toEqual(bytes)
  })

  test('preserves the byte order mark and the line ends, even mixed ones', async () => {
    const { use, path } = await withFile('\uFEFFa\r\nb\nc\r\nd')
    await use('Edit', { file_path: 'file.txt', old_string: 'b\nc', new_string: 'B\nC\nD' })
    expect(readFileSync(path, 'utf8')).toBe('\uFEFFa\r\nB\nC\nD\r\nd')
    await use('Edit', { file_path: 'file.txt', old_string: 'a\nB', new_string: 'A\n\nB' })
    expect(readFileSync(path, 'utf8')).toBe('\uFEFFA\r\n\r\nB\nC\nD\r\nd')
  })

  test('applies edits of one file one after another', async () => {
    const { use, path } = await withFile(Array.from({ length: 20 }, (_, index) => `<${index}>`).join('\n'))
    const calls = Array.from({ length: 20 }, (_, index) =>
      use('Edit', { file_path: 'file.txt', old_string: `<${index}>`, new_string: `[${index}]` }),
    )
    expect((await Promise.all(calls)).map(({ isError }) => isError)).toEqual(calls.map(() => false))
    expect(readFileSync(path, 'utf8')).toBe(Array.from({ length: 20 }, (_, index) => `[${index}]`).join('\n'))
  })

  test('restores every byte with the inverse edit', async () => {
    const lines = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', ' ', 'é', '😀', '$', '&', '\\') }), {
      minLength: 1,
      maxLength: 6,
    })
    const harness = codingTools()
    const path = join(harness.cwd, 'file.txt')
    await fc.assert(
      fc.asyncProperty(
        lines,
        lines,
        lines,
        fc.boolean(),
        fc.boolean(),
        async (before, inserted, after, isCrlf, hasMark) => {
          const end = isCrlf ? '\r\n' : '\n'
          const [oldText, newText] = ['<<OLD>>\n<<PLACE>>', `<<NEW>>\n${inserted.join('\n')}<<END>>`]
          const text = [...before, ...oldText.split('\n'), ...after].join(end)
          const bytes = Buffer.from((hasMark ? '\uFEFF' : '') + text)
          writeFileSync(path, bytes)
          await harness.use('Read', { file_path: path })
          const there = await harness.use('Edit', { file_path: path, old_string: oldText, new_string: newText })
          expect(there).toMatchObject({ isError: false })
          expect(readFileSync(path)).not.toEqual(bytes)
          const back = await harness.use('Edit', { file_path: path, old_string: newText, new_string: oldText })
          expect(back).toMatchObject({ isError: false })
          expect(readFileSync(path)).toEqual(bytes)
        },
      ),
      { numRuns: 60 },
    )
  })
})
