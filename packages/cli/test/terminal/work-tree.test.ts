// Holds rules of docs/spec: R-TERM-75: the branch is marked when the repository has uncommitted changes.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { watchWorktree } from '../../src/terminal/app/worktree-status.ts'

function repository(): { readonly cwd: string; readonly git: (...args: string[]) => void } {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'halting-tree-')))
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
  const git = (...args: string[]): void => void execFileSync('git', args, { cwd, stdio: 'ignore' })
  git('init')
  return { cwd, git }
}

test('notices new and reverted changes when it checks', async () => {
  const { cwd } = repository()
  const changed = vi.fn<() => void>()
  const tree = watchWorktree(cwd, process.env, changed)
  writeFileSync(join(cwd, 'a.txt'), 'a')
  tree.refresh()
  await vi.waitFor(() => expect(changed).toHaveBeenCalledTimes(1), 20_000)
  expect(tree.hasChanges).toBe(true)
  rmSync(join(cwd, 'a.txt'))
  tree.refresh()
  await vi.waitFor(() => expect(tree.hasChanges).toBe(false), 20_000)
  expect(changed).toHaveBeenCalledTimes(2)
})

test('runs no program that the repository names', async () => {
  const { cwd, git } = repository()
  const marker = join(cwd, '..', `ran-${process.pid}`)
  onTestFinished(() => rmSync(marker, { force: true }))
  git('config', 'filter.bad.clean', `touch ${marker}; cat`)
  git('config', 'core.fsmonitor', `touch ${marker}`)
  writeFileSync(join(cwd, '.gitattributes'), '* filter=bad\n')
  writeFileSync(join(cwd, 'a.txt'), 'a')
  const tree = watchWorktree(cwd, process.env, () => {})
  tree.refresh()
  await vi.waitFor(() => expect(tree.hasChanges).toBe(true), 20_000)
  expect(existsSync(marker)).toBe(false)
})
