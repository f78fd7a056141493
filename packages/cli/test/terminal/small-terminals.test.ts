// Holds rules of docs/spec: R-TERM-20a: a small terminal, or text that fits no line, ends no program, no run and no command.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { streamingMarkdown } from '../../src/terminal/markdown/streaming-markdown.ts'
import { createScreen } from '../../src/terminal/screen/screen.ts'
import { promptEditor } from '../../src/terminal/editor/prompt-editor.ts'
import { styleFor } from '../../src/io/style.ts'
import { textField } from '../../src/terminal/view/text-field.ts'
import { foldedLines, hanging } from '../../src/terminal/view/lines.ts'
import { createTheme } from '../../src/terminal/theme.ts'
import { key, startApp } from './app-support.ts'
import { virtualTerminal } from './virtual-terminal.ts'

/** One grapheme that is wider than any terminal. */
const endless = `ก${'ำ'.repeat(200)}`
const sizes = [1, 2, 3, 4, 5, 6, 7, 8, 12, 80]

const pieces = fc.oneof(
  fc.constantFrom(
    '漢',
    '\t',
    '👩‍💻',
    '🇩🇪',
    endless,
    'ｶﾞﾞﾞﾞﾞﾞ',
    'e\u0301\u0301',
    'word ',
    ' ',
    '\n',
    '[paste #1 12 chars]',
    '한국어',
  ),
  fc.string({ unit: 'binary', maxLength: 6 }),
)
const keys = fc.constantFrom(
  key.up,
  key.down,
  '\u001B[D',
  '\u001B[C',
  key.backspace,
  key.tab,
  key.ctrl('a'),
  key.ctrl('e'),
  key.ctrl('w'),
  key.ctrl('k'),
  '漢',
  '\t',
  'a',
  ' ',
  '\n',
  key.paste(endless),
  key.paste('x'.repeat(2_000)),
  '/',
  '@',
)

function editorAt(columns: number) {
  const screen = createScreen(virtualTerminal({ columns, rows: 10 }))
  return promptEditor({
    screen,
    style: styleFor(false, {}),
    onSubmit: () => undefined,
    onChange: () => undefined,
    completion: {
      getSuggestions: async () => ({ items: [{ value: '/漢字', label: '/漢字', description: endless }], prefix: '/' }),
      applyCompletion: (lines, cursorLine, cursorCol) => ({ lines, cursorLine, cursorCol }),
    },
  })
}

describe('the editor', () => {
  test.each(sizes)('at %i columns holds a wide character, a tab and an oversized grapheme', (width) => {
    const editor = editorAt(width)
    for (const text of ['漢', '\t', endless, '漢字\t👩‍💻']) {
      editor.setText(text)
      editor.setFocused(true)
      expect(editor.component.render(width).length).toBeGreaterThan(2)
      expect(editor.text).toContain(text.replaceAll('\t', '    ').slice(0, 1))
    }
  })

  test('accepts any keys at any width', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(keys, fc.constantFrom(...sizes, 0)), { maxLength: 30 }),
        pieces,
        (typed, before) => {
          const editor = editorAt(80)
          editor.setText(before)
          for (const [data, width] of typed) {
            editor.component.handleInput?.(data)
            // Zero: the next key comes before a frame is drawn.
            if (width > 0) editor.component.render(width)
          }
          expect(editor.component.render(80).length).toBeGreaterThan(1)
        },
      ),
      { numRuns: 300 },
    )
  })
})

test('wrapping terminates at any width', () => {
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 12 }), fc.constantFrom(...sizes), (parts, width) => {
      const text = parts.join('')
      const lines = [...foldedLines(text, width), ...hanging('⏺ ', text, width), ...textField(text).render(width)]
      expect(lines.length).toBeGreaterThan(2)
      const markdown = streamingMarkdown(createTheme('none'))
      for (const block of [...markdown.append(text), markdown.tail, ...markdown.finish()]) block.render(width)
    }),
    { numRuns: 300 },
  )
})

describe('the program', () => {
  test('continues in a terminal of a few columns, together with a running command', async () => {
    const { terminal, type, app } = await startApp({ replies: [{ content: 'Hello.' }], columns: 60 })
    let exitCode: number | undefined
    void app.ended.then((code) => (exitCode = code))
    type('!sleep 0.5; echo 漢字 > done; echo the end', key.enter)
    await terminal.waitFor('! sleep')
    for (const columns of [5, 3, 1, 2, 4]) {
      terminal.resize(columns, 6)
      type('漢', key.up, '\t')
      await new Promise((resolve) => setTimeout(resolve, 80))
    }
    terminal.resize(60, 14)
    await terminal.waitFor('the end')
    expect(exitCode).toBeUndefined()
  })

  test('reports what cannot be drawn, and continues', async () => {
    const terminal = virtualTerminal({ columns: 40, rows: 8 })
    const screen = createScreen(terminal)
    screen.start()
    screen.print({
      render: () => {
        throw new RangeError('Maximum call stack size exceeded')
      },
    })
    screen.setLive([{ render: () => ['still here'] }])
    await terminal.waitFor('still here')
    expect(terminal.shown()).toContain('(cannot be displayed)')
    await screen.stop()
  })
})
