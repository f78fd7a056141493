// The names that are said to be those of the conventions are.
import * as conventions from '@opentelemetry/semantic-conventions/incubating'
import { expect, test } from 'vitest'
import { conventionAttributes, metricNames } from '../../src/telemetry/index.ts'

test('what has no name of ours is in the GenAI conventions', () => {
  const known = new Set<unknown>(Object.values(conventions).filter((value) => typeof value === 'string'))
  const own = Object.values(metricNames).map(([name]) => name)
  const told = [...Object.values(conventionAttributes), ...own.filter((name) => !name.startsWith('halting.'))]
  expect(told.filter((name) => !known.has(name))).toEqual([])
})
