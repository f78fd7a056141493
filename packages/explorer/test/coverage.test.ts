// Holds rules of docs/spec: R-END-1, R-LAP-1, R-LAP-4.
import { endings } from '@halting/core'
import { transitionRules } from '../src/core-internals.ts'
import { explorePaths } from '../src/choices.ts'
import { scenarios } from '../src/scenarios.ts'
import { expect, test } from 'vitest'
import { golden } from './share.ts'

test('the golden record contains exactly the scenarios', () => {
  expect(golden.map(({ scenario }) => scenario)).toEqual(scenarios.map(({ name }) => name))
})

test('the exploration walks tens of thousands of paths and reaches every ending', () => {
  const reached = new Set(golden.flatMap(({ terminals }) => Object.keys(terminals)))
  expect([...reached].toSorted()).toEqual(Object.keys(endings).toSorted())
  const paths = golden.reduce((sum, each) => sum + each.paths, 0)
  const kills = golden.reduce((sum, each) => sum + each.kills, 0)
  console.log(
    `explored: ${paths} paths, ${kills} kills, ${golden.length} scenarios; deviations at once: ${scenarios.map((each) => each.deviations).join(' ')}`,
  )
  expect(paths).toBeGreaterThan(20_000)
})

test('the exploration takes every transition', () => {
  const taken = new Set(golden.flatMap(({ transitions }) => Object.keys(transitions)))
  expect([...taken].toSorted()).toEqual(Object.keys(transitionRules).toSorted())
})

test('explorePaths walks each path once, depth first, within the number of deviations', async () => {
  const seen: string[] = []
  const paths = await explorePaths(1, async (path) => {
    const first = path.choose('a', ['0', '1', '2'])
    const second = path.choose('b', ['0', '1'])
    seen.push(first + second)
    expect(path.again().choose('a', ['0', '1', '2'])).toBe(first)
  })
  expect({ paths, seen }).toEqual({ paths: 4, seen: ['00', '01', '10', '20'] })
})
