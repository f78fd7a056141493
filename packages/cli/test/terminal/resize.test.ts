// Holds rules of docs/spec: R-TERM-2, R-TERM-4, R-TERM-4a: after a resize there is one panel and one editor, and no line of the program or the shell is
// lost.
import * as fc from 'fast-check'
import { CURSOR_MARKER } from '@earendil-works/pi-tui/dist/tui.js'
import { expect, test } from 'vitest'
import type { Component } from '../../src/terminal/screen/screen-port.ts'
import { createScreen } from '../../src/terminal/screen/screen.ts'
import { manualTimers, virtualTerminal } from './virtual-terminal.ts'

const words = 'the quick brown fox jumps over the lazy dog and runs into the woods behind the house '

/** Lines of words as wide as the width allows. */
function folded(text: string, width: number): string[] {
  const lines = ['']
  for (const word of text.split(' ')) {
    const longer = lines.at(-1) === '' ? word : `${lines.at(-1)} ${word}`
    if (longer.length > width) lines.push(word)
    else lines[lines.length - 1] = longer
  }
  return lines
}

type Event =
  | { readonly type: 'resize'; readonly columns: number; readonly rows: number; readonly isDrag?: boolean }
  | { readonly type: 'print'; readonly words: number }
  | { readonly type: 'token' }

async function play(events: readonly Event[], shellLines: number) {
  const terminal = virtualTerminal({ columns: 80, rows: 24 })
  for (let number = 0; number < shellLines; number++) terminal.write(`$ shell ${number}\r\n`)
  const timers = manualTimers()
  const screen = createScreen(terminal, { timers })
  let tail = ''
  const component = (...lines: string[]): Component => ({ render: () => lines })
  screen.setLive([
    { render: (width) => (tail === '' ? [] : folded(tail, width)) },
    { render: (width) => ['PANEL turn 7/40 · $0.31 of $1.00 · next stop: max_turns'.slice(0, width)] },
    { render: (width) => ['─'.repeat(width)] },
    component(`EDITOR ${CURSOR_MARKER}`),
    { render: (width) => ['─'.repeat(width)] },
    {
      render: (width) => [
        'STATUS accept edits · a-model · main · Esc stop · Enter steer · Alt+Enter queue'.slice(0, width),
      ],
    },
  ])
  screen.start()
  timers.pass(20)
  await terminal.arrived()
  let printed = 0
  for (const event of events) {
    if (event.type === 'resize') {
      terminal.resize(event.columns, event.rows)
      // A dragged window shrinks step by step before anything can be drawn.
      timers.pass(event.isDrag === true ? 10 : 60)
    } else if (event.type === 'token') tail = (tail + ' token').slice(-400)
    else {
      const mark = `#${printed++}#`
      const text = words.repeat(2).slice(0, event.words * 5)
      screen.print({ render: (width) => folded(`${mark} ${text}`.trim(), width) })
      tail = ''
    }
    screen.requestFrame()
    timers.pass(20)
    // Each event has arrived before the next: the terminal wraps the lines that it has.
    await terminal.arrived()
  }
  timers.pass(60)
  await terminal.arrived()
  return { terminal, screen, printed }
}

function check({ terminal, printed }: Awaited<ReturnType<typeof play>>, shellLines: number): void {
  const seen = terminal.rowsShown()
  expect(seen.filter((line) => line.startsWith('PANEL'))).toHaveLength(1)
  expect(seen.filter((line) => line.startsWith('EDITOR'))).toHaveLength(1)
  expect(seen.filter((line) => line.startsWith('STATUS'))).toHaveLength(1)
  const all = terminal.all()
  for (let number = 0; number < printed; number++) expect(all.some((line) => line.startsWith(`#${number}#`))).toBe(true)
  for (let number = 0; number < shellLines; number++) expect(all).toContain(`$ shell ${number}`)
  expect(terminal.written).not.toContain('\u001B[3J')
  expect(terminal.written).not.toContain('\u001B[?1049h')
}

const resize = fc.record({
  type: fc.constant('resize' as const),
  columns: fc.integer({ min: 20, max: 130 }),
  rows: fc.integer({ min: 8, max: 50 }),
})
const dragged = resize.map((each) => ({ ...each, isDrag: true }))
const print = fc.record({ type: fc.constant('print' as const), words: fc.nat(60) })
const token = fc.constant({ type: 'token' as const })
const event = fc.oneof(
  { weight: 3, arbitrary: resize },
  { weight: 2, arbitrary: print },
  { weight: 3, arbitrary: token },
)

test('200 random resizes while text streams keep one panel, one editor and every line', async () => {
  const either = fc.oneof({ weight: 3, arbitrary: event }, { weight: 1, arbitrary: dragged })
  const events = fc.sample(either, { numRuns: 600, seed: 13 })
  expect(events.filter(({ type }) => type === 'resize').length).toBeGreaterThan(200)
  const played = await play(events, 20)
  check(played, 20)
})

test('short conversations survive resizes, below few or many shell lines', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 25 }), fc.constantFrom(0, 3, 60), async (events, shellLines) => {
      const played = await play(events, shellLines)
      check(played, shellLines)
      // In a few lines a blank terminal would pass the check.
      expect(played.terminal.shown()).toContain('EDITOR')
    }),
    { numRuns: 60 },
  )
})

test.each([
  [
    [100, 30],
    [80, 30],
    [60, 30],
  ],
  [
    [120, 30],
    [90, 30],
    [33, 30],
  ],
  [
    [60, 30],
    [45, 24],
    [33, 12],
  ],
  [
    [120, 40],
    [50, 20],
    [40, 20],
  ],
])('a short conversation survives repeated narrowing: %j', async (...sizes) => {
  const events: readonly Event[] = [
    { type: 'print', words: 12 },
    { type: 'token' },
    ...sizes.map(([columns = 0, rows = 0]) => ({ type: 'resize' as const, columns, rows })),
  ]
  const played = await play(events, 3)
  check(played, 3)
  expect(played.terminal.shown()).toContain('EDITOR')
})
