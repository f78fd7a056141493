// R-TERM-61, R-TERM-61b and R-TERM-25 of docs/spec, with a line of a million characters.
import { expect, test } from 'vitest'
import { foldedLines } from '../../src/terminal/view/lines.ts'
import { key, startApp } from './app-support.ts'

const pasted = `${'word '.repeat(200_000)}the end`

test('an oversized paste is shown shortened, ends with advice, and can be retrieved', async () => {
  const {
    terminal,
    type,
    settled,
    history,
    sessions: opened,
  } = await startApp({
    replies: [{ content: 'never' }],
    columns: 120,
    rows: 50,
  })
  type(key.paste(pasted))
  await terminal.waitFor('[paste #1 1000007 chars]')
  type(key.enter)
  await terminal.waitFor('[compaction_thrash]')
  await settled()
  const rows = terminal.all()
  expect(rows.filter((row) => row.includes('word word'))).toHaveLength(29)
  expect(rows.filter((row) => row.includes('more lines'))).toEqual(['  … 8667 more lines'])
  expect(rows.map((row) => row.trim()).join(' ')).toMatch(
    /compaction cannot free enough space\. The message alone is too large: about \d+ tokens, and only \d+ fit\. Put long text into a file and name the file/,
  )
  expect(opened[0]?.session.snapshot.figures).toMatchObject({ turns: 0, settledUsd: 0 })
  expect(history.all.map(({ text }) => text)).toEqual([pasted])

  type(key.up)
  await terminal.waitFor('> [paste #1 1000007 chars]')
  type(key.ctrl('o'))
  await terminal.waitFor('the end')
  type('q')
  await terminal.waitFor('> [paste #1 1000007 chars]')

  type(' and more', key.enter)
  await settled()
  expect(history.all.map(({ text }) => text)).toEqual([pasted, `${pasted} and more`])
})

test('a long untaken message returns to the editor, before the current text', async () => {
  const { terminal, type, settled, history } = await startApp({
    replies: [{ content: 'Slow.', delay_ms: 60_000 }, { content: 'Done.' }],
    columns: 120,
  })
  type('first', key.enter)
  await terminal.waitFor('Esc stop')
  type(key.paste(pasted), key.altEnter)
  await terminal.waitFor('queued 1 after the run')
  type('draft', key.escape)
  await terminal.waitFor('[paste #2 1000007 chars]')
  await settled()
  expect(terminal.shown()).toContain('draft')
  type(key.enter)
  await settled()
  expect(history.all.at(-1)?.text).toBe(`${pasted}\n\ndraft`)
})

test('wraps a text into the same lines whatever its length, between and within words', () => {
  const wide = '漢e\u0301'
  expect(foldedLines(`${'ab '.repeat(4)}abcdefghijk`, 8)).toEqual(['ab ab ab', 'ab abcde', 'fghijk'])
  expect(foldedLines(`${wide} `.repeat(4), 8)).toEqual([`${wide} ${wide}`, `${wide} ${wide}`])
  expect(foldedLines('word '.repeat(200_000), 100)).toEqual(
    Array.from({ length: 10_000 }, () => 'word '.repeat(20).trim()),
  )
})
