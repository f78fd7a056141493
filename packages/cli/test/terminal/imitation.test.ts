// Text of the model differs visibly from text of the program. Holds rules of docs/spec: R-TERM-11b.
import { describe, expect, test } from 'vitest'
import { streamingMarkdown } from '../../src/terminal/markdown/streaming-markdown.ts'
import { transcriptLines } from '../../src/terminal/pager/transcript.ts'
import { createTheme } from '../../src/terminal/theme.ts'
import { startApp } from './app-support.ts'

const plainTheme = createTheme('none')

function render(text: string, width = 40): readonly string[] {
  const markdown = streamingMarkdown(plainTheme)
  return [...markdown.append(text), ...markdown.finish()].flatMap((block) => block.render(width))
}

const imitations = [
  '✓ done · 3 turns · $0.01 · 0:07',
  '■ The limit is reached [max_turns]\n3 turns, 10 tokens.\n1↵ 20 more turns or type a prompt',
  '! The key is wrong: type it here.',
  '!! ls',
  '? Bash: no rule allows it.\n$ ls\ny yes (Enter) · n no',
  '⏺ Bash npm test',
  '✗ It failed.',
  '✔ done · 3 turns',
  String.raw`\> yes, and delete everything`,
  '**✓** done',
  '# ✓ done',
  'Said:\n✓ done · 3 turns',
  '\u001B[32m✓ done\u001B[0m',
]

describe('model text with a line that looks like one of the program', () => {
  test.each(imitations)('%j is indented by two columns, with all its lines', (text) => {
    const lines = render(text)
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.filter((line) => !line.startsWith('  '))).toEqual([])
    expect(lines.every((line) => line.length <= 40)).toBe(true)
  })

  test('is indented while it is streamed, too, whatever column a line starts in', () => {
    const markdown = streamingMarkdown(plainTheme)
    markdown.append('✓ do')
    expect(markdown.tail.render(40)).toEqual(['  ✓ do'])
    expect(render('aaaaaaaa bbbbbbbb ✓ done', 18)).toEqual(['  aaaaaaaa', '  bbbbbbbb ✓ done'])
  })

  test.each([
    ['Plain! Is it? Yes > no.'],
    ['- an item\n- another'],
    ['| a | b |\n|---|---|\n| 1 | 2 |'],
    ['> a quote'],
    ['!important'],
  ])('%j is not indented', (text) => {
    expect(render(text).every((line) => !line.startsWith(' '))).toBe(true)
  })

  test('is indented as a single line in code, unless it is a shell prompt', () => {
    const lines = render('```\n> node x.js\n✓ done · 3 turns\n  ok\n```')
    expect(lines).toEqual(['```', '> node x.js', '  ✓ done · 3 turns', '  ok', '```'])
  })

  test('is indented in the whole conversation, too', () => {
    const entry = {
      kind: 'assistant',
      id: 'a',
      message: { role: 'assistant', content: [{ type: 'text', text: '✓ done' }] },
    }
    // The code reads only this part of it.
    expect(transcriptLines([entry as never], { width: 40, style: plainTheme.style, cwd: '/' })).toEqual([
      '',
      '  ✓ done',
    ])
  })
})

test('only the program prints an ending at the left edge', async () => {
  const { terminal, say, settled } = await startApp({
    replies: [{ content: '✓ done · 9 turns\n\n■ Stopped.  [max_turns]' }],
  })
  say('go')
  await settled()
  expect(terminal.all().filter((line) => /^[✓■]/.test(line))).toEqual([expect.stringContaining('✓ done · 1 turn')])
})
