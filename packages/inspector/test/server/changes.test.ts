import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, test } from 'vitest'
import { startInspector, type Inspector, type SessionSource } from '../../src/index.ts'
import { type SessionRow } from '@halting/analysis/view'
import { plainRow, plainSource, type PlainSource } from '../support/plain-source.ts'

const pageFolder = mkdtempSync(join(tmpdir(), 'halting-page-'))
for (const name of ['page.js', 'page.css']) writeFileSync(join(pageFolder, name), '')
afterAll(() => rmSync(pageFolder, { recursive: true }))

const open = new Set<Inspector>()
afterEach(async () => {
  for (const inspector of open) await inspector.close()
  open.clear()
})

const twoSessions = (): PlainSource =>
  plainSource(['s-1', 's-2'].map((key) => ({ row: plainRow(key), records: [], parts: [] })))

/** The events of changes, piece by piece. */
async function changesOf(source: SessionSource): Promise<ReadableStreamDefaultReader<string>> {
  const inspector = await startInspector({ source, pageFolder })
  open.add(inspector)
  const { body } = await fetch(`${inspector.url}api/changes`)
  if (body === null) throw new Error('The response has no body.')
  return body.pipeThrough(new TextDecoderStream()).getReader()
}

/** Reads until this was received. */
async function readUntil(reader: ReadableStreamDefaultReader<string>, last: string): Promise<readonly unknown[]> {
  let received = ''
  while (!received.includes(last)) received += (await reader.read()).value ?? ''
  return received
    .split('\n')
    .filter((line) => line !== '')
    .map((line): unknown => JSON.parse(line))
}

test('a change is sent before slow rows, and a row that cannot be sent makes the reader ask again', async () => {
  const source = twoSessions()
  const asked: string[] = []
  const waiting: (() => void)[] = []
  const row = async (key: string): Promise<SessionRow | undefined> => {
    asked.push(key)
    await new Promise<void>((resolve) => waiting.push(resolve))
    if (key === 'broken') throw new TypeError('undefined is no function')
    return source.row(key)
  }
  const reader = await changesOf({ ...source, row })
  await expect.poll(() => source.listeners.size).toBe(1)
  source.change('s-1')
  await expect.poll(() => asked).toEqual(['s-1'])
  source.change('s-2')
  waiting.shift()?.()
  expect(await readUntil(reader, '"s-2"')).toEqual([
    { keys: ['s-1'] },
    { rows: [source.sessions.get('s-1')?.row], gone: [] },
    { keys: ['s-2'] },
  ])
  source.change('broken')
  await expect.poll(() => waiting.length).toBe(1)
  waiting.shift()?.()
  await expect.poll(() => asked).toEqual(['s-1', 's-2', 'broken'])
  waiting.shift()?.()
  await expect(readUntil(reader, 'never')).rejects.toThrow('terminated')
})

test('changes are sent as they happen, merged while a reader is slow, and rows follow', async () => {
  const source = twoSessions()
  const reader = await changesOf(source)
  await expect.poll(() => source.listeners.size).toBe(1)
  source.change('s-1')
  source.change('s-2', 's-1')
  source.change('s-2')
  const rowOf = (key: string): unknown => source.sessions.get(key)?.row
  expect(await readUntil(reader, '"rows"')).toEqual([
    { keys: ['s-1'] },
    { keys: ['s-2', 's-1'] },
    { rows: [rowOf('s-1'), rowOf('s-2')], gone: [] },
  ])
  source.sessions.delete('s-2')
  source.change('s-2', 'never')
  expect(await readUntil(reader, '"gone"')).toEqual([{ keys: ['s-2', 'never'] }, { rows: [], gone: ['s-2', 'never'] }])
  await reader.cancel()
  await expect.poll(() => source.listeners.size).toBe(0)
})
