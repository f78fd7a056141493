// Holds rules of docs/spec: R-TERM-3, R-TERM-11: Markdown that arrives in pieces is printed block by block, and code line by line with its colours.
import { visibleWidth } from '@earendil-works/pi-tui/dist/utils.js'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { loadLanguage } from '../../src/terminal/markdown/languages.ts'
import { streamingMarkdown } from '../../src/terminal/markdown/streaming-markdown.ts'
import { createTheme } from '../../src/terminal/theme.ts'

const reply = `# What is wrong

The test waits for a **fixed** time. See \`run.test.ts\`
and [the guide](https://example.com/guide).

1. First, a list
2. whose items come
   in two lines
   - with one inside

   More of the second.

\`\`\`ts
const until = async () => {
  /* waits
     for it */
  await sleep(10) // "ms"
}
\`\`\`

| file | lines |
|---|---:|
| a.ts | 3 |
| b.ts | 12 |
Then done.
`

/** Everything printed for the pieces, as text. */
function printed(pieces: readonly string[], width = 60, theme = createTheme('none')): readonly string[] {
  const stream = streamingMarkdown(theme)
  const blocks = [...pieces.flatMap((piece) => stream.append(piece)), ...stream.finish()]
  return blocks.flatMap((block) => block.render(width))
}

const shown = `What is wrong

The test waits for a fixed time. See run.test.ts
and the guide (https://example.com/guide).

1. First, a list
2. whose items come
   in two lines
    - with one inside

   More of the second.

\`\`\`ts
const until = async () => {
  /* waits
     for it */
  await sleep(10) // "ms"
}
\`\`\`

┌──────┬───────┐
│ file │ lines │
├──────┼───────┤
│ a.ts │ 3     │
├──────┼───────┤
│ b.ts │ 12    │
└──────┴───────┘
Then done.`

test('renders a reply the same, however it is split', async () => {
  await loadLanguage('typescript')
  expect(printed([reply]).join('\n')).toBe(shown)
  fc.assert(
    fc.property(fc.array(fc.nat(reply.length), { maxLength: 60 }), (cuts) => {
      const places = [0, ...cuts.toSorted((a, b) => a - b), reply.length]
      const pieces = places.slice(1).map((end, at) => reply.slice(places[at], end))
      expect(printed(pieces).join('\n')).toBe(shown)
    }),
  )
  expect(printed(reply.split('')).join('\n')).toBe(shown)
})

test('prints a block as soon as it is complete, and shows the rest as the tail', async () => {
  await loadLanguage('typescript')
  const stream = streamingMarkdown(createTheme('none'))
  const seen: string[] = []
  const give = (text: string): string => {
    seen.push(...stream.append(text).flatMap((block) => block.render(40)))
    return stream.tail.render(40).join('\n')
  }
  expect(give('One **bo')).toBe('One **bo')
  expect(give('ld**\nline')).toBe('One bold\nline')
  expect(give('\n\n')).toBe('')
  expect(seen).toEqual(['One bold', 'line'])
  expect(give('Two\n- a\n- b')).toBe('- a\n- b')
  expect(seen.slice(2)).toEqual(['', 'Two'])
  expect(give('\n```ts\nlet a = 1\nlet b')).toBe('let b')
  expect(seen.slice(4)).toEqual(['- a', '- b', '```ts', 'let a = 1'])
  give(' = 2\n```\n| a | b |\n|---|---|\n| 1 | 2 |\n')
  expect(seen.slice(8)).toEqual(['let b = 2', '```'])
  expect(stream.tail.render(40)).toHaveLength(5)
  give('\n')
  expect(seen.slice(10)).toEqual(['┌───┬───┐', '│ a │ b │', '├───┼───┤', '│ 1 │ 2 │', '└───┴───┘'])
})

test('colours a line as in the whole text', async () => {
  await loadLanguage('typescript')
  const theme = createTheme('dark')
  const code = 'const a = `one\ntwo ${b + 1}\nthree`\n/* open\n  "still" */ const c = 3\nclass A {\n  b = 1\n}\n'
  expect(printed(['```ts\n', ...code.split(/(?<=\n)/), '```\n'], 60, theme)).toEqual([
    '\u001B[2m```ts\u001B[22m',
    '\u001B[35mconst\u001B[39m a = \u001B[32m`one\u001B[39m',
    '\u001B[32mtwo \u001B[39m${b + \u001B[33m1\u001B[39m}',
    '\u001B[32mthree`\u001B[39m',
    '\u001B[2m/* open\u001B[22m',
    '\u001B[2m  "still" */\u001B[22m \u001B[35mconst\u001B[39m c = \u001B[33m3\u001B[39m',
    '\u001B[35mclass\u001B[39m \u001B[34mA\u001B[39m {',
    '  b = \u001B[33m1\u001B[39m',
    '}',
    '\u001B[2m```\u001B[22m',
  ])
  theme.choose('none')
  expect(printed(['```ts\nconst a = 1\n'], 60, theme)).toEqual(['```ts', 'const a = 1'])
})

test('an unknown or unloaded language loses no line and no order', () => {
  const text = '```brainfuck\n+++\n```\n```swift\nlet a = 1\n```\nEnd.'
  expect(printed([text])).toEqual(['```brainfuck', '+++', '```', '```swift', 'let a = 1', '```', 'End.'])
})

test('cuts the info string of a fence to the width', () => {
  for (const line of printed([`\`\`\`${'漢字'.repeat(30)}\nx\n\`\`\`\n`], 33))
    expect(visibleWidth(line)).toBeLessThanOrEqual(33)
})

test('text cannot control the terminal, and no line is wider than the width', () => {
  const hostile = fc.array(
    fc.oneof(
      fc.array(fc.nat(0x2ffff), { maxLength: 40 }).map((codes) => String.fromCodePoint(...codes)),
      fc.constantFrom(
        '\u001B]0;title\u0007',
        '\u001B[2J',
        '\u009B3J',
        '\t',
        '\n',
        '\n\n',
        '```',
        '- ',
        '| a | b |\n|---|---|\n',
        '漢字',
        '👩‍💻',
        '\u001B[31m',
        '> ',
        '# ',
      ),
    ),
    { maxLength: 20 },
  )
  fc.assert(
    fc.property(hostile, fc.constantFrom(33, 80), (pieces, width) => {
      for (const line of printed(pieces, width)) {
        // oxlint-disable-next-line no-control-regex -- control characters are what must not be there
        expect(line.replaceAll(/\u001B\[[\d;]*m/g, '')).not.toMatch(/[\u0000-\u001F\u007F-\u009F]/)
        expect(visibleWidth(line)).toBeLessThanOrEqual(width)
      }
    }),
    { numRuns: 40 },
  )
})

test('prints an endless paragraph in parts, and indents code in a list', () => {
  const words = 'word '.repeat(4_000)
  const lines = printed([words.slice(0, 9_000), words.slice(9_000)], 79)
  expect(
    lines
      .join(' ')
      .split(' ')
      .filter((word) => word === 'word'),
  ).toHaveLength(4_000)
  const list = '- First:\n\n  ```sh\n  ls\n  ```\n\n  Then more.\n\nAfter.'
  expect(printed([list])).toEqual(['- First:', '', '  ```sh', '  ls', '  ```', '', '  Then more.', '', 'After.'])
})
