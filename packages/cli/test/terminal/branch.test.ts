// The branch in the status bar is read from a folder that a stranger may have prepared.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import { expect, onTestFinished, test } from 'vitest'
import { branchReader } from '../../src/terminal/app/branch.ts'

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'halting-branch-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function repository(head?: string): string {
  const folder = createFolder()
  mkdirSync(join(folder, '.git'))
  if (head !== undefined) writeFileSync(join(folder, '.git', 'HEAD'), head)
  return folder
}

const branchOf = (folder: string): string => branchReader(folder, () => 0)()

const { outputFiles } = buildSync({
  entryPoints: [fileURLToPath(new URL('../../src/terminal/app/branch.ts', import.meta.url))],
  bundle: true,
  write: false,
  format: 'esm',
  platform: 'node',
})
const reads = `${outputFiles[0]?.text ?? ''}
process.stdout.write('branch: ' + branchReader(process.argv[1], () => 0)())`

/** Reads the branch in another process, so that a read that blocks forever can be killed; it then has printed nothing. */
function branchInOtherProcess(folder: string): string {
  return spawnSync(process.execPath, ['--input-type=module', '-e', reads, folder], {
    encoding: 'utf8',
    timeout: 15_000,
    killSignal: 'SIGKILL',
  }).stdout
}

test('reads a branch, a commit, a worktree and a folder inside', () => {
  const folder = repository('ref: refs/heads/some/branch\n')
  mkdirSync(join(folder, 'a', 'b'), { recursive: true })
  expect(branchOf(join(folder, 'a', 'b'))).toBe('some/branch')
  expect(branchOf(repository('0123456789abcdef0123456789abcdef01234567\n'))).toBe('01234567')
  const worktree = createFolder()
  writeFileSync(join(worktree, '.git'), `gitdir: ${join(folder, '.git')}\n`)
  expect(branchOf(worktree)).toBe('some/branch')
  expect(branchOf(repository())).toBe('')
})

test('does not wait for a pipe in place of HEAD, or behind a link or .git', () => {
  const piped = repository()
  const pipe = join(piped, '.git', 'HEAD')
  execFileSync('mkfifo', [pipe])
  const linked = repository()
  symlinkSync(pipe, join(linked, '.git', 'HEAD'))
  const linkedFolder = createFolder()
  writeFileSync(join(linkedFolder, '.git'), `gitdir: ${join(piped, '.git')}\n`)
  for (const folder of [piped, linked, linkedFolder]) expect(branchInOtherProcess(folder)).toBe('branch: ')
})

test('does not read a device', () => {
  const folder = repository()
  symlinkSync('/dev/zero', join(folder, '.git', 'HEAD'))
  expect(branchInOtherProcess(folder)).toBe('branch: ')
})

test('reads only the beginning of a huge file', () => {
  const head = repository('ref: refs/heads/main\n')
  truncateSync(join(head, '.git', 'HEAD'), 300 * 1024 ** 2)
  expect(branchOf(head)).toBe('main')
  const file = createFolder()
  writeFileSync(join(file, '.git'), `gitdir: ${join(repository('ref: refs/heads/main\n'), '.git')}\n`)
  truncateSync(join(file, '.git'), 300 * 1024 ** 2)
  expect(branchOf(file)).toBe('main')
})
