import { expect, test } from 'vitest'
import { packagesOf } from '../../src/sandbox/own-packages.ts'

test('returns the packages that contain the files, and none for a file outside of packages', () => {
  const files = [
    '/p/node_modules/halting/dist/x.js',
    '/p/node_modules/@a/b/c/d.js',
    '/usr/bin/node',
    '/p/node_modules/y',
  ]
  expect(packagesOf(files)).toEqual(['/p/node_modules/halting', '/p/node_modules/@a/b'])
})
