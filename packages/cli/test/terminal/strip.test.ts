// Holds rules of docs/spec: R-TERM-6, R-TERM-8, R-TERM-12: which characters may be printed, when there can be a screen, and which colours are used.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { plainText, stripToColours } from '../../src/terminal/screen/strip.ts'
import { missingTerminalReason } from '../../src/terminal/screen/terminal-requirements.ts'
import { createTheme, firstTheme, themeNames } from '../../src/terminal/theme.ts'

test.each([
  ['plain text\nin lines', 'plain text\nin lines'],
  ['\ta\tb', '    a    b'],
  ['\u001B[31mred\u001B[0m', '\u001B[31mred\u001B[0m'],
  ['\u001B[38;5;5m\u001B[48;2;8;8;8mnumbers\u001B[m', '\u001B[38;5;5m\u001B[48;2;8;8;8mnumbers\u001B[m'],
  // Hidden and blinking text.
  ['\u001B[8mhidden\u001B[1;8;31mred', 'hidden\u001B[1;31mred'],
  ['\u001B[5mblinks', 'blinks'],
  // Cursor moves, erases, the alternate screen, scrollback.
  ['\u001B[2J\u001B[H\u001B[3J\u001B[?1049ha\u001B[5Ab', 'ab'],
  // Titles, the clipboard, links, device controls; in seven bits and in eight, and unterminated.
  ['\u001B]0;title\u0007a\u001B]52;c;aGk=\u001B\\b\u001BPq#0\u001B\\c\u009D0;t\u009Cd\u001B]8;;http', 'abcd'],
  ['\u009B2Jc1', 'c1'],
  ['bell\u0007, null\u0000, back\b, delete\u007F', 'bell, null, back, delete'],
  // Text that a carriage return overwrote.
  ['10 %\r50 %\r100 %\r\ndone\r', '100 %\ndone'],
  ['turned \u202Earound', 'turned around'],
])('%j is printed as %j', (given, printed) => {
  expect(stripToColours(given)).toBe(printed)
})

test('leaves no controls but line feeds and colours', () => {
  const piece = fc.oneof(
    fc.array(fc.nat(0x2ff), { maxLength: 20 }).map((codes) => String.fromCodePoint(...codes)),
    fc.constantFrom('\u001B', '\u001B[', '\u001B]', '\u009B', '1;31m', '8m', '\u001B\u001B[[', 'm'),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const text = pieces.join('')
      // oxlint-disable-next-line no-control-regex -- control characters are what must not be there
      expect(plainText(text)).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F]/)
      // oxlint-disable-next-line no-control-regex -- the same
      const uncoloured = stripToColours(text).replaceAll(/\u001B\[[\d;:]*m/g, '')
      // oxlint-disable-next-line no-control-regex -- the same
      expect(uncoloured).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F]/)
    }),
  )
})

test('names halting -p if there is no usable terminal', () => {
  const terminal = { isTTY: true }
  expect(missingTerminalReason({ TERM: 'screen' }, { stdin: terminal, stdout: terminal })).toBeUndefined()
  expect(missingTerminalReason({}, { stdin: terminal, stdout: terminal })).toBeUndefined()
  for (const why of [
    missingTerminalReason({ TERM: 'dumb' }, { stdin: terminal, stdout: terminal }),
    missingTerminalReason({}, { stdin: {}, stdout: terminal }),
    missingTerminalReason({}, { stdin: terminal, stdout: { isTTY: false } }),
  ]) {
    expect(why).toMatch(/^The interactive program (?:needs|cannot run in) a terminal.*halting -p/)
  }
})

test.each([
  [undefined, {}, undefined, 'dark'],
  [undefined, {}, 'light', 'light'],
  [undefined, { COLORFGBG: '0;15' }, undefined, 'light'],
  [undefined, { COLORFGBG: '15;default;0' }, undefined, 'dark'],
  [undefined, { COLORFGBG: '0;15' }, 'dark', 'dark'],
  [undefined, { COLORFGBG: 'nonsense' }, undefined, 'dark'],
  [undefined, { NO_COLOR: '1' }, 'light', 'none'],
  [undefined, { NO_COLOR: '' }, 'light', 'light'],
  ['dark', { NO_COLOR: '1' }, 'light', 'dark'],
] as const)('asked for %s, with %j and a %s background, the theme is %s', (asked, env, background, theme) => {
  expect(firstTheme(asked, env, background)).toBe(theme)
})

test('paint resets only what it set, and follows the chosen theme', () => {
  const theme = createTheme('dark')
  expect(theme.paint('bold', `a ${theme.paint('code', 'b')} c`)).toBe('\u001B[1ma \u001B[36mb\u001B[39m c\u001B[22m')
  expect(theme.style.yellow('limit')).toBe('\u001B[33mlimit\u001B[39m')
  theme.choose('light')
  expect(theme.style.yellow('limit')).toBe('\u001B[35mlimit\u001B[39m')
  theme.choose('none')
  expect([theme.style.yellow('limit'), theme.paint('added', '+1')]).toEqual(['limit', '+1'])
  expect(themeNames).toEqual(['dark', 'light', 'none'])
})
