// The existing files that patterns of deny rules match (spec R-BOX-2, R-BOX-2a).
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createPermissions } from '../../src/permissions/permissions.ts'
import { expect, test } from 'vitest'
import { expandPlaces } from '../../src/sandbox/expand.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { makeLinkedTree } from './linked-tree.ts'

test('a look-alike of a denied name is protected too', () => {
  const { project } = makeLinkedTree(temporaryFolder())
  mkdirSync(join(project, 'my\u00a0files'))
  for (const name of ['my keys', 'my\u202fkeys', 'my_keys']) writeFileSync(join(project, 'my\u00a0files', name), '')
  const { read } = createPermissions({ cwd: project, deny: ['Read(./my files/my keys)'] }).deniedPlaces()
  expect(expandPlaces(read).toSorted()).toEqual(
    ['my keys', 'my\u202fkeys'].map((name) => join(project, 'my\u00a0files', name)),
  )
})

test('every folder is visited once, however many links lead to it', () => {
  const { project } = makeLinkedTree(temporaryFolder())
  for (let at = 0; at < 12; at += 1) {
    mkdirSync(join(project, `p${at}`))
    for (let to = 0; to < 12; to += 1) symlinkSync(`../p${to}`, join(project, `p${at}/l${to}`))
  }
  writeFileSync(join(project, 'p0/.env'), '')
  const { patterns } = { patterns: createPermissions({ cwd: project, deny: ['Read(.env)'] }).deniedPlaces().read }
  const started = performance.now()
  expect(expandPlaces(patterns).filter((path) => path.includes('/p0/'))).toHaveLength(1)
  expect(performance.now() - started).toBeLessThan(20_000)
})
