// Tests R-JOUR-12a of docs/spec: a fold that does not match the lines before it is ignored, and the lines are read.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HaltingError } from '@halting/core'
import { foldRun, foldSession, type StepRecord } from '@halting/core/steps'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { JournalEncoder } from '../../src/format/encoder.ts'
import { foldMark } from '../../src/format/fold.ts'
import { lineOf } from '../../src/format/line.ts'
import { readJournal, readForResume, type ReadJournal } from '../../src/read-journal.ts'
import { place, recordsOfLooking } from '../support/reading-run.ts'

let folder: string
let lines: readonly string[]
/** The numbers of the fold lines. */
let folds: readonly number[]

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'halting-lies-'))
  const replies = Array.from({ length: 12 }, (_, n) => ({ text: `Turn ${n} ä😀`, toolCalls: [{ name: 'Look' }] }))
  const records = await recordsOfLooking([...replies, 'done'])
  // Without its end, and with an open turn.
  lines = linesOf(records.slice(0, -2))
  folds = lines.flatMap((line, index) => (line.startsWith(foldMark.slice(1)) ? [index] : []))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function linesOf(records: readonly StepRecord[]): readonly string[] {
  const encoder = new JournalEncoder(place, undefined, 4_000)
  const text = [encoder.head(), ...records.map((record) => encoder.linesOf(record).lines)].join('')
  return text.split('\n').slice(0, -1)
}

const path = () => join(folder, 'a.jsonl')

function comesTo({ runs, written, wholeBytes, tornBytes }: ReadJournal): unknown {
  const { open = [], transcript } = foldSession(runs)
  const run = foldRun(open, transcript)
  if (run.kind !== 'open') throw new Error('the run is open')
  const { state, replay, spent, recordedUntil } = run
  const { lines: count, newest, sums } = written
  return JSON.parse(
    JSON.stringify({
      state,
      replay,
      spent,
      recordedUntil,
      count,
      newest: newest.get(''),
      sums: sums.sums(),
      wholeBytes,
      tornBytes,
    }),
  )
}

type Fold = { [field: string]: unknown; items: unknown[][]; past: { [field: string]: unknown } }

async function readWith(written: readonly string[]): Promise<{ readonly byFolds: unknown; readonly byLines: unknown }> {
  writeFileSync(path(), `${written.join('\n')}\n`)
  const read = async (how: () => Promise<ReadJournal>): Promise<unknown> => {
    try {
      return comesTo(await how())
    } catch (error) {
      if (error instanceof HaltingError) return error.message
      throw error
    }
  }
  return { byFolds: await read(() => readForResume(path(), 'open')), byLines: await read(() => readJournal(path())) }
}

/** The lines, with one fold replaced by another. */
function lying(index: number, lie: (fold: Fold) => void): readonly string[] {
  const line = JSON.parse(lines[index] ?? '') as { readonly fold: Fold }
  lie(line.fold)
  return lines.with(index, lineOf({ type: 'halting', fold: line.fold }).trimEnd())
}

test('folds match the lines that they cover', async () => {
  expect(folds.length).toBeGreaterThan(2)
  const { byFolds, byLines } = await readWith(lines)
  expect(byFolds).toEqual(byLines)
  expect((await readForResume(path(), 'open')).runs.flat().length).toBeLessThan(lines.length / 2)
})

const numbers = [-1, 0, 1, 0.5, 37, 1e9, 2 ** 53, 1e300, -1e300, null, '7', true, [], {}]
/**
 * Only the checksum of the fold protects well-typed figures and names, as that of a line protects those of a lap. Of
 * such fields, only values of the wrong type can be detected.
 */
const ofNoType: { readonly [what: string]: (value: unknown) => boolean } = {
  'the id of a reply': (value) => value !== '7',
  items: (value) => !Array.isArray(value),
  transition: (value) => value !== '7',
  newest: (value) => value !== '7' && value !== null,
  'the figures': (value) => JSON.stringify(value) !== '{}',
  until: (value) => typeof value !== 'number' || value < 0,
}
const lies: readonly (readonly [string, (fold: Fold, value: unknown) => void])[] = [
  ['bytes', (fold, value) => void (fold['bytes'] = value)],
  ['crc', (fold, value) => void (fold['crc'] = value)],
  ['lines', (fold, value) => void (fold['lines'] = value)],
  ['fewer or more bytes', (fold, value) => void (fold['bytes'] = Number(fold['bytes']) - Number(value))],
  ['fewer or more lines', (fold, value) => void (fold['lines'] = Number(fold['lines']) - Number(value))],
  ['the place of a line', (fold, value) => void (itemOf(fold, 'l')[1] = value)],
  ['the length of a line', (fold, value) => void (itemOf(fold, 'l')[2] = value)],
  ['the place of a reply', (fold, value) => void (itemOf(fold, 'a')[2] = value)],
  [
    'a reply that begins elsewhere',
    (fold, value) => void (itemOf(fold, 'a')[2] = Number(itemOf(fold, 'a')[2]) + Number(value)),
  ],
  ['the length of a reply', (fold, value) => void (itemOf(fold, 'a')[3] = value)],
  ['a longer reply', (fold, value) => void (itemOf(fold, 'a')[3] = Number(itemOf(fold, 'a')[3]) + Number(value))],
  ['the place of a result', (fold, value) => void (itemOf(fold, 'r')[2] = value)],
  ['the length of a result', (fold, value) => void (itemOf(fold, 'r')[3] = value)],
  ['a result without a length', (fold) => void itemOf(fold, 'r').pop()],
  ['no results', (fold) => void itemOf(fold, 'r').splice(2)],
  ['the id of a reply', (fold, value) => void (itemOf(fold, 'a')[1] = value)],
  ['a reply as a result', (fold) => void itemOf(fold, 'r').splice(2, 2, ...itemOf(fold, 'a').slice(2, 4))],
  ['a result as a reply', (fold) => void itemOf(fold, 'a').splice(2, 2, ...itemOf(fold, 'r').slice(2, 4))],
  ['an item of no kind', (fold, value) => void fold.items.push([value] as unknown[])],
  ['an invalid item', (fold, value) => void fold.items.push(value as unknown[])],
  ['an invalid entry', (fold, value) => void fold.items.push(['e', value])],
  ['items', (fold, value) => void (fold['items'] = value as unknown[][])],
  ['transition', (fold, value) => void (fold['transition'] = value)],
  ['spent', (fold, value) => void (fold['spent'] = value)],
  ['the figures', (fold, value) => void (fold['spent'] = { '': value })],
  ['newest', (fold, value) => void (fold['newest'] = value)],
  ['past', (fold, value) => void (fold['past'] = value as Fold['past'])],
  ['settled', (fold, value) => void (fold.past['settled'] = value)],
  ['unknown', (fold, value) => void (fold.past['unknown'] = value)],
  ['open', (fold, value) => void (fold.past['open'] = value)],
  ['an open request', (fold, value) => void (fold.past['open'] = [value])],
  ['an open request without figures', (fold, value) => void (fold.past['open'] = [['run1/model:1.1', value]])],
  ['until', (fold, value) => void (fold.past['until'] = value)],
]

function itemOf(fold: Fold, kind: string): unknown[] {
  return fold.items.find((item) => item[0] === kind) ?? []
}

test.each(lies)('reads the same as by lines despite a false fold: %s', async (what, lie) => {
  for (const index of [folds[0] ?? 0, folds.at(-1) ?? 0])
    for (const value of numbers.filter(ofNoType[what] ?? (() => true))) {
      const { byFolds, byLines } = await readWith(lying(index, (fold) => lie(fold, value)))
      expect(byFolds, `${JSON.stringify(value)} in line ${index}`).toEqual(byLines)
    }
})

test('reads the same as by lines despite a fold that is repeated, moved, or covers other lines', async () => {
  const [first = 0, second = 0] = folds
  const [one = '', two = ''] = [lines[first], lines[second]]
  await readWith(lines)
  const other = linesOf((await readJournal(path())).runs.flat().slice(0, -4))
  for (const written of [
    lines.toSpliced(first, 0, one),
    lines.toSpliced(second, 0, one),
    lines.toSpliced(second, 0, two),
    lines.toSpliced(first + 2, 0, one),
    lines.toSpliced(1, 0, one),
    lines.with(first, two).with(second, one),
    lines.toSpliced(first, 1),
    lines.toSpliced(second, 1),
    lines.toSpliced(second, 1, other.find((line) => line.startsWith(foldMark.slice(1))) ?? ''),
    [...lines, two],
  ]) {
    const { byFolds, byLines } = await readWith(written)
    expect(byFolds).toEqual(byLines)
  }
})
