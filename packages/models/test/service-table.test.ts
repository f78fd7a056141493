import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ownServices } from './support/features/builtin-services.ts'
import { packageRows } from './support/features/package-rows.ts'
import { tableOf } from './support/features/table.ts'

// Tests R-TABLE-1 of docs/spec: the table of services is generated from their tests. `HALTING_WRITE=1` writes it again.

const page = new URL('../../../docs/guide/models.md', import.meta.url)
const [before, after] = ['<!-- services -->\n\n', '\n\n<!-- /services -->']

test('has a table of services in the guide that matches the tests', () => {
  const text = readFileSync(page, 'utf8')
  const [start, end] = [text.indexOf(before) + before.length, text.indexOf(after)]
  expect(start).toBeGreaterThan(before.length)
  const table = tableOf([...ownServices, ...packageRows])
  const isToWrite = process.env.HALTING_WRITE === '1'
  if (isToWrite) writeFileSync(page, text.slice(0, start) + table + text.slice(end))
  expect(isToWrite ? table : text.slice(start, end)).toBe(table)
})

test('lists a service once, with web search exactly if the model has it', () => {
  const titles = [...ownServices, ...packageRows].map(({ title }) => title)
  expect(new Set(titles).size).toBe(titles.length)
  for (const { title, cells, modelAt } of ownServices) {
    const { webSearch } = modelAt('http://127.0.0.1:1')
    expect([title, webSearch !== undefined]).toEqual([title, typeof cells['web search'] === 'string'])
  }
})
