import { chmodSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { removeTree } from '../../src/sandbox/remove-tree.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

test('removes a folder that a command has locked, and nothing that it links to', () => {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'box/a/b'), { recursive: true })
  mkdirSync(join(folder, 'kept'))
  writeFileSync(join(folder, 'box/a/b/file'), '')
  symlinkSync(join(folder, 'kept'), join(folder, 'box/a/link'))
  for (const name of ['box/a/b', 'box/a', 'kept']) chmodSync(join(folder, name), 0o500)
  removeTree(join(folder, 'box'))
  expect(readdirSync(folder)).toEqual(['kept'])
  removeTree(join(folder, 'none'))
})
