import { array, assert, constantFrom, integer, property, tuple } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { columnsOf } from '../src/io/columns.ts'
import { indentedLines, namedTextLines, tableLines, type TableColumn } from '../src/io/table.ts'

describe('a table', () => {
  test('aligns wide characters, emoji and combining marks by their columns', () => {
    const rows = [
      ['日本語', '1', 'wide'],
      ['🙂 ok', '22', 'emoji'],
      ['e\u0301te\u0301', '333', 'combining'],
      ['plain', '4,444', 'ASCII'],
    ]
    expect(tableLines(rows, { columns: [{}, { align: 'right' }, {}] })).toEqual([
      '  日本語      1  wide',
      '  🙂 ok      22  emoji',
      '  e\u0301te\u0301       333  combining',
      '  plain   4,444  ASCII',
    ])
  })
  test('keeps the position of empty and missing cells, and has no blanks at the end of a line', () => {
    const rows = [['a', '', 'c'], ['long name', 'b'], ['']]
    expect(tableLines(rows, { columns: [{}, { min: 3 }, {}], indent: 0 })).toEqual([
      'a               c',
      'long name  b',
      '',
    ])
  })
  test('truncates cells that are wider than the maximum of their column', () => {
    const columns = [{ max: 5 }, { rest: 'cut' as const }]
    expect(tableLines([['日本語', 'a long text']], { columns, width: 16 })).toEqual(['  日本…  a long…'])
  })
  test('truncates the whole line if the columns need more than its width', () => {
    const columns = [{}, { align: 'right' as const }, { rest: 'cut' as const }]
    expect(tableLines([['session', '12', 'text']], { columns, width: 10 })).toEqual(['  session…'])
    expect(tableLines([['session', '12', 'text']], { columns, width: 1 })).toEqual(['…'])
  })
  test('drops columns from the right where the first column has no room, except those to keep', () => {
    const figure = { align: 'right' } as const
    const layout = { columns: [{ rest: 'cut' }, figure, figure], keep: 2, head: ['', 'runs', 'cost'] } as const
    const rows = [
      ['claude-sonnet', '12', '$1.00'],
      ['gpt', '3', '$0.10'],
    ]
    expect(tableLines(rows, { ...layout, width: 28 })).toEqual([
      '                 runs   cost',
      '  claude-sonnet    12  $1.00',
      '  gpt               3  $0.10',
    ])
    expect(tableLines(rows, { ...layout, width: 24 })).toEqual([
      '                 runs',
      '  claude-sonnet    12',
      '  gpt               3',
    ])
    expect(tableLines(rows, { ...layout, width: 14 })).toEqual(['          runs', '  claud…    12', '  gpt        3'])
  })
  test('applies styles to text only, after measuring it', () => {
    const style = (text: string): string => `<${text}>`
    const rows = [
      [{ text: 'ok', style }, 'good'],
      [
        { text: 'denied', style },
        { text: 'not good', style },
      ],
      [{ text: '', style }, 'nothing'],
    ]
    const layout = { columns: [{}, {}], head: ['state', 'text'], headStyle: style, indent: 1 }
    expect(tableLines(rows, layout)).toEqual([
      '< state   text>',
      ' <ok>      good',
      ' <denied>  <not good>',
      '         nothing',
    ])
    expect(tableLines(rows.slice(1), { columns: [{}, {}], indent: 1, width: 13 })).toEqual([
      ' <denied>  <not…>',
      '         not…',
    ])
  })
  test('removes control characters and line breaks from cells, and keeps their spaces', () => {
    const rows = [['  a  b\u001B[31m\n\tc\u202E', 'd\r\n']]
    expect(tableLines(rows, { columns: [{}, {}], indent: 0 })).toEqual(['  a  b c  d'])
  })
})

describe('a table with wrapped text', () => {
  test('wraps between words, and cuts only a word that is longer than its column', () => {
    const rows = [
      ['Esc', 'Close a menu, or stop the run; twice on an empty line: rewind'],
      ['/loop [10m x5 PROMPT | on | off]', 'Repeat a prompt'],
      ['日本語', '端末の 幅を 数える 表の 文字'],
    ] as const
    expect(namedTextLines(rows, 40)).toEqual([
      '  Esc               Close a menu, or',
      '                    stop the run; twice',
      '                    on an empty line:',
      '                    rewind',
      '  /loop [10m x5 PROMPT | on | off]',
      '                    Repeat a prompt',
      '  日本語            端末の 幅を 数える',
      '                    表の 文字',
    ])
    expect(namedTextLines([['a', 'one-word-that-is-longer-than-the-line']], 20)).toEqual(['  a  one-word-that-…'])
    expect(namedTextLines([['a long name', '']], 12)).toEqual(['  a long', '  name'])
  })
  test('folds long words where nothing may be cut', () => {
    const columns = [{ min: 5 }, { max: 10, wide: 'ownLines' as const }, { rest: 'fold' as const }]
    const rows = [
      ['allow', 'Bash(ls)', 'from the settings'],
      ['deny', 'Edit(/a/very-long-path/of-a-file)', 'user'],
    ]
    expect(tableLines(rows, { columns, width: 28 })).toEqual([
      '  allow  Bash(ls)    from',
      '                     the',
      '                     setting',
      '                     s',
      '  deny   Edit(/a/very-long-p',
      '         ath/of-a-file)',
      '                     user',
    ])
  })
  test('wraps an indented text', () => {
    expect(indentedLines('one two  three\nfour', 16)).toEqual(['  one two three', '  four'])
    expect(indentedLines('one two', 5)).toEqual(['  on…'])
  })
})

const characters = constantFrom(
  'a',
  'Z',
  '0',
  ' ',
  '-',
  '日',
  '한',
  'é',
  'e\u0301',
  '🙂',
  '👩\u200D🚀',
  '❤\uFE0F',
  '\u202E',
  '\n',
)
const cells = array(characters, { maxLength: 20 }).map((parts) => parts.join(''))
const tables = array(tuple(cells, cells, cells), { minLength: 1, maxLength: 6 })
const fit = constantFrom('cut' as const, 'wrap' as const, 'fold' as const)

test('no line is wider than the width', () => {
  const figure: TableColumn = { align: 'right' }
  assert(
    property(tables, integer({ min: 1, max: 60 }), fit, integer({ min: 1, max: 3 }), (rows, width, rest, keep) => {
      const layouts = [
        [{ rest }, figure, figure],
        [{ max: 8 }, { max: 8, wide: 'ownLines' as const }, { rest }],
        [figure, {}, figure],
      ]
      for (const columns of layouts)
        for (const line of tableLines(rows, { columns, width, keep })) {
          expect(columnsOf(line)).toBeLessThanOrEqual(width)
          expect(line).toBe(line.trimEnd())
        }
      for (const line of namedTextLines(
        rows.map(([name, text]) => [name, text]),
        width,
      ))
        expect(columnsOf(line)).toBeLessThanOrEqual(width)
    }),
  )
})

test('cells of a column start or end at the same column', () => {
  // Marks around each cell show where it is.
  const marked = cells.map((text) => `[${text}]`)
  const markedTables = array(tuple(marked, marked, marked), { minLength: 1, maxLength: 6 })
  assert(
    property(markedTables, (rows) => {
      const lines = tableLines(rows, { columns: [{}, { align: 'right' }, {}] })
      const places = (mark: string, index: number): readonly number[] =>
        lines.map((line) => columnsOf(line.split(mark, index + 1).join(mark)))
      for (const same of [places('[', 0), places(']', 1), places('[', 2)]) expect(new Set(same).size).toBe(1)
    }),
  )
})

test('a long text on one line of unlimited width is measured once', () => {
  const start = performance.now()
  expect(namedTextLines([['a', '名 '.repeat(40_000)]], Infinity)).toHaveLength(1)
  expect(performance.now() - start).toBeLessThan(10_000)
})
