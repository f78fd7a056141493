// Holds rules of docs/spec: R-TERM-5, R-TERM-7, R-TERM-9, R-TERM-10: modes, keys, pastes, and answers of the terminal.
import { Editor } from '@earendil-works/pi-tui/dist/components/editor.js'
import { matchesKey } from '@earendil-works/pi-tui/dist/keys.js'
import { expect, test } from 'vitest'
import { editorHost } from '../../src/terminal/editor/prompt-editor.ts'
import { createInput } from '../../src/terminal/screen/input.ts'
import { reportOf } from '../../src/terminal/screen/modes.ts'
import { createScreen } from '../../src/terminal/screen/screen.ts'
import { systemTimers } from '../../src/terminal/screen/terminal-port.ts'
import { manualTimers, virtualTerminal } from './virtual-terminal.ts'

const unstyled = (text: string): string => text
const theme = {
  borderColor: unstyled,
  selectList: {
    selectedPrefix: unstyled,
    selectedText: unstyled,
    description: unstyled,
    scrollInfo: unstyled,
    noMatch: unstyled,
  },
}

/** The pieces that the input emits; resolves when it holds nothing back. */
async function readPieces(...chunks: readonly (string | number)[]): Promise<readonly string[]> {
  const pieces: string[] = []
  const input = createInput(systemTimers, (piece) => pieces.push(piece))
  for (const chunk of chunks) {
    if (typeof chunk === 'string') input.feed(chunk)
    else await new Promise((resolve) => setTimeout(resolve, chunk))
  }
  await new Promise((resolve) => setTimeout(resolve, 150))
  input.close()
  return pieces
}

test('separates keys in one piece, and joins a key in two pieces', async () => {
  expect(await readPieces('ab\u001B[A\u001B[13;5u漢\r')).toEqual(['a', 'b', '\u001B[A', '\u001B[13;5u', '漢', '\r'])
  expect(await readPieces('\u001B', '[A')).toEqual(['\u001B[A'])
  expect(await readPieces('\u001B')).toEqual(['\u001B'])
  expect(await readPieces('\u001B\u001B')).toEqual(['\u001B', '\u001B'])
  expect(await readPieces('\u001B', 120, 'x')).toEqual(['\u001B', 'x'])
})

test('an escape directly followed by text is not Esc, since input methods send it', async () => {
  const pieces = await readPieces('\u001B', 1, '[D')
  expect(pieces).toEqual(['\u001B[D'])
  expect(pieces.some((piece) => matchesKey(piece, 'escape'))).toBe(false)
})

test.each([
  ['an arrow in three pieces', ['\u001B[', 1, '1;', 1, '3A'], ['\u001B[1;3A']],
  ['text of an input method', ['\u001B漢字'], ['漢', '字']],
  ['the same in pieces', ['\u001B', 1, 'に', 1, 'ほん'], ['に', 'ほ', 'ん']],
  ['an accent', ['\u001B', 1, 'é'], ['é']],
  ['an emoji', ['\u001B', 1, '👩‍💻'], ['\uD83D', '\uDC69', '\u200D', '\uD83D', '\uDCBB']],
  ['a composition that is committed long after Esc', ['\u001B', 120, '漢'], ['\u001B', '漢']],
  ['Esc, and then an arrow', ['\u001B', 1, '\u001B[A'], ['\u001B', '\u001B[A']],
] as const)('after an escape: %s', async (_, chunks, pieces) => {
  expect(await readPieces(...chunks)).toEqual(pieces)
})

test('a paste is one piece, even with line ends, sequences or its own end marker', async () => {
  expect(await readPieces('x\u001B[200~a\r\nb\rc\td\u001B[201~y')).toEqual([
    'x',
    '\u001B[200~a\nb\nc    d\u001B[201~',
    'y',
  ])
  expect(await readPieces('\u001B[200~one \u001B[31mred\u001B[0m \u001B]0;title\u0007two\u001B[201~')).toEqual([
    '\u001B[200~one red two\u001B[201~',
  ])
  // Text after the end mark would count as typed, and a line feed in it would send it.
  expect(await readPieces('\u001B[200~rm -rf\u001B[201~ /\r\u001B[201~')).toEqual(['\u001B[200~rm -rf /\n\u001B[201~'])
  expect(await readPieces('\u001B[200~one\u001B[201~', '\u001B[200~two\u001B[201~')).toEqual([
    '\u001B[200~one\u001B[201~',
    '\u001B[200~two\u001B[201~',
  ])
  expect(await readPieces('\u001B[20', '0~cut\u001B[2', '01~', 'z')).toEqual(['\u001B[200~cut\u001B[201~', 'z'])
})

test('a paste without an end does not block input forever', async () => {
  const timers = manualTimers()
  const pieces: string[] = []
  const input = createInput(timers, (piece) => pieces.push(piece))
  input.feed('\u001B[200~half')
  timers.pass(1_000)
  expect(pieces).toEqual([])
  timers.pass(2_000)
  expect(pieces).toEqual(['\u001B[200~half\u001B[201~'])
  input.close()
})

test('a pasted megabyte is one marker in the editor, and is sent completely', async () => {
  const terminal = virtualTerminal({ columns: 60, rows: 20 })
  const screen = createScreen(terminal)
  const editor = new Editor(editorHost(screen), theme)
  screen.setLive([editor])
  screen.setFocus(editor)
  screen.start()
  const pasted = Array.from({ length: 16_384 }, (_, line) => `line ${line} `.padEnd(63, '.')).join('\r')
  const bytes = `\u001B[200~${pasted}\u001B[201~`
  for (let at = 0; at < bytes.length; at += 4_095) terminal.type(bytes.slice(at, at + 4_095))
  await terminal.waitFor('[paste #1 +16384 lines]')
  expect(editor.getExpandedText()).toBe(pasted.replaceAll('\r', '\n'))
  await screen.stop()
})

test('queries the capabilities of the terminal, and treats its answers as no keys', async () => {
  const terminal = virtualTerminal()
  const screen = createScreen(terminal)
  const keys: string[] = []
  screen.onKey((key) => keys.push(key) > 0)
  screen.start()
  terminal.type('\u001B]11;rgb:ffff/ffff/f0f0\u0007\u001B[?1u\u001B[?62;22c\u001B[O')
  expect(await screen.background).toBe('light')
  expect(screen.focus).toBe('away')
  screen.notify('The run\nwaits \u001B[31mfor you', 'auto')
  terminal.type('\u001B[I')
  expect(screen.focus).toBe('here')
  await screen.stop()
  expect(keys).toEqual([])
  expect(terminal.written).toContain('\u001B[>5u')
  expect(terminal.written).not.toContain('\u001B[>4;2m')
  expect(terminal.written).toContain('\u0007\u001B]9;The run waits for you\u0007')
  expect(terminal.written.lastIndexOf('\u001B[<u')).toBeGreaterThan(terminal.written.indexOf('\u001B[>5u'))
})

test('uses the keys of xterm on a terminal without another protocol, and resets them', async () => {
  const terminal = virtualTerminal()
  const screen = createScreen(terminal)
  screen.start()
  await expect.poll(() => terminal.written).toContain('\u001B[>4;2m')
  expect(await screen.background).toBeUndefined()
  await screen.stop()
  expect(terminal.written).toContain('\u001B[>4;0m')
})

test.each([
  ['\u001B]11;rgb:1e1e/1e1e/2e2e\u0007', { type: 'background', background: 'dark' }],
  ['\u001B]11;rgb:ff/ff/ff\u001B\\', { type: 'background', background: 'light' }],
  ['\u001B]11;?\u0007', { type: 'other' }],
  ['\u001B[24;80R', { type: 'cursor', row: 23 }],
  ['\u001BP>|tmux 3.4\u001B\\', { type: 'other' }],
  ['\u001B[A', undefined],
  ['\u001BP', undefined],
  ['\u001B]', undefined],
  ['\u001B[1;2R', { type: 'cursor', row: 0 }],
  ['a', undefined],
])('%j is not a key', (data, report) => {
  expect(reportOf(data)).toEqual(report)
})

test('a full-screen component returns the screen, with text printed in the meantime above', async () => {
  const terminal = virtualTerminal({ columns: 40, rows: 8 })
  const timers = manualTimers()
  const screen = createScreen(terminal, { timers })
  const frame = async (): Promise<void> => {
    timers.pass(80)
    await terminal.arrived()
  }
  screen.setLive([{ render: () => ['status'] }])
  screen.start()
  screen.print({ render: () => ['before'] })
  await frame()
  const keys: string[] = []
  const giveBack = screen.takeOver({
    render: (width) => ['a page', `${width} columns`],
    handleInput: (key) => keys.push(key),
  })
  screen.print({ render: () => ['meanwhile'] })
  await frame()
  expect([terminal.isFullScreen, terminal.shown()]).toEqual([true, 'a page\n39 columns'])
  terminal.type('q')
  expect(keys).toEqual(['q'])
  terminal.resize(30, 8)
  await frame()
  expect(terminal.shown()).toBe('a page\n29 columns')
  giveBack()
  giveBack()
  await frame()
  expect([terminal.isFullScreen, terminal.shown()]).toEqual([false, 'before\nmeanwhile\nstatus'])
})

test('a program that borrows the terminal finds it as it was', async () => {
  const terminal = virtualTerminal({ columns: 40, rows: 8 })
  const screen = createScreen(terminal)
  const keys: string[] = []
  screen.onKey((key) => keys.push(key) > 0)
  screen.setLive([{ render: () => ['status'] }])
  screen.start()
  await terminal.waitFor('status')
  const result = await screen.lend(async () => {
    await terminal.arrived()
    expect([terminal.isRaw, terminal.modes.bracketedPaste, terminal.shown()]).toEqual([false, false, ''])
    screen.print({ render: () => ['printed meanwhile'] })
    terminal.type('for the editor')
    terminal.write('an editor\r\n')
    return 'text'
  })
  await terminal.waitFor('status')
  expect([result, keys, terminal.isRaw, terminal.modes.bracketedPaste]).toEqual(['text', [], true, true])
  expect(terminal.shown()).toBe('an editor\nprinted meanwhile\nstatus')
  await expect(screen.lend(() => Promise.reject(new Error('no editor')))).rejects.toThrow('no editor')
  expect(terminal.isRaw).toBe(true)
  await screen.stop()
})

test('a failing component leaves the terminal usable', async () => {
  const terminal = virtualTerminal()
  const timers = manualTimers()
  const screen = createScreen(terminal, { timers })
  screen.start()
  screen.print({
    render() {
      throw new Error('broken')
    },
  })
  // It would end the program, and any run or command (spec R-TERM-20a).
  expect(() => timers.pass(20)).not.toThrow()
  terminal.processGuard?.leave()
  await terminal.arrived()
  expect([terminal.isRaw, terminal.modes.bracketedPaste, terminal.modes.cursor]).toEqual([false, false, true])
})
