// Holds rules of docs/spec: R-PROV-6, R-PROV-7. Where packages are looked for that no setting names a folder for.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { findPackage, modulesOfProgram } from '../../src/providers/find-package.ts'
import { installPackage, tinyProvider } from '../support/provider-packages.ts'

test.skipIf(process.platform === 'win32')(
  'finds one next to an installed program, and not in the folders above it',
  () => {
    const program = '/home/me/.nvm/lib/node_modules/halting/dist/main.js'
    const beside = [
      '/home/me/.nvm/lib/node_modules/halting/dist/node_modules',
      '/home/me/.nvm/lib/node_modules/halting/node_modules',
      '/home/me/.nvm/lib/node_modules/node_modules',
      '/home/me/.nvm/lib/node_modules',
    ]
    for (const cwd of ['/home/me', '/home/me/work', '/']) expect(modulesOfProgram(program, cwd)).toEqual(beside)
    const linked = '/home/me/pnpm/5/node_modules/.pnpm/halting@1/node_modules/halting/main.js'
    expect(modulesOfProgram(linked, '/home/me').at(-1)).toBe('/home/me/pnpm/5/node_modules')
    // Sources that were not installed.
    const source = '/home/me/src/halting/main.js'
    expect(modulesOfProgram(source, '/home/me/src')).toEqual([
      '/home/me/node_modules',
      '/home/node_modules',
      '/node_modules',
    ])
  },
)

test('ignores a folder of NODE_PATH that is the working directory under another name', () => {
  const base = mkdtempSync(join(tmpdir(), 'halting-find-package-'))
  const before = process.env['NODE_PATH']
  onTestFinished(() => {
    rmSync(base, { recursive: true })
    if (before === undefined) delete process.env['NODE_PATH']
    else process.env['NODE_PATH'] = before
  })
  const [project, link, other] = [join(base, 'project'), join(base, 'link'), join(base, 'other')]
  mkdirSync(project)
  symlinkSync(project, link)
  for (const folder of [project, other]) installPackage(folder, 'tiny', { source: tinyProvider })
  const find = (cwd: string, folder: string) => () => {
    process.env['NODE_PATH'] = join(folder, 'node_modules')
    return findPackage({ name: 'tiny', folders: [], cwd }).folder
  }
  expect(find(link, project)).toThrow('tiny is not installed')
  expect(find(project, link)).toThrow('tiny is not installed')
  expect(find(project, other)()).toBe(join(other, 'node_modules/tiny'))
})
