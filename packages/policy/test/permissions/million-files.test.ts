// With HALTING_DEEP=1, as packages/agent/test/million-files.test.ts.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { relocateProblem } from '../../src/permissions/links.ts'
import { bounded, many, manyFilesIn, placeForMany } from '../support/many-files.ts'

const base = placeForMany()
let cwd = ''

beforeAll(() => void (base !== undefined && (cwd = manyFilesIn(base))), 300_000)
afterAll(() => void (cwd !== '' && execFileSync('rm', ['-rf', cwd])), 300_000)

describe.runIf(base !== undefined)(`${many} files in a folder`, () => {
  test('are not considered harmless when there are too many to check', async () => {
    const problem = await bounded(async () => relocateProblem(join(cwd, 'd'), []))
    expect(problem).toMatch(/has too many files to check/)
  })
})
