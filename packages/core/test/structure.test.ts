// Tests the figures of `npm run structure` on small made-up trees.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import {
  filesAndFolders,
  filesThatReadSessions,
  largestDocument,
  largestFile,
  layers,
  longFunctions,
  occurrencesOf,
  packagesOf,
  sessionBuilders,
  smallFilesWithOneImporter,
  tablesOf,
} from '../../../scripts/structure/figures.mjs'
import { treeOf, type Tree } from '../../../scripts/structure/tree.mjs'

/** Package `a` with these sources, entry `index.ts`, and other packages by their paths. */
function tree(sources: Readonly<Record<string, string>>, others: Readonly<Record<string, string>> = {}): Tree {
  const own = Object.entries(sources).map(([path, text]) => [`packages/a/src/${path}`, text] as const)
  const exports = { '.': { types: './dist/index.d.ts', default: './dist/index.js' } }
  return treeOf(
    new Map([
      ...own,
      ['packages/a/package.json', JSON.stringify({ name: '@x/a', exports })],
      ...Object.entries(others),
    ]),
  )
}

const lines = (count: number): string => 'let x = 0\n'.repeat(count)

test('counts source files and the folders that have one', () => {
  expect(filesAndFolders(tree({ 'index.ts': '', 'one/two/x.ts': '', 'one/two/y.tsx': '' }))).toEqual({
    files: 3,
    folders: 2,
  })
})

test('finds small files with one importer, by any kind of import, and omits entries and large files', () => {
  const found = smallFilesWithOneImporter(
    tree(
      {
        'index.ts': "export { a } from './a.ts'\nexport * from './star.ts'",
        'a.ts':
          "import type { B } from './b.ts'\nimport { large } from './large.ts'\nimport './shared.ts'\nexport const a = 1",
        'b.ts': "export type B = 1\nawait import('./lazy.ts')\nimport './shared.ts'",
        'lazy.ts': '',
        'star.ts': '',
        'large.ts': lines(61),
        'shared.ts': '',
        'unused.ts': '',
      },
      { 'packages/b/src/other.ts': "import { a } from '@x/a'" },
    ),
  )
  expect(found).toEqual(['a.ts', 'b.ts', 'lazy.ts', 'star.ts'].map((name) => `packages/a/src/${name}`))
})

test('counts an import of a package for its entry', () => {
  const texts = {
    'packages/b/src/other.ts': "import { a } from '@x/a'\nimport './below.ts'",
    'packages/b/src/below.ts': '',
  }
  expect(smallFilesWithOneImporter(tree({ 'index.ts': '' }, texts))).toEqual(['packages/b/src/below.ts'])
})

test('layers rooms so that few imports point upward', () => {
  const found = layers(
    tree({
      'index.ts': "import './top/a.ts'",
      'top/a.ts': "import '../middle/a.ts'",
      'top/b.ts': "import '../middle/a.ts'\nimport './a.ts'",
      'middle/a.ts': "import '../bottom.ts'\nimport './inner/b.ts'",
      'middle/inner/b.ts': "import '../../top/b.ts'",
      'bottom.ts': "import '@x/elsewhere'",
    }),
    'packages/a/src',
  )
  expect(found).toEqual({ rooms: 4, floors: 4, upward: 1, order: ['index.ts', 'top', 'middle', 'bottom.ts'] })
})

test('finds one layer without imports', () => {
  expect(layers(tree({ 'index.ts': '', 'x.ts': '' }), 'packages/a/src')).toMatchObject({ floors: 1, upward: 0 })
})

test('finds files that assemble the tools of a session, and not the one that declares how', () => {
  const sources = {
    'index.ts': 'export function createTools() { return createTools() }',
    'one.ts': 'const x = [...createTools(1)]',
    'named.ts': 'const y = createTools',
  }
  expect(sessionBuilders(tree(sources), ['createTools'])).toEqual(['packages/a/src/one.ts'])
})

test('a package reads sessions when one of its files both reads records and builds a model of them', () => {
  const names = { readers: ['readRecords'], models: ['sumOf', 'modelOf'] }
  const found = filesThatReadSessions(
    tree(
      { 'index.ts': "import { readRecords } from '@x/store'\nimport { sumOf } from '@x/sums'" },
      {
        'packages/b/src/x.ts':
          "import { readRecords as read } from '@x/store'\nexport function modelOf() { return read() }",
        'packages/c/src/reads.ts': "import { readRecords } from '@x/store'",
        'packages/c/src/sums.ts': "import { sumOf } from '@x/sums'",
        'packages/d/src/index.ts': "export { readRecords } from '@x/store'\nexport { sumOf } from '@x/sums'",
      },
    ),
    names,
  )
  expect(found).toEqual(['packages/a/src/index.ts', 'packages/b/src/x.ts'])
  expect(packagesOf(found)).toEqual(['a', 'b'])
})

test('finds tables and switches over a union', () => {
  const sources = {
    'index.ts': "export type Reason = 'one' | 'two' | 'three'",
    'tables.ts': `
      const mapped: { readonly [reason in Reason]: string } = { one: '', two: '', three: '' }
      const partial: Readonly<Partial<Record<Reason, string>>> = {}
      const checked = { one: 1 } satisfies Partial<Record<Reason, number>>
      const other: Record<string, Reason> = {}
      function counts(byReason: Record<Reason, number>) {}`,
    'switches.ts': `
      switch (reason) { case 'one': case 'two': break }
      switch (reason) { case 'one': break; default: }`,
  }
  expect(tablesOf(tree(sources), 'Reason')).toEqual([
    'packages/a/src/tables.ts: mapped',
    'packages/a/src/tables.ts: partial',
    'packages/a/src/tables.ts: checked',
    'packages/a/src/switches.ts: switch',
  ])
})

test('counts words, not parts of longer names', () => {
  const sources = { 'index.ts': "// Kept twice: kept.\nconst keptRuns = 'it keeps'", 'x.ts': 'const keep = 1' }
  expect(occurrencesOf(tree(sources), ['kept', 'keeps', 'keep'])).toBe(4)
})

test('finds the largest file and the largest document', () => {
  expect(largestFile(tree({ 'index.ts': lines(3), 'x.ts': lines(5) }))).toEqual({
    path: 'packages/a/src/x.ts',
    lines: 5,
  })
  const sizes = new Map([
    ['one.md', 10],
    ['two.md', 20],
  ])
  expect(largestDocument(sizes)).toEqual({ path: 'two.md', bytes: 20 })
})

test('finds long functions by name and leaves their doc comments out', () => {
  const body = (count: number): string => `{\n${lines(count)}}`
  const sources = {
    'index.ts': `/**\n${' * Why.\n'.repeat(9)} */\nexport function exact() ${body(8)}\nexport function long() ${body(9)}`,
    'x.ts': `const arrow = () => ${body(9)}\nclass One { method() ${body(9)} }\nrun(() => ${body(9)})`,
  }
  expect(longFunctions(tree(sources), 10)).toEqual([
    { name: 'packages/a/src/index.ts: long', lines: 11 },
    { name: 'packages/a/src/x.ts: arrow', lines: 11 },
    { name: 'packages/a/src/x.ts: method', lines: 11 },
    { name: 'packages/a/src/x.ts: unnamed', lines: 11 },
  ])
})

test('the list of longer functions in .oxlintrc.json has only files that need it', () => {
  const root = new URL('../../../', import.meta.url)
  const text = readFileSync(new URL('.oxlintrc.json', root), 'utf8')
  const row = /"files": \["(packages\/[^"*]+)"\][^[]+"eslint\/max-lines-per-function": \["error", \{ "max": (\d+) \}\]/g
  const exceptions = [...text.matchAll(row)].map(([, path = '', most]) => ({ path, most: Number(most) }))
  const texts = new Map(exceptions.map(({ path }) => [path, readFileSync(new URL(path, root), 'utf8')]))
  const functions = longFunctions(treeOf(texts))
  const longest = ({ path }: { readonly path: string }): number =>
    Math.max(0, ...functions.filter(({ name }) => name.startsWith(`${path}: `)).map(({ lines }) => lines))
  expect(exceptions.filter((each) => longest(each) < each.most)).toEqual([])
})
