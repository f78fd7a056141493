// Holds R-EWALL-5 of docs/spec: whatever a command does with names, the control files are those that existed before, and nothing is lost.
import { type Arbitrary, array, assert, constantFrom, oneof, property, record } from 'fast-check'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { baselineOf, moveIntrudersAside } from '../../src/sandbox/edit-baseline.ts'
import { FolderScanner, type Identity, identityOf } from '../../src/sandbox/folder-scan.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** A path below the project, of few names, so that steps affect each other. */
const path = array(
  constantFrom('a', 'b', '.vscode', '.envrc', '.git', '.github', 'workflows', 'HEAD', 'objects', 'refs'),
  {
    minLength: 1,
    maxLength: 3,
  },
).map((names) => names.join('/'))

type Step =
  | { readonly kind: 'write' | 'folder' | 'remove'; readonly path: string }
  | { readonly kind: 'move' | 'link'; readonly path: string; readonly to: string }

const step: Arbitrary<Step> = oneof(
  record({ kind: constantFrom('write' as const, 'folder' as const, 'remove' as const), path }),
  record({ kind: constantFrom('move' as const, 'link' as const), path, to: path }),
)

let fileTexts = 0

/** Does what a command could do; the kernel refuses it if `isShut`. */
function play(project: string, step: Step, isShut: (path: string) => boolean): void {
  const at = join(project, step.path)
  const to = step.kind === 'move' || step.kind === 'link' ? join(project, step.to) : at
  if (isShut(at) || (step.kind === 'move' && isShut(to))) return
  try {
    if (step.kind === 'write') writeFileSync(at, `text ${(fileTexts += 1)}\n`, { flag: 'wx' })
    if (step.kind === 'folder') mkdirSync(at)
    // What a command removes is gone: only links are checked.
    if (step.kind === 'remove' && identityOf(at)?.kind === 'link') rmSync(at)
    if (step.kind === 'move' && identityOf(to) === undefined) renameSync(at, to)
    if (step.kind === 'link') symlinkSync(to, at)
  } catch {
    // It does not exist, or its place is taken.
  }
}

/** Does not use `recursive`, which follows links on some Node versions. */
function textsBelow(...folders: readonly string[]): readonly string[] {
  const found = folders.flatMap((folder) =>
    readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) return textsBelow(path)
      return entry.isFile() ? [readFileSync(path, 'utf8')] : []
    }),
  )
  return found.toSorted()
}

test('after a command only control files that existed before it remain, and no file is lost', () => {
  assert(
    property(array(step, { maxLength: 12 }), array(step, { maxLength: 16 }), (before, during) => {
      const folder = temporaryFolder()
      const [project, state] = [join(folder, 'project'), join(folder, 'state')]
      for (const one of [project, state]) mkdirSync(one)
      for (const one of before) play(project, one, () => false)
      const scanner = new FolderScanner()
      const scan = scanner.scan([project])
      const baseline = baselineOf([project], scan, [])
      const nodes = new Set(baseline.obeyed.map(([, { node }]) => node))
      /** Inside or at an earlier control file, wherever that is now: it is mounted. */
      const isShut = (at: string): boolean => {
        const parts = at.slice(project.length + 1).split('/')
        return parts.some((_, index) => {
          const identity = identityOf(join(project, ...parts.slice(0, index + 1)))
          return identity !== undefined && identity.kind !== 'link' && nodes.has(identity.node)
        })
      }
      for (const one of during) play(project, one, isShut)
      const texts = textsBelow(project)
      const { takenBack } = moveIntrudersAside(baseline, scanner, { first: scan.folders, folder: join(state, 'aside') })
      const after = scanner.scan([project])
      const links = new Set(baseline.obeyed.flatMap(([, { target }]) => target ?? []))
      const isNew = ({ node, target }: Identity): boolean =>
        target === undefined ? !nodes.has(node) : !links.has(target)
      const intruders = [...after.controlFiles].filter(([, identity]) => isNew(identity))
      expect(intruders).toEqual([])
      expect([...after.bare.values()].filter((node) => !baseline.bare.includes(node))).toEqual([])
      expect(textsBelow(project, state)).toEqual(texts)
      const kept = new Set([...after.controlFiles.values()].map(({ node }) => node))
      expect(baseline.obeyed.filter(([, { kind, node }]) => kind !== 'link' && !kept.has(node))).toEqual([])
      for (const { movedTo } of takenBack) expect(identityOf(movedTo)).toBeDefined()
      rmSync(folder, { recursive: true, force: true })
    }),
    { numRuns: 150 },
  )
})

test('an unchanged folder is not read again, and a changed one is', () => {
  const project = temporaryFolder()
  const scanner = new FolderScanner()
  mkdirSync(join(project, 'a/b'), { recursive: true })
  for (let round = 0; round < 3; round += 1) {
    expect(scanner.scan([project]).folders).toHaveLength(round + 3)
    // Also directly after it was read.
    mkdirSync(join(project, `a/b/c${round}`))
    mkdirSync(join(project, `a/b/c${round}/.claude`))
    expect([...scanner.scan([project]).controlFiles.keys()]).toHaveLength(round + 1)
  }
})
