import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { editArguments, type EditMounts } from '../../src/sandbox/edit-mounts.ts'

const base = realpathSync(mkdtempSync(join(tmpdir(), 'halting-mounts-')))
const project = join(base, 'project')
const further = join(base, 'further')
for (const folder of [
  'project/.git/hooks',
  'project/elsewhere',
  'further/inner',
  'home/.cargo/bin',
  'home/.m2/repository',
])
  mkdirSync(join(base, folder), { recursive: true })
writeFileSync(join(project, '.git/config'), '')
symlinkSync(join(project, 'elsewhere'), join(project, '.git/linked'))
mkdirSync(join(project, 'elsewhere/x'))
afterAll(() => rmSync(base, { recursive: true }))

const home = join(base, 'home')
const mounts: EditMounts = {
  means: { canDisableUserNamespaces: false },
  command: { file: 'true', args: [], directory: project, firstDescriptor: 3 },
  home,
  visible: {
    links: [],
    system: ['/usr'],
    secrets: [],
    copied: [],
    tools: [join(home, '.cargo/bin'), join(home, '.m2/repository')],
  },
  copied: join(base, 'etc'),
  temporary: { folder: join(base, 'tmp'), shown: [], stubs: [] },
  caches: [],
  readable: [],
  directories: [project],
  protectedTree: {
    readOnly: [],
    pinned: [],
    masked: [],
    missing: [],
    placeholders: { folders: [], files: [] },
    withoutCommon: [],
  },
  filterDescriptor: undefined,
}

/** The read-only mounts in the folder of this test. */
function readOnlyMountsIn(given: Partial<EditMounts>): readonly string[] {
  const args = editArguments({ ...mounts, ...given })
  return args.filter((at, index) => args[index - 2] === '--ro-bind-try' && at.startsWith(`${base}/`))
}

const tools = mounts.visible.tools
const protectedIn = (names: readonly string[], pinned: readonly string[] = []): Partial<EditMounts> => ({
  protectedTree: {
    ...mounts.protectedTree,
    readOnly: names.map((name) => join(project, name)),
    pinned: pinned.map((name) => join(project, name)),
  },
})

test('a path inside a read-only folder has no separate mount', () => {
  expect(readOnlyMountsIn(protectedIn(['.git', '.git/hooks', '.git/config']))).toEqual([
    ...tools,
    join(project, '.git'),
  ])
})

test('a path inside a read-only folder has a separate mount if a link leads out of the folder, or if something in it is writable', () => {
  const paths = ['.git', '.git/linked/x'].map((name) => join(project, name))
  expect(readOnlyMountsIn(protectedIn(['.git', '.git/linked/x']))).toEqual([...tools, ...paths])
  const written = ['.git', '.git/hooks'].map((name) => join(project, name))
  expect(readOnlyMountsIn(protectedIn(['.git', '.git/hooks'], ['.git/objects']))).toEqual([...tools, ...written])
  expect(readOnlyMountsIn(protectedIn(['.git', '.git/hooks'], ['.git/hooks']))).toEqual([...tools, ...written])
})

test('additional readable paths are mounted once, outer folders first', () => {
  expect(readOnlyMountsIn({ readable: [join(further, 'inner'), further] })).toEqual([...tools, further])
})

test('a tool below a mounted cache has no separate mount', () => {
  const caches = ['--bind', join(base, 'at'), join(home, '.m2/repository')]
  expect(readOnlyMountsIn({ caches })).toEqual([join(home, '.cargo/bin')])
})
