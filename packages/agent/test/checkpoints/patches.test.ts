// Holds rules of docs/spec: R-PATCH-5a and R-UNDO-1: what a patch changed is undone.
import { afterEach, expect, test } from 'vitest'
import { openProject, type Project } from '../support/changed-project.ts'

let project: Project | undefined
afterEach(() => project?.remove())

test.each(['git', 'folder'] as const)('undoes a patch: every kind of change, links and modes (%s)', async (kind) => {
  const { files, sh, tree, use } = (project = openProject(kind))
  sh('echo one > a; chmod 755 a; echo two > b; echo three > c; chmod 600 c; mkdir d; echo four > d/e; ln -s a link')
  sh("printf 'five\\r\\nsix' > f; mkdir g; ln -s ../d g/h; echo seven > ignored; echo ignored > .gitignore")
  if (kind === 'git') sh('git add -A; git commit -qm first')
  const before = tree()
  await use('run1', 'Read', { file_path: 'd/e' })
  const sections = [
    '*** Add File: new/folder/file\n+x',
    '*** Update File: link\n@@\n-one\n+1',
    '*** Update File: b\n*** Move to: moved/b\n@@\n-two\n+2',
    '*** Update File: c\n*** Move to: d/c',
    '*** Delete File: g/h/e',
    '*** Update File: f\n@@\n-six\n+6',
    '*** Update File: ignored\n@@\n-seven\n+7',
  ]
  const input = `*** Begin Patch\n${sections.join('\n')}\n*** End Patch`
  expect(await use('run1', 'apply_patch', { input })).toContain('Patched 7 files')
  expect(tree()).not.toEqual(before)
  const plan = await files.plan({ kind: 'undo' })
  if (plan === undefined) throw new Error('there is something to undo')
  expect(plan.left).toEqual([])
  expect(await files.apply(plan)).toEqual([])
  expect(tree()).toEqual(before)
})
