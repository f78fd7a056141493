// Holds rules of docs/spec: R-TERM-1, R-TERM-2: printed lines are written once; below them only changes are written.
import { Editor } from '@earendil-works/pi-tui/dist/components/editor.js'
import { expect, test } from 'vitest'
import { editorHost } from '../../src/terminal/editor/prompt-editor.ts'
import type { Block, Component } from '../../src/terminal/screen/screen-port.ts'
import { createScreen } from '../../src/terminal/screen/screen.ts'
import { manualTimers, virtualTerminal, type VirtualTerminalOptions } from './virtual-terminal.ts'

const unstyled = (text: string): string => text
const selectList = {
  selectedPrefix: unstyled,
  selectedText: unstyled,
  description: unstyled,
  scrollInfo: unstyled,
  noMatch: unstyled,
}

function lines(...texts: string[]): Block & Component {
  return { render: () => texts }
}

function started(options?: VirtualTerminalOptions) {
  const terminal = virtualTerminal(options)
  const timers = manualTimers()
  const screen = createScreen(terminal, { timers })
  screen.start()
  const frame = async (): Promise<void> => {
    timers.pass(20)
    await terminal.arrived()
  }
  return { terminal, timers, screen, frame }
}

test('blocks are above the changing components, in print order', async () => {
  const { terminal, screen, frame } = started({ columns: 33, rows: 12 })
  let turn = 1
  screen.setLive([{ render: () => [` turn ${turn}/40`] }, lines('──────', '> ', '──────')])
  await frame()
  expect(terminal.shown()).toBe(' turn 1/40\n──────\n>\n──────')

  screen.print(lines('> fix the flaky test'))
  screen.print(lines('⏺ Read test/run.test.ts'))
  turn = 2
  await frame()
  expect(terminal.shown()).toBe('> fix the flaky test\n⏺ Read test/run.test.ts\n turn 2/40\n──────\n>\n──────')

  for (let number = 0; number < 30; number++) screen.print(lines(`line ${number}`))
  await frame()
  expect(terminal.rowsShown().slice(-5)).toEqual(['line 29', ' turn 2/40', '──────', '>', '──────'])
  expect(terminal.all().slice(0, 32)).toEqual([
    '> fix the flaky test',
    '⏺ Read test/run.test.ts',
    ...Array.from({ length: 30 }, (_, number) => `line ${number}`),
  ])
})

test('the editor has the terminal cursor, also after wide characters', async () => {
  const { terminal, screen, frame } = started({ columns: 40, rows: 12 })
  const editor = new Editor(editorHost(screen), { borderColor: unstyled, selectList })
  screen.setLive([lines('status'), editor])
  screen.setFocus(editor)
  for (const character of 'ab 漢字') terminal.type(character)
  await frame()
  expect(terminal.rowsShown()[2]).toBe('ab 漢字')
  expect(terminal.cursor()).toEqual({ row: 2, column: 7 })
  terminal.type('\u001B[D')
  await frame()
  expect(terminal.cursor()).toEqual({ row: 2, column: 5 })
  expect(terminal.modes.cursor).toBe(true)
})

test('stop restores the terminal, without the changing components', async () => {
  const terminal = virtualTerminal({ columns: 40, rows: 12 })
  terminal.write('$ halting\r\n')
  const screen = createScreen(terminal)
  screen.start()
  screen.setLive([lines('status', '> ')])
  await terminal.waitFor('status')
  expect([terminal.isRaw, terminal.modes]).toEqual([
    true,
    { bracketedPaste: true, focus: true, wrap: true, cursor: false },
  ])
  screen.print(lines('halting --resume 1'))
  await Promise.all([screen.stop(), screen.stop()])
  await terminal.arrived()
  expect(terminal.shown()).toBe('$ halting\nhalting --resume 1')
  expect(terminal.cursor()).toEqual({ row: 2, column: 0 })
  expect([terminal.isRaw, terminal.modes]).toEqual([
    false,
    { bracketedPaste: false, focus: false, wrap: true, cursor: true },
  ])
  expect(terminal.written).not.toContain('\u001B[3J')
})
