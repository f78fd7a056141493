// Holds R-RULE-7t of docs/spec: the fast reader of plain lines agrees with the parser and the lexer.
import { array, assert, constantFrom, oneof, property, stringMatching, tuple } from 'fast-check'
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { analyseShell } from '../../src/shell/analysis.ts'
import { readPlainLine } from '../../src/shell/read-plain-line.ts'

const names = constantFrom(
  ...'ls git cat sudo bash env xargs find time then read export eval printf command timeout if . : [ trap x=1 npx'.split(
    ' ',
  ),
)
const texts = constantFrom(
  ...`-c -la a.ts --format='%h $x' "a b" 'it"s' "it's" '' a=b -Da=b --x="y z" '~' ~ '$' 5 2 @x +1 , % re'ad' "e'v'al" 'ls -l | rm x' "rm; x" {} + * do in fi # !`.split(
    ' ',
  ),
  'a"b"\'c\'d',
  '"a # b"',
  "'a ! ` $(x) b'",
)
const joints = constantFrom(
  '&&',
  '||',
  ';',
  '|',
  '|&',
  '&',
  ';;',
  '2>&1',
  '2> /dev/null',
  '>x',
  '>> "y z"',
  '1>x',
  '12>x',
  '>&2',
  '< x',
  '> a=b',
  '(',
  ')',
)
const piece = oneof({ weight: 5, arbitrary: texts }, { weight: 4, arbitrary: names }, { weight: 3, arbitrary: joints })
const spaced = array(tuple(piece, constantFrom(' ', ' ', ' ', ' ', '', '  ')), { minLength: 1, maxLength: 9 }).map(
  (all) => all.flat().join('').trimEnd(),
)
const anyText = stringMatching(/^[a-c2>&|;'" =$.~-]{1,14}$/)

/** After a line end, the parser and the lexer read the same line. */
function sameAsRead(line: string): boolean {
  if (readPlainLine(line) === undefined) return false
  expect(analyseShell(line)).toEqual(analyseShell(`${line}\n`))
  return true
}

test('random lines have the meaning that the parser and the lexer find', () => {
  let read = 0
  assert(
    property(oneof({ weight: 4, arbitrary: spaced }, { weight: 1, arbitrary: anyText }), (line) => {
      if (sameAsRead(line)) read += 1
    }),
    { numRuns: 1_500 },
  )
  expect(read).toBeGreaterThan(50)
})

test('lines of the corpora have that meaning too', () => {
  const folder = new URL('corpus/', import.meta.url)
  const lines = readdirSync(folder)
    .filter((name) => name.endsWith('.txt'))
    .flatMap((name) => readFileSync(new URL(name, folder), 'utf8').split('\n'))
  const some = lines.filter((_line, at) => at % 4 === 0)
  expect(some.filter(sameAsRead).length).toBeGreaterThan(500)
})

test.each([
  'export A=b',
  'read x',
  'x=1 ls',
  'ls $x',
  'ls *',
  'ls ~',
  "ls '~'",
  'ls &',
  'ls |& cat',
  '( ls )',
  'then ls',
  '"l"s',
  'a < b',
  'ls >& x',
  'ls \\a',
  'ls "a\\b"',
  "ls 'a\\'",
  'ls "$x"',
  'ls `x`',
  'ls {a,b}',
  'ls # a',
  '! ls',
  'ls\nrm x',
  'ls;',
  'ls && ',
  'ä',
  'printf x',
])('%j is left to the parser and the lexer', (line) => {
  expect(readPlainLine(line)).toBeUndefined()
})
