// The /diff command of the interactive program. Holds rules of docs/spec: R-TERM-72a.
import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startApp } from './app-support.ts'

function git(cwd: string, ...args: readonly string[]): void {
  const who = ['-c', 'user.name=a', '-c', 'user.email=a@b.c']
  execFileSync('git', [...who, ...args], { cwd, stdio: 'ignore', env: { PATH: process.env['PATH'], HOME: cwd } })
}

test('/diff shows changes and new files, and runs no program named in repository settings', async () => {
  const { terminal, cwd, home, say, type } = await startApp({
    files: { 'a.txt': 'before\n', '.gitattributes': '*.txt filter=own\n' },
  })
  git(cwd, 'init', '-q')
  git(cwd, 'add', '.')
  git(cwd, 'commit', '-qm', 'first')
  const marker = join(home, 'ran')
  git(cwd, 'config', 'filter.own.clean', `touch '${marker}'; cat`)
  git(cwd, 'config', 'core.fsmonitor', `touch '${marker}'`)
  writeFileSync(join(cwd, 'a.txt'), 'after\n')
  writeFileSync(join(cwd, 'b.txt'), 'x')
  say('/diff')
  await terminal.waitFor('Changes since the last commit')
  await terminal.waitFor('+after')
  expect([
    terminal.shown().includes('-before'),
    terminal.shown().includes('new file b.txt'),
    existsSync(marker),
  ]).toEqual([true, true, false])
  type('q')
  await terminal.waitFor('/ commands')
})

test('/diff does not enter submodules, which have their own settings', async () => {
  const { terminal, cwd, home, say } = await startApp({ files: { 'a.txt': 'before\n', 'sub/b.txt': 'before\n' } })
  const marker = join(home, 'ran')
  const sub = join(cwd, 'sub')
  git(sub, 'init', '-q')
  git(sub, 'add', '.')
  git(sub, 'commit', '-qm', 'first')
  git(cwd, 'init', '-q')
  writeFileSync(join(cwd, '.gitmodules'), '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n')
  git(cwd, 'add', '.')
  git(cwd, 'commit', '-qm', 'first')
  git(sub, 'config', 'filter.own.clean', `touch '${marker}'; cat`)
  writeFileSync(join(sub, '.gitattributes'), '*.txt filter=own\n')
  // The same length as before, so git has to read it.
  writeFileSync(join(sub, 'b.txt'), 'behind\n')
  writeFileSync(join(cwd, 'a.txt'), 'after\n')
  say('/diff')
  await terminal.waitFor('+after')
  expect(existsSync(marker)).toBe(false)
})
