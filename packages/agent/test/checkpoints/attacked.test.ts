// Holds rules of docs/spec: R-UNDO-1, R-UNDO-2, R-UNDO-4: found by attack; a hostile repository, files that git does not watch, writes that fail.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { FileCheckpoints } from '@halting/agent'
import { GitProject } from '../../src/checkpoints/git-snapshot.ts'
import { openProject, type Project } from '../support/changed-project.ts'

let project: Project | undefined
afterEach(() => project?.remove())

const opened = (...args: Parameters<typeof openProject>): Project => (project = openProject(...args))
const at = (name: string): string => join(project?.cwd ?? '', name)
const read = (name: string): string => readFileSync(at(name), 'utf8')
const bash = (command: string, run = 'run1'): Promise<string> | undefined => project?.use(run, 'Bash', { command })

async function undone(): Promise<readonly unknown[]> {
  const plan = await project?.files.plan({ kind: 'undo' })
  if (plan === undefined || project === undefined) throw new Error('there is something to undo')
  const left = [...plan.left, ...(plan.left.length > 0 ? [] : await project.files.apply(plan))]
  return [...left, ...plan.unknown]
}

describe('a write that failed', () => {
  const steps = (fails: readonly boolean[]): Promise<readonly unknown[]> => {
    const { cwd, folder } = opened('folder')
    writeFileSync(at('a.txt'), 'first\n')
    const checkpoints = new FileCheckpoints({ folder, cwd })
    return fails
      .reduce(
        (before, isFailing, index) =>
          before.then(async () => {
            const content = Buffer.from(`${index}\n`)
            const call = { callId: `c${index}`, toolName: 'Write', idempotencyKey: `s/run1/tool:${index}:0:c${index}` }
            const save = async (): Promise<void> => {
              if (isFailing) throw new Error('no space left')
              writeFileSync(at('a.txt'), content)
            }
            await checkpoints.around(call, at('a.txt'), { content, mode: undefined }, save).catch(() => undefined)
          }),
        Promise.resolve(),
      )
      .then(undone)
  }

  test.each([
    ['after one that did not', [false, true]],
    ['before one that did not', [true, false]],
    ['between two', [false, true, false]],
    ['twice', [false, true, true, false, true]],
  ])("is not an external change (%s): the agent's own leftover is recognized", async (_where, fails) => {
    expect(await steps(fails)).toEqual([])
    expect(read('a.txt')).toBe('first\n')
  })
})

describe('a folder', () => {
  test.each([
    ['was there before', true],
    ['a Write made', false],
  ])('that %s, and was created and removed, is restored by an undo', async (_which, wasThere) => {
    const { sh, use, tree } = opened('folder')
    if (wasThere) sh('mkdir d; echo first > d/c.txt')
    const before = tree()
    if (wasThere) await bash('rm -rf d')
    await use('run1', 'Write', { file_path: 'd/e/f.txt', content: 'one\n' })
    await bash('rm -rf d')
    expect(await undone()).toEqual([])
    expect(tree()).toEqual(before)
  })

  test('that is now a remaining file prevents restoring its contents, and the undo reports that', async () => {
    const { sh, files } = opened('git')
    sh('echo first > a.txt; git add -A; git commit -qm first')
    await bash('echo one > a.txt')
    sh('rm a.txt; mkdir a.txt; echo inner > a.txt/inner')
    await bash('git stash -q')
    const plan = await files.plan({ kind: 'undo' })
    expect(plan?.changes).toEqual([])
    expect(plan?.left).toEqual([{ path: at('a.txt/inner'), why: `${at('a.txt')} is not a folder` }])
  })
})

describe('a repository', () => {
  test('runs no program that it names, however its filters are called', async () => {
    const { sh } = opened('git')
    sh(`printf '* filter=x=y\\n' > .gitattributes; echo one > a.txt; git add -A; git commit -qm first`)
    sh(`printf '[filter "x=y"]\\n\\tclean = touch ${at('../pwned')}; cat\\n' >> .git/config`)
    sh('sleep 0.01; echo two > a.txt')
    await bash('echo three > a.txt')
    expect(existsSync(at('../pwned'))).toBe(false)
  })

  test('runs no filter that a command configured', async () => {
    const { sh } = opened('git')
    sh(`printf '* filter=late\\n' > .gitattributes; echo one > a.txt; git add -A; git commit -qm first`)
    await bash(`git config filter.late.clean 'touch ${at('../late')}; cat'; echo two > a.txt`)
    await bash('echo six > a.txt')
    expect(existsSync(at('../late'))).toBe(false)
  })

  test('with a length-preserving filter restores what was in the folder', async () => {
    const { sh } = opened('git')
    sh(`git config filter.rot.clean 'tr a-m n-z'; git config filter.rot.smudge 'tr n-z a-m'`)
    sh(
      `printf '*.rot filter=rot\\n' > .gitattributes; echo abc > a.rot; git add -A; git commit -qm first; sleep 1.1; touch x; git add x; git status`,
    )
    await bash('echo xyz > a.rot')
    expect(await undone()).toEqual([])
    expect(read('a.rot')).toBe('abc\n')
  })

  test.each(['assume-unchanged', 'skip-worktree'])(
    'that is configured to ignore changes (%s) is inspected',
    async (how) => {
      const { sh } = opened('git')
      sh(`echo one > a.txt; git add -A; git commit -qm first; git update-index --${how} a.txt; echo mine > a.txt`)
      await bash('echo two > a.txt')
      expect(await undone()).toEqual([])
      expect(read('a.txt')).toBe('mine\n')
    },
  )

  test('with an index whose paths lead elsewhere has nothing there inspected or reverted', async () => {
    const { sh } = opened('git')
    sh('echo first > a.txt; mkdir zz; echo one > zz/x; git add -A; git commit -qm first; echo mine > ../x')
    sh('LC_ALL=C sed -i "s#zz/x#../x#" .git/index')
    await bash('echo two > ../x; echo two > a.txt')
    expect(await undone()).toEqual([])
    expect([read('a.txt'), read('../x')]).toEqual(['first\n', 'two\n'])
  })

  test('with a name that is not UTF-8 reports that it was not inspected', async () => {
    const { sh } = opened('git')
    sh(`echo one > $'caf\\xe9'`)
    await bash(`echo two > $'caf\\xe9'; echo new > b.txt`)
    expect(await undone()).toEqual([expect.stringContaining('not valid UTF-8')])
  })
})

test('a folder with a name that is not UTF-8 reports that', async () => {
  const { sh } = opened('folder')
  sh(`echo one > $'caf\\xe9'`)
  await bash(`echo two > $'caf\\xe9'; echo new > b.txt`)
  expect(await undone()).toEqual([expect.stringContaining('not valid UTF-8')])
})

test("the program's own sessions are not inspected, even through a link", async () => {
  const first = opened('folder')
  first.remove()
  const base = dirname(first.cwd)
  mkdirSync(join(base, 'project'), { recursive: true })
  const link = join(base, 'link')
  symlinkSync(join(base, 'project'), link)
  const here = openProject('folder', { cwd: join(base, 'project'), hidden: [join(link, '.halting/projects')] })
  project = here
  mkdirSync(join(base, 'project/.halting/projects/x'), { recursive: true })
  writeFileSync(join(base, 'project/.halting/projects/x/s.jsonl'), 'one\n')
  await here.use('run1', 'Bash', {
    command: `cd ${join(base, 'project')}; echo two > .halting/projects/x/s.jsonl; echo x > b.txt`,
  })
  const plan = await here.files.plan({ kind: 'undo' })
  expect(plan?.changes.map(({ path }) => path)).toEqual([join(base, 'project/b.txt')])
})

test('content that is stored under a wrong hash is stored again', async () => {
  const { use, folder } = opened('folder')
  writeFileSync(at('a.txt'), 'first\n')
  // A power failure left only a part of it.
  const name = createHash('sha256').update('first\n').digest('hex')
  mkdirSync(join(folder, 'contents'), { recursive: true })
  writeFileSync(join(folder, 'contents', name), 'fir')
  await use('run1', 'Read', { file_path: 'a.txt' })
  await use('run1', 'Write', { file_path: 'a.txt', content: 'second\n' })
  expect(await undone()).toEqual([])
  expect(read('a.txt')).toBe('first\n')
})

test('an undo that cannot restore a file leaves no draft of it', async () => {
  const { sh, cwd } = opened('folder')
  sh('echo a > a')
  await bash('rm a; mkdir a')
  const plan = await project?.files.plan({ kind: 'undo' })
  sh('echo mine > a/mine')
  if (plan === undefined) throw new Error('there is something to undo')
  expect(await project?.files.apply(plan)).toEqual([{ path: at('a'), why: expect.stringContaining('ENOTEMPTY') }])
  expect([readdirSync(cwd), readdirSync(at('a'))]).toEqual([['a'], ['mine']])
})

test('a background command is covered like any other', async () => {
  const { use, folder } = opened('folder')
  await use('run1', 'Bash', { command: `: ${'x'.repeat(5_000)}`, run_in_background: true })
  expect(readFileSync(join(folder, 'changes.jsonl'), 'utf8').length).toBeLessThan(1_500)
})

describe('git', () => {
  test.each(['bin', '', '.', './bin'])(
    'is never taken from the project, to which %j on the path would lead',
    async (entry) => {
      const { cwd } = opened('git')
      mkdirSync(at('bin'))
      for (const name of ['git', 'bin/git'])
        writeFileSync(at(name), `#!/bin/sh\necho ran > "${cwd}/proof"\n`, { mode: 0o755 })
      const place = entry === 'bin' ? at('bin') : entry
      const found = await GitProject.of(cwd, { ...process.env, PATH: `${place}:${process.env['PATH']}` })
      expect([found === undefined, existsSync(at('proof'))]).toEqual([false, false])
      await GitProject.of(cwd, { PATH: place })
      expect(existsSync(at('proof'))).toBe(false)
    },
  )
})
