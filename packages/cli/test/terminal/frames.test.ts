// Holds rules of docs/spec: R-TERM-1, R-TERM-2: the cost of a token does not depend on the length of the transcript; nothing is written twice, and no
// line fills the last column.
import { visibleWidth } from '@earendil-works/pi-tui/dist/utils.js'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { loadLanguage } from '../../src/terminal/markdown/languages.ts'
import { streamingMarkdown } from '../../src/terminal/markdown/streaming-markdown.ts'
import { emptyRegion, drawRegion } from '../../src/terminal/screen/live-region.ts'
import { rowOf } from '../../src/terminal/screen/row.ts'
import { createScreen } from '../../src/terminal/screen/screen.ts'
import { createTheme } from '../../src/terminal/theme.ts'
import { manualTimers, virtualTerminal } from './virtual-terminal.ts'

const paragraph =
  'The **runner** waits for a fixed time, and on a busy machine that is not enough; `until()` asks for the condition instead of the clock. '
const text = `${paragraph.repeat(3)}\n\n- one item\n- another, *longer* than the first, which takes more than a line of the terminal\n\n\`\`\`ts\n${'const value = await run({ task: "tests", retries: 3 }) // again\n'.repeat(6)}\`\`\`\n\n`

/** Bytes for each of 600 tokens of four characters, after this number of lines. */
async function bytesPerToken(linesBefore: number): Promise<number> {
  const terminal = virtualTerminal({ columns: 100, rows: 30, scrollback: 100 })
  const timers = manualTimers()
  const screen = createScreen(terminal, { timers })
  const stream = streamingMarkdown(createTheme('dark'))
  let turn = 0
  screen.setLive([
    stream.tail,
    { render: () => [` turn ${turn}/40 · $0.31 of $1.00 (+$0.05 reserved) · ctx 46 % (compacts at 80) · 2:10`] },
    { render: (width) => ['─'.repeat(width), '> ', '─'.repeat(width), ' accept edits · sonnet · main* · Esc stop'] },
  ])
  screen.start()
  for (let line = 0; line < linesBefore; line += 500) {
    screen.print({ render: () => Array.from({ length: 500 }, (_, at) => `line ${line + at}`) })
    timers.pass(20)
    await terminal.arrived()
  }
  timers.pass(20)
  // The input has consumed the answer of the terminal.
  await terminal.arrived()
  timers.pass(20)
  const before = terminal.written.length
  for (let token = 0; token < 600; token++) {
    const at = (token * 4) % text.length
    for (const block of stream.append(text.slice(at, at + 4))) screen.print(block)
    if (token % 100 === 0) turn++
    screen.requestFrame()
    timers.pass(20)
  }
  await terminal.arrived()
  return Buffer.byteLength(terminal.written.slice(before)) / 600
}

test('a token costs at most 400 bytes, after no line and after 20,000 alike', async () => {
  await loadLanguage('typescript')
  const [first, later] = [await bytesPerToken(0), await bytesPerToken(20_000)]
  expect(first).toBeLessThan(400)
  expect(first).toBeGreaterThan(4)
  expect(later).toBe(first)
})

test('unchanged frames write nothing, and changes within 16 ms share a frame', () => {
  const terminal = virtualTerminal()
  const timers = manualTimers()
  const screen = createScreen(terminal, { timers })
  let shown = 0
  screen.setLive([{ render: () => [`state ${shown}`] }])
  screen.start()
  timers.pass(16)
  const frames = (): number => terminal.written.split('\u001B[?2026h').length - 1
  const before = frames()
  for (let change = 0; change < 50; change++) {
    shown++
    screen.requestFrame()
    timers.pass(0.5)
  }
  timers.pass(16)
  expect(frames() - before).toBeLessThanOrEqual(3)
  const length = terminal.written.length
  for (let again = 0; again < 5; again++) {
    screen.requestFrame()
    timers.pass(20)
  }
  expect(terminal.written.length).toBe(length)
})

const line = fc.oneof(
  fc.string({ maxLength: 60 }),
  fc
    .array(
      fc.constantFrom(
        'a',
        ' ',
        '漢',
        'é',
        '👩‍💻',
        '\u001B[31m',
        '\u001B[0m',
        '\u001B[44m',
        '\u001B[7m',
        '\u001B[2K',
        '\t',
        '\r',
        '\n',
        '\u009B5A',
      ),
      { maxLength: 60 },
    )
    .map((parts) => parts.join('')),
)

test('a row fits its width, has no invisible trailing spaces, and does not control the terminal', () => {
  fc.assert(
    fc.property(line, fc.constantFrom(10, 32, 79), (given, width) => {
      const { text: row } = rowOf(given, width)
      expect(visibleWidth(row)).toBeLessThanOrEqual(width)
      // oxlint-disable no-control-regex -- sequences are what is looked for
      expect(row.replaceAll(/\u001B\[[\d;:]*m/g, '')).not.toMatch(/[\u0000-\u001F\u007F-\u009F]/)
      const endsWithSpaces = / (?:\u001B\[0m)*$/.test(row)
      expect(endsWithSpaces && !/\u001B\[(?:44|7)m/.test(row)).toBe(false)
      // oxlint-enable no-control-regex
    }),
  )
})

test('the terminal shows what it should, whatever was drawn before', async () => {
  const rows = fc.array(line, { maxLength: 8 })
  const step = fc.record({ printed: fc.array(line, { maxLength: 4 }), rows })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      const terminal = virtualTerminal({ columns: 40, rows: 12 })
      const twin = virtualTerminal({ columns: 40, rows: 12 })
      let region = emptyRegion
      const printed: string[] = []
      let last: readonly string[] = []
      for (const each of steps) {
        const lines = each.printed.map((text) => rowOf(text, 39).text)
        const drawing = drawRegion(
          region,
          lines,
          each.rows.map((text) => rowOf(text, 39)),
        )
        terminal.write(drawing.bytes)
        region = drawing.region
        printed.push(...lines)
        last = each.rows.map((text) => rowOf(text, 39).text)
      }
      twin.write(`\u001B[?7l${[...printed, ...last].join('\r\n')}`)
      await Promise.all([terminal.arrived(), twin.arrived()])
      expect(terminal.all().join('\n').trimEnd()).toBe(twin.all().join('\n').trimEnd())
    }),
  )
})
