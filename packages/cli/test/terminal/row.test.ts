// Holds rules of docs/spec: R-TERM-6: nothing in a line can control the terminal, whatever its source.
import { expect, test } from 'vitest'
import { rowOf, rowText } from '../../src/terminal/screen/row.ts'

test.each([
  ['a\u202Eb\u202C c', 'ab c'],
  ['\u2066a\u2069', 'a'],
  ['a\u001B]0;x\u0007b', 'ab'],
  ['a\u009B2Jb', 'ab'],
  ['\u001B[8mhidden', 'hidden'],
])('%j is %j', (line, text) => {
  expect([rowText(line, 80), rowOf(line, 80).text]).toEqual([text, text])
})
