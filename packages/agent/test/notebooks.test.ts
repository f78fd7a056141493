// Spec R-BOOK-1 to R-BOOK-4: notebooks are read by cell, and one cell is changed at a time.
import { everyTool } from '../src/tools/available-tools.ts'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { redactSecrets } from '@halting/agent'
import { changedSinceRead, notRead } from '../src/tools/change-texts.ts'
import { cellIdNeeded, unknownCell } from '../src/tools/notebook-texts.ts'
import { codingTools, type Harness } from './support/harness.ts'

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const book = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": ["# Title\\n", "text"]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "calc",
   "metadata": {"big": 12345678901234567890, "half": 1.0},
   "outputs": [
    {"output_type": "stream", "name": "stdout", "text": ["one\\n", "two\\n"]},
    {"output_type": "display_data", "data": {"image/png": "${pixel}", "text/plain": ["<Figure>"]}},
    {"output_type": "error", "ename": "ValueError", "evalue": "bad", "traceback": ["\\u001b[31mline 1\\u001b[0m"]},
    {"output_type": "execute_result", "data": {"application/x-thing": {}}}
   ],
   "source": "print(1)"
  },
  {"cell_type": "code", "id": "last", "metadata": {"scale": 1.0}, "outputs": [], "source": []}
 ],
 "metadata": {"n": 1.50},
 "nbformat": 4,
 "nbformat_minor": 5
}
`

function withBook(content: string = book): Harness & { readonly path: string } {
  const harness = codingTools()
  const path = join(harness.cwd, 'a.ipynb')
  writeFileSync(path, content)
  return { ...harness, path }
}

test('Read shows cells with their outputs: text bounded, images as images, without colours (spec R-BOOK-1)', async () => {
  const { output } = await withBook().use('Read', { file_path: 'a.ipynb' })
  expect(output.content).toEqual([
    {
      type: 'text',
      text: '<cell id="intro" type="markdown">\n# Title\ntext\n</cell>\n<cell id="calc" type="code">\nprint(1)\n</cell>\n<output>\none\ntwo\n</output>',
    },
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } },
    {
      type: 'text',
      text: '<output>\nError: ValueError: bad\nline 1\n</output>\n[Output of type application/x-thing, not shown]\n<cell id="last" type="code">\n\n</cell>',
    },
  ])
})

test('Read shows a range of cells and how to continue; long outputs and cells are cut (spec R-BOOK-1)', async () => {
  const cells = Array.from({ length: 50 }, (_, index) => ({
    cell_type: 'code',
    source: `${index} ${'s'.repeat(3000)}`,
    outputs: [{ output_type: 'stream', text: 'o'.repeat(100_000) }],
  }))
  const { use } = withBook(JSON.stringify({ cells, nbformat: 4, nbformat_minor: 2 }))
  const all = await use('Read', { file_path: 'a.ipynb' })
  expect(all.text.length).toBeLessThan(60_000)
  expect(all.text).toMatch(
    /^<cell id="cell-0" type="code">\n0 s+\n<\/cell>\n<output>\no{4000}\n\[\.\.\. 96000 characters left out\]/,
  )
  expect(all.text).toMatch(/\[Cells 1 to 7 of 50\. .*"offset": 8\}\.\]$/)
  expect((await use('Read', { file_path: 'a.ipynb', offset: 50 })).text).toMatch(
    /^<cell id="cell-49"[^]*\[Cells 50 to 50 of 50\.\]$/,
  )
  expect(await use('Read', { file_path: 'a.ipynb', offset: 51 })).toMatchObject({
    isError: true,
    text: expect.stringContaining('50 cells; there is no cell number 51'),
  })
  const { use: useLong } = withBook(JSON.stringify({ cells: [{ cell_type: 'code', source: 'x'.repeat(1_000_000) }] }))
  expect((await useLong('Read', { file_path: 'a.ipynb' })).text.length).toBeLessThan(49_000)
})

test.each([
  ['no JSON', '{"cells": [', '     1\t{"cells": ['],
  ['JSON without cells', '{"a": 1}', '     1\t{"a": 1}'],
  ['an empty file', '', expect.stringContaining('empty')],
])('what is not a notebook is shown as text: %s', async (_, content, expected) => {
  expect(await withBook(content).use('Read', { file_path: 'a.ipynb' })).toMatchObject({
    text: expected,
    isError: false,
  })
})

test.each([
  ['{"cells": []}', 'without cells'],
  ['{"cells": [null, 3, {"source": 7, "outputs": [null, {"output_type": "error"}, {"data": 4}]}]}', 'cell-2'],
])('malformed notebooks break nothing: %s', async (content, expected) => {
  expect(await withBook(content).use('Read', { file_path: 'a.ipynb' })).toMatchObject({
    isError: false,
    text: expect.stringContaining(expected),
  })
})

test('NotebookEdit replaces a cell, clears its outputs, and leaves the rest byte for byte (spec R-BOOK-3)', async () => {
  const { use, path } = withBook()
  await use('Read', { file_path: path })
  const result = await use('NotebookEdit', { notebook_path: path, cell_id: 'intro', new_source: '# New\nmore' })
  expect(result).toMatchObject({
    isError: false,
    text: `Replaced cell intro of ${path}.`,
    details: { cell_id: 'intro', edit_mode: 'replace', linesAdded: 4 },
  })
  const after = readFileSync(path, 'utf8')
  const [before, rest] = [book.indexOf('  {\n   "cell_type": "code"'), after.indexOf('  {\n   "cell_type": "code"')]
  expect(after.slice(rest)).toBe(book.slice(before))
  expect(after.slice(0, rest)).toBe(
    '{\n "cells": [\n  {\n   "cell_type": "markdown",\n   "id": "intro",\n   "metadata": {},\n   "source": [\n    "# New\\n",\n    "more"\n   ]\n  },\n',
  )
  await use('NotebookEdit', { notebook_path: path, cell_id: 'cell-1', new_source: 'print(2)' })
  expect(JSON.parse(readFileSync(path, 'utf8')).cells[1]).toMatchObject({
    id: 'calc',
    source: 'print(2)',
    outputs: [],
    execution_count: null,
  })
  expect(readFileSync(path, 'utf8')).toContain('"scale": 1.0')
})

test('NotebookEdit inserts and deletes cells, at the top too (spec R-BOOK-3)', async () => {
  const { use, path } = withBook()
  await use('Read', { file_path: path })
  const edit = async (input: object): Promise<readonly [string, readonly string[]]> => {
    const { text } = await use('NotebookEdit', { notebook_path: path, new_source: '', ...input })
    const { cells } = JSON.parse(readFileSync(path, 'utf8')) as {
      cells: { id: string; cell_type: string; source: string[] }[]
    }
    return [
      text,
      cells.map(({ id, cell_type: type, source }) => `${id.length === 8 ? 'new' : id}:${type}:${source.length}`),
    ]
  }
  expect((await edit({ edit_mode: 'insert', new_source: 'x = 1', cell_type: 'code' }))[1]).toEqual([
    'new:code:1',
    'intro:markdown:2',
    'calc:code:8',
    'last:code:0',
  ])
  expect(
    (await edit({ edit_mode: 'insert', cell_id: 'last', new_source: 'a\nb\n', cell_type: 'markdown' }))[1].at(-1),
  ).toBe('new:markdown:2')
  expect(await edit({ edit_mode: 'delete', cell_id: 'calc' })).toEqual([
    `Deleted cell calc of ${path}.`,
    ['new:code:1', 'intro:markdown:2', 'last:code:0', 'new:markdown:2'],
  ])
  for (const _ of [1, 2, 3]) await edit({ edit_mode: 'delete', cell_id: 'cell-0' })
  expect((await edit({ edit_mode: 'delete', cell_id: 'cell-0' }))[1]).toEqual([])
  expect((await edit({ edit_mode: 'insert', new_source: 'x' }))[1]).toEqual(['new:code:1'])
  expect(readFileSync(path, 'utf8')).toMatch(/"metadata": \{"n": 1\.50\}/)
})

test('notebooks of an older format get no ids; compact ones, CRLF, byte order mark and mode stay (spec R-BOOK-3)', async () => {
  const { use, path } = withBook(
    '\uFEFF{"cells":[{"cell_type":"code","metadata":{},"outputs":[],"source":"a"}],"nbformat":4,"nbformat_minor":2}',
  )
  await use('Read', { file_path: path })
  await use('NotebookEdit', {
    notebook_path: path,
    cell_id: 'cell-0',
    edit_mode: 'insert',
    new_source: 'b',
    cell_type: 'markdown',
  })
  expect(readFileSync(path, 'utf8')).toBe(
    '\uFEFF{"cells":[{"cell_type":"code","metadata":{},"outputs":[],"source":"a"},{"cell_type":"markdown","metadata":{},"source":["b"]}],"nbformat":4,"nbformat_minor":2}',
  )
  const { use: useCrlf, path: crlf } = withBook(book.replaceAll('\n', '\r\n'))
  await useCrlf('Read', { file_path: crlf })
  await useCrlf('NotebookEdit', { notebook_path: crlf, cell_id: 'calc', new_source: 'b' })
  expect(readFileSync(crlf, 'utf8')).not.toMatch(/[^\r]\n/)
  expect(statSync(crlf).mode & 0o777).toBe(statSync(path).mode & 0o777)
})

test('a notebook must have been read, and must not have changed since (spec R-BOOK-2)', async () => {
  const { use, path } = withBook()
  const edit = (input: object = {}) =>
    use('NotebookEdit', { notebook_path: path, cell_id: 'calc', new_source: 'x', ...input })
  expect(await edit()).toMatchObject({ isError: true, text: notRead(path, everyTool) })
  await use('Read', { file_path: path })
  writeFileSync(path, book.replace('Title', 'Other'))
  expect(await edit()).toMatchObject({
    isError: true,
    text: expect.stringContaining(changedSinceRead(path, everyTool)) as string,
  })
  await use('Read', { file_path: path })
  expect(await edit({ cell_id: 'nope' })).toMatchObject({
    isError: true,
    text: unknownCell(path, 'nope', 'intro, calc, last'),
  })
  expect(await edit({ cell_id: undefined })).toMatchObject({
    isError: true,
    text: cellIdNeeded('replace'),
  })
  expect(await edit({ notebook_path: 'b.ipynb' })).toMatchObject({
    isError: true,
    text: expect.stringContaining('does not exist'),
  })
  writeFileSync(path, 'text')
  await use('Read', { file_path: path })
  expect(await edit()).toMatchObject({
    isError: true,
    text: `${path} is not JSON, so it is not a notebook. Use Edit instead.`,
  })
})

test('does not lose a secret that was shown as a mark (spec R-BOOK-4)', async () => {
  const key = `sk-ant-api03-${'a1B2c3D4'.repeat(11)}-AA`
  const { use, path, workspace } = withBook(book.replace('print(1)', `key = '${key}'`))
  workspace.redact = redactSecrets
  await use('Read', { file_path: path })
  const mark = redactSecrets(`key = '${key}'`)
  expect(mark).not.toContain(key)
  expect(await use('NotebookEdit', { notebook_path: path, cell_id: 'calc', new_source: mark })).toMatchObject({
    isError: true,
    text: expect.stringContaining('they would be lost'),
  })
})

test('treats an offset or a limit of 0 as absent, and limits the number of outputs (spec R-BOOK-1, R-TOOL-2a)', async () => {
  const plain = await withBook().use('Read', { file_path: 'a.ipynb' })
  const nought = await withBook().use('Read', { file_path: 'a.ipynb', offset: 0, limit: 0 })
  expect(nought.output.content).toEqual(plain.output.content)
  const outputs = Array.from({ length: 2000 }, () => ({ output_type: 'stream', text: 'x'.repeat(300) }))
  const many = JSON.stringify({ cells: [{ cell_type: 'code', id: 'a', source: '', outputs }], nbformat: 4 })
  const { text } = await withBook(many).use('Read', { file_path: 'a.ipynb' })
  expect(text.length).toBeLessThan(50_000)
  expect(text).toMatch(/\[\.\.\. \d+ more outputs left out\]$/)
})

test('rejects a cell nested too deeply to be written again (spec R-BOOK-2)', async () => {
  const metadata = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
  const { use } = withBook(`{"cells":[{"cell_type":"code","id":"a","source":"x","metadata":${metadata}}],"nbformat":4}`)
  await use('Read', { file_path: 'a.ipynb' })
  const result = await use('NotebookEdit', { notebook_path: 'a.ipynb', cell_id: 'a', new_source: 'y' })
  expect(result).toMatchObject({ isError: true, text: expect.stringContaining('nested too deeply for NotebookEdit') })
})
