// Holds R-EASK-2a and R-EASK-3 of docs/spec: confined git can do what it is allowed to, and with its folder protected it changes nothing.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { EditWall } from '../../src/sandbox/edit-wall.ts'
import { sampled } from '../support/deep.ts'
import { means, runLine } from '../edit/support.ts'
import { project } from './support.ts'
import { writing } from './writing.ts'

const hidden = (
  'stash,checkout -- a.ts,checkout -b x HEAD~1,reset --hard,reset HEAD~1,clean -n,rm a.ts,mv a.ts z.ts,commit -am x,merge --ff-only HEAD,' +
  'switch --detach HEAD~1,restore .,revert --no-edit HEAD,rebase --onto HEAD~1 HEAD,add -A,tag x,gc'
).split(',')

/** A project with staged and unstaged changes, and its confinement. */
function begin(): {
  readonly cwd: string
  readonly run: (line: string, writesGit: boolean) => ReturnType<typeof runLine>
  readonly state: () => string
} {
  if (means === undefined) throw new Error('commands cannot be confined here')
  const cwd = project()
  const git = (...words: readonly string[]): string =>
    execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@example.org', ...words], {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  git('config', 'user.name', 'A')
  git('config', 'user.email', 'a@example.org')
  git('add', '.')
  git('commit', '-qm', 'second')
  for (const name of ['a.ts', 'src/c.ts']) writeFileSync(join(cwd, name), 'changed\n')
  git('add', 'src/c.ts')
  writeFileSync(join(cwd, 'b.ts'), 'changed\n')
  const home = join(dirname(cwd), 'empty-home')
  const wall = new EditWall({ means, home, keptFolders: [], stateFolder: join(dirname(cwd), 'state') })
  onTestFinished(() => wall.dispose())
  const env = { ...process.env, HOME: home }
  return {
    cwd,
    run: (line, writesGit) => runLine(line, wall, { project: cwd, env, confinement: { writesGit } }),
    state: () =>
      [
        git('status', '--porcelain', '--ignored'),
        git('show-ref'),
        git('ls-files', '-s'),
        git('stash', 'list'),
        git('diff'),
      ].join('\n'),
  }
}

describe.skipIf(means === undefined)('Under confinement (needs bubblewrap)', () => {
  test.each(sampled(writing, { deep: 1, quick: 4 }))('git can do what it is allowed to: %s', async (line) => {
    const { run } = begin()
    const { output, exitCode, aftermath } = await run(line, true)
    expect([exitCode, aftermath.takenBack, output]).toEqual([0, [], expect.any(String)])
  })

  test.each(sampled(hidden, { deep: 1, quick: 4 }))(
    'with its folder protected, git changes neither the work tree nor the repository: git %s',
    async (rest) => {
      const { run, state } = begin()
      const before = state()
      // Hidden from the analysis.
      await run(`x=${rest.split(' ')[0]}; eval "git $x ${rest.split(' ').slice(1).join(' ')}"`, false)
      expect(state()).toBe(before)
    },
  )
})
