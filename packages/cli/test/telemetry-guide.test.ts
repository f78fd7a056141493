// Checks docs/guide/telemetry.md: its tables are those of the code, and it uses the names of the conventions.
import { readFileSync } from 'node:fs'
import { conventionAttributes, eventNames, metricNames, ownAttributes, spanNames } from '@halting/telemetry'
import { expect, test } from 'vitest'
import { telemetryVariables } from '../src/telemetry/variables.ts'

const page = readFileSync(new URL('../../../docs/guide/telemetry.md', import.meta.url), 'utf8')
const cells = (line: string): readonly string[] => line.slice(2, -2).split(' | ')
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map(cells)

test('has every variable, span, event, attribute and metric in its tables, and no other', () => {
  const coded = (entries: readonly (readonly string[])[]) =>
    entries.map(([name = '', ...rest]) => [`\`${name}\``, ...rest])
  expect(rows).toEqual([
    ...coded(Object.entries(telemetryVariables)),
    ...coded(Object.values(spanNames)),
    ...coded(Object.values(eventNames)),
    ...coded(Object.values(ownAttributes)),
    ...coded(Object.values(metricNames)),
  ])
  for (const name of Object.values(conventionAttributes)) expect(page).toContain(`\`${name}\``)
})

test('has every variable that the program reads in its table', () => {
  const read = ['telemetry/telemetry-settings', 'flags/open-session'].flatMap((name) => {
    const source = readFileSync(new URL(`../src/${name}.ts`, import.meta.url), 'utf8')
    return source.match(/'(?:OTEL|CLAUDE_CODE|HALTING|TRACEPARENT|TRACESTATE)[A-Z_]*'/g) ?? []
  })
  const known = new Set(Object.keys(telemetryVariables).map((name) => `'${name}'`))
  expect(read.filter((name) => !known.has(name))).toEqual([])
})
