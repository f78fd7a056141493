// Holds a rule of docs/spec: R-PROV-13.
import { expect, test } from 'vitest'
import { isInRange } from '../src/version-range.ts'

test.each([
  ['>=22', '20.20.2', false],
  ['>=22', '22.0.0', true],
  ['>= 22', '20.20.2', false],
  ['>=18', '20.20.2', true],
  ['^20.19.0 || ^22.12.0 || >=23', '20.18.0', false],
  ['^20.19.0 || ^22.12.0 || >=23', '20.19.0', true],
  ['^20.19.0 || ^22.12.0 || >=23', '22.3.0', false],
  ['^20.19.0 || ^22.12.0 || >=23', '24.0.0', true],
  ['20.x', '20.1.0', true],
  ['20', '22.1.0', false],
  ['~20.19', '20.20.0', false],
  ['>=18 <21', '20.0.0', true],
  ['>=18 <20', '20.0.0', false],
  ['<=20', '20.9.0', true],
  ['>20', '20.9.0', false],
  ['>20', '21.0.0', true],
  ['*', '20.0.0', true],
  ['', '20.0.0', true],
  ['lts', '20.0.0', true],
])('%s with Node %s: %s', (range, version, isIn) => {
  expect(isInRange(range, version)).toBe(isIn)
})
