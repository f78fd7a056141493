// Holds R-GOAL-35d of docs/spec: a program outside of the workspace that comes to hide another one is a change.
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Json } from '@halting/core'
import { goalFiles } from '../../src/goals/goal-files.ts'
import { temporaryFolder } from '../support/harness.ts'

test('detects a program that hides another one in the search path, and npm settings in the home folder', async () => {
  const [root, home] = [temporaryFolder(), temporaryFolder()]
  const early = join(home, 'bin')
  const env = { PATH: `${early}:${process.env['PATH']}`, HOME: home }
  writeFileSync(join(root, 'package.json'), JSON.stringify({ scripts: { test: 'a' } }))
  let memo: Json | null = null
  const tampered = async (): Promise<readonly string[]> => {
    const round = await goalFiles({ cwd: root, env }).begin(memo, new AbortController().signal, [{ name: 'npm test' }])
    const end = await round.end()
    memo = end.memo
    return round.tampered
  }
  expect(await tampered()).toEqual([])
  writeFileSync(join(home, '.npmrc'), '//registry.example/:_authToken=x\n')
  expect(await tampered()).toEqual([])
  writeFileSync(join(home, '.npmrc'), 'script-shell=/bin/true\n')
  expect(await tampered()).toEqual([expect.stringMatching(/\.npmrc \(how scripts are run\)$/)])
  rmSync(join(home, '.npmrc'))
  mkdirSync(early)
  symlinkSync('/bin/true', join(early, 'npm'))
  expect(await tampered()).toEqual(['npm (which program it is)'])
  rmSync(join(early, 'npm'))
  expect(await tampered()).toEqual([])
})
