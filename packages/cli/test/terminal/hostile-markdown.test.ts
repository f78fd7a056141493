// Holds rules of docs/spec: R-TERM-11a: a model's text neither breaks the screen nor delays it. The timeout of the runner is the bound: without the rule
// each case takes longer or throws.
import { expect, test } from 'vitest'
import { loadLanguage } from '../../src/terminal/markdown/languages.ts'
import { streamingMarkdown } from '../../src/terminal/markdown/streaming-markdown.ts'
import { createTheme } from '../../src/terminal/theme.ts'

const theme = createTheme('none')

/** Everything that is on the screen while the text arrives in pieces, and at the end. */
function shownText(text: string, piece: number): string {
  const stream = streamingMarkdown(theme)
  const lines: string[] = []
  for (let at = 0; at < text.length; at += piece) {
    for (const block of stream.append(text.slice(at, at + piece))) lines.push(...block.render(80))
    stream.tail.render(80)
  }
  for (const block of stream.finish()) lines.push(...block.render(80))
  return lines.join('\n')
}

test.each([
  ['quotes within quotes', `${'>'.repeat(7_000)}a`],
  ['emphasis that never ends', '*a '.repeat(2_600)],
  ['links that never end', '[a]('.repeat(1_900)],
  ['a long table', `|a|b|\n|-|-|\n${'|a|b|\n'.repeat(8_000)}`],
  ['a line of megabytes', 'a '.repeat(1_000_000)],
])('%s', (_what, text) => {
  expect(shownText(text, 400 + Math.floor(text.length / 200)).length).toBeGreaterThan(1_000)
})

test.each([
  ['javascript', `x = \`\n${`${'${a} '.repeat(1_500)}\n`.repeat(100)}`],
  ['python', `${'f"{f\'{'.repeat(1_500)}\n`.repeat(20)],
  ['yaml', `${'- a: {b: ['.repeat(800)}\n`.repeat(20)],
  ['javascript', 'a(b) '.repeat(200_000)],
])('code in %s with very long lines', async (language, code) => {
  await loadLanguage(language)
  const shown = shownText(`\`\`\`${language}\n${code}`, 400 + Math.floor(code.length / 200))
  expect(shown.replaceAll(/\s/g, '').length).toBeGreaterThanOrEqual(code.replaceAll(/\s/g, '').length)
})
