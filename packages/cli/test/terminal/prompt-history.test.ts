// Prompts of earlier sessions (spec R-TERM-64).
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { redactSecrets } from '@halting/agent'
import { expect, onTestFinished, test } from 'vitest'
import { openHistory, type PromptHistory } from '../../src/terminal/history/history-file.ts'

const problems: string[] = []

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'halting-history-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function openFolderHistory(folder: string, redact = (text: string): string => text): Promise<PromptHistory> {
  problems.length = 0
  return openHistory({
    folder,
    cwd: '/project',
    redact,
    now: () => new Date(0),
    onProblem: (message) => problems.push(message),
  })
}

const historyTexts = ({ all }: PromptHistory): readonly string[] => all.map(({ text }) => text)

test('sessions share prompts, each text once, the newest last', async () => {
  const folder = createFolder()
  const first = await openFolderHistory(folder)
  for (const text of ['one', 'two', 'one', 'one', '  ', 'three\nlines']) first.add(text)
  await first.flush()
  expect(historyTexts(await openFolderHistory(folder))).toEqual(['two', 'one', 'three\nlines'])
})

test('only the user can read the file', async () => {
  const folder = join(createFolder(), 'new')
  const history = await openFolderHistory(folder)
  history.add('hello')
  await history.flush()
  expect(statSync(join(folder, 'history.jsonl')).mode & 0o777).toBe(0o600)
  expect(statSync(folder).mode & 0o777).toBe(0o700)
})

test('a file readable by others is restricted before anything is added', async () => {
  const folder = createFolder()
  const file = join(folder, 'history.jsonl')
  writeFileSync(file, '{"text":"old","cwd":"/a","at":"x"}\n', { mode: 0o644 })
  chmodSync(file, 0o644)
  expect(historyTexts(await openFolderHistory(folder))).toEqual(['old'])
  expect(statSync(file).mode & 0o777).toBe(0o600)
})

test('secrets are not written if they are to be redacted', async () => {
  const folder = createFolder()
  const history = await openFolderHistory(folder, redactSecrets)
  history.add('my key is sk-ant-api03-abcdefghijkl')
  await history.flush()
  expect(readFileSync(join(folder, 'history.jsonl'), 'utf8')).not.toContain('abcdefghijkl')
})

test('invalid and foreign lines do not prevent reading', async () => {
  const folder = createFolder()
  writeFileSync(
    join(folder, 'history.jsonl'),
    '{"text":"good","cwd":"/a","at":"x"}\nnonsense\n{"text":7}\nnull\n{"text":"cut',
  )
  expect(historyTexts(await openFolderHistory(folder))).toEqual(['good'])
})

test('two programs write one file', async () => {
  const folder = createFolder()
  const [one, other] = [await openFolderHistory(folder), await openFolderHistory(folder)]
  one.add('of one')
  await one.flush()
  other.add('of the other')
  await other.flush()
  expect(historyTexts(await openFolderHistory(folder))).toEqual(['of one', 'of the other'])
})

test('of a large file the end is read, and the file is made small again', async () => {
  const folder = createFolder()
  const file = join(folder, 'history.jsonl')
  const line = (index: number): string =>
    `${JSON.stringify({ text: `${index} ${'x'.repeat(1_000)}`, cwd: '/', at: '' })}\n`
  writeFileSync(file, '')
  for (let from = 0; from < 6_000; from += 1_000)
    appendFileSync(file, Array.from({ length: 1_000 }, (_, index) => line(from + index)).join(''))
  const { all } = await openFolderHistory(folder)
  expect(all.at(-1)?.text.startsWith('5999 ')).toBe(true)
  expect(all).toHaveLength(2_000)
  expect(statSync(file).size).toBeLessThan(4 * 1024 * 1024)
  expect(historyTexts(await openFolderHistory(folder))).toEqual(all.map(({ text }) => text))
})

test('a failed write is reported once, and prompts are remembered', async () => {
  const folder = createFolder()
  mkdirSync(join(folder, 'history.jsonl'))
  const history = await openFolderHistory(folder)
  history.add('one')
  history.add('two')
  await history.flush()
  expect(problems).toEqual([expect.stringContaining('history.jsonl (EISDIR')])
  expect(historyTexts(history)).toEqual(['one', 'two'])
})

test.skipIf(process.platform === 'win32')('a pipe with that name is neither waited for nor written', async () => {
  const folder = createFolder()
  execFileSync('mkfifo', [join(folder, 'history.jsonl')])
  const history = await openFolderHistory(folder)
  history.add('one')
  await history.flush()
  expect(problems).toEqual([expect.stringContaining('history.jsonl (ENXIO')])
  expect(historyTexts(history)).toEqual(['one'])
})
