// R-TERM-2, R-TERM-4: a resize leaves one panel and one editor, and loses no line, neither ours nor the shell's.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Component } from '../../src/terminal/screen/screen-port.ts'
import { createScreen } from '../../src/terminal/screen/screen.ts'
import { manualTimers, virtualTerminal } from './virtual-terminal.ts'

const words = 'the quick brown fox jumps over the lazy dog and runs into the woods behind the house '

/** Words in lines of the width: as long as they may be. */
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
  | { readonly type: 'resize'; readonly columns: number; readonly rows: number }
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
    component('EDITOR'),
    { render: (width) => ['─'.repeat(width)] },
  ])
  screen.start()
  timers.pass(20)
  await terminal.arrived()
  let printed = 0
  for (const event of events) {
    if (event.type === 'resize') {
      terminal.resize(event.columns, event.rows)
      timers.pass(60)
    } else if (event.type === 'token') tail = (tail + ' token').slice(-400)
    else {
      const mark = `#${printed++}#`
      const text = words.repeat(2).slice(0, event.words * 5)
      screen.print({ render: (width) => folded(`${mark} ${text}`.trim(), width) })
      tail = ''
    }
    screen.requestFrame()
    timers.pass(20)
    // Each event has arrived before the next: the terminal wraps what it has.
    await terminal.arrived()
  }
  await terminal.arrived()
  return { terminal, screen, printed }
}

function check({ terminal, printed }: Awaited<ReturnType<typeof play>>, shellLines: number): void {
  const seen = terminal.rowsShown()
  expect(seen.filter((line) => line.startsWith('PANEL'))).toHaveLength(1)
  expect(seen.filter((line) => line.startsWith('EDITOR'))).toHaveLength(1)
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
const print = fc.record({ type: fc.constant('print' as const), words: fc.nat(60) })
const token = fc.constant({ type: 'token' as const })
const event = fc.oneof(
  { weight: 3, arbitrary: resize },
  { weight: 2, arbitrary: print },
  { weight: 3, arbitrary: token },
)

test('200 random resizes while text streams: one panel, one editor, no line lost', async () => {
  const events = fc.sample(event, { numRuns: 600, seed: 13 })
  expect(events.filter(({ type }) => type === 'resize').length).toBeGreaterThan(200)
  const played = await play(events, 20)
  check(played, 20)
})

test('the same holds for short conversations, below a shell with few lines or many', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 25 }), fc.constantFrom(0, 3, 60), async (events, shellLines) => {
      const played = await play(events, shellLines)
      check(played, shellLines)
      // A blank terminal would pass what is looked for in few lines.
      expect(played.terminal.shown()).toContain('EDITOR')
    }),
    { numRuns: 60 },
  )
})
