// Holds rules of docs/spec: R-UNDO-1, R-UNDO-2, R-UNDO-2a, R-UNDO-3, R-UNDO-4a, R-UNDO-4b, R-UNDO-7: what is no plain text in a plain folder.
import { execFileSync } from 'node:child_process'
import { appendFileSync, chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { FileCheckpoints } from '@halting/agent'
import { openProject, type Project } from '../support/changed-project.ts'

let project: Project
const open = (...given: Parameters<typeof openProject>): Project => (project = openProject(...given))
afterEach(() => project.remove())

const at = (name: string): string => join(project.cwd, name)
const bash = (command: string): Promise<string> => project.use('run1', 'Bash', { command })

/** Reverts the last run; returns what was left unchanged. */
async function undo(): Promise<readonly string[]> {
  const plan = await project.files.plan({ kind: 'undo' })
  if (plan === undefined) return ['nothing']
  const left = [...plan.left, ...(await project.files.apply(plan))]
  return left.map(({ path, why }) => `${path.slice(project.cwd.length + 1)}: ${why}`)
}

test('the change log contains no keys of commands', async () => {
  open('folder', { redact: (text) => text.replaceAll('the-key-0123', '[REDACTED]') })
  await bash('echo the-key-0123 > a')
  await project.use('run1', 'Bash', { command: 'echo the-key-0123 > b', run_in_background: true })
  const log = readFileSync(join(project.folder, 'changes.jsonl'), 'utf8')
  expect(log).toContain('echo [REDACTED] > a')
  expect(log).toContain('(echo [REDACTED] > b)')
  expect(log).not.toContain('the-key-0123')
})

describe.each(['git', 'folder'] as const)('in a %s', (kind) => {
  test('restores binary files, modes, links, renames and deletions', async () => {
    open(kind)
    project.sh('head -c 5000 /dev/urandom > bin; echo a > a; ln -s a link; mkdir d; echo b > d/b; chmod 640 a')
    if (kind === 'git') project.sh('git add . && git commit -qm x')
    const before = project.tree()
    await bash(
      'head -c 9000 /dev/urandom > bin; chmod 755 a; ln -sfn bin link; mv d e; rm -f e/b; mkdir -p n/m; touch n/m/o',
    )
    expect(project.tree()).not.toEqual(before)
    expect(await undo()).toEqual([])
    expect([...project.tree()].filter(([path]) => path !== 'e')).toEqual([...before])
  })

  test.runIf(process.getuid?.() === 0)('preserves the owner of a restored file', async () => {
    open(kind)
    project.sh('echo old > a; chown 1234:1235 a')
    if (kind === 'git') project.sh('git add . && git commit -qm x')
    await bash('echo new > a')
    expect(await undo()).toEqual([])
    const { uid, gid } = statSync(at('a'))
    expect([readFileSync(at('a'), 'utf8'), uid, gid]).toEqual(['old\n', 1234, 1235])
  })

  test('keeps external changes made between the plan and the undo, which can be repeated later', async () => {
    open(kind)
    project.sh('echo old > a')
    if (kind === 'git') project.sh('git add . && git commit -qm x')
    await bash('echo new > a')
    const plan = await project.files.plan({ kind: 'undo' })
    if (plan === undefined) throw new Error('there is a change')
    writeFileSync(at('a'), 'mine\n')
    expect(await project.files.apply(plan)).toEqual([
      { path: at('a'), why: 'it was changed outside of halting since then' },
    ])
    expect(await project.files.plan({ kind: 'redo' })).toBeUndefined()
    writeFileSync(at('a'), 'new\n')
    expect(await undo()).toEqual([])
    expect(readFileSync(at('a'), 'utf8')).toBe('old\n')
  })

  test('reports a file of a gigabyte as not stored, without spending time on it', async () => {
    open(kind)
    project.sh('truncate -s 1G large')
    const began = performance.now()
    await bash('truncate -s 1K large; echo x > small')
    expect(performance.now() - began).toBeLessThan(20_000)
    expect(await undo()).toEqual([
      expect.stringMatching(/^large: its earlier content was not saved: it is larger than/),
    ])
    expect([statSync(at('large')).size, existsSync(at('small'))]).toEqual([1024, false])
  })

  test('does not touch the target of a link', async () => {
    open(kind)
    const outside = join(project.folder, '../outside')
    execFileSync('mkdir', ['-p', outside])
    writeFileSync(join(outside, 'f'), 'outside')
    project.sh('mkdir d; echo inside > d/f')
    await bash('echo changed > d/f')
    // Someone puts a link in place of the folder.
    project.sh(`rm -r d; ln -s ${outside} d`)
    writeFileSync(join(outside, 'f'), 'changed\n')
    expect(await undo()).toEqual([`d/f: ${at('d')} is now a symbolic link`])
    expect(readFileSync(join(outside, 'f'), 'utf8')).toBe('changed\n')
  })

  test('reports a file that cannot be written, and restores the others', async () => {
    open(kind)
    project.sh('mkdir d; echo a > d/a; echo b > b')
    await bash('echo x > d/a; echo x > b')
    chmodSync(at('d'), 0o555)
    const left = await undo()
    chmodSync(at('d'), 0o755)
    // No mode stops root.
    expect(left.length).toBe(process.getuid?.() === 0 ? 0 : 1)
    expect(readFileSync(at('b'), 'utf8')).toBe('b\n')
  })

  test('covers changes of a command that fails or is interrupted', async () => {
    open(kind)
    project.sh('echo a > a')
    await bash('echo b > a; exit 3')
    await project.use('run1', 'Bash', { command: 'echo c > a; sleep 20', timeout: 300 })
    expect(await undo()).toEqual([])
    expect(readFileSync(at('a'), 'utf8')).toBe('a\n')
  })

  test('does not mistake parallel commands for external changes', async () => {
    open(kind)
    project.sh('echo a > a; echo b > b')
    await Promise.all([bash('sleep 0.2; echo 1 > a'), bash('sleep 0.1; echo 2 > b; sleep 0.3')])
    expect(await undo()).toEqual([])
    expect([readFileSync(at('a'), 'utf8'), readFileSync(at('b'), 'utf8')]).toEqual(['a\n', 'b\n'])
  })

  test('stores each change once when commands end at the same time', async () => {
    open(kind)
    project.sh('echo a > a; echo b > b')
    const checkpoints = new FileCheckpoints({ folder: project.folder, cwd: project.cwd })
    let written = 0
    let go = (): void => undefined
    const bothWrote = new Promise<void>((resolve) => (go = resolve))
    const running = ['a', 'b'].map((name) => {
      const call = { callId: name, toolName: 'Bash', idempotencyKey: `session/run1/tool:1:0:${name}` }
      return checkpoints.aroundCommand(call, name, () => {
        writeFileSync(at(name), 'new\n')
        if (++written === 2) go()
        return bothWrote
      })
    })
    await Promise.all(running)
    await checkpoints.dispose()
    expect(await undo()).toEqual([])
    expect([readFileSync(at('a'), 'utf8'), readFileSync(at('b'), 'utf8')]).toEqual(['a\n', 'b\n'])
  })
})

describe('a folder without git', () => {
  test('has limits, which are reported', async () => {
    open('folder', { limits: { files: 10 } })
    project.sh('for i in $(seq 30); do echo $i > f$i; done')
    await bash('echo new > made')
    const plan = await project.files.plan({ kind: 'rewind', first: 0 })
    expect([plan?.changes, plan?.unknown]).toEqual([[], [`more than 10 files are in ${project.cwd}`]])
  })

  test('is not inspected where other programs fill it', async () => {
    open('folder')
    project.sh('mkdir node_modules')
    await bash('echo x > node_modules/x')
    expect(await undo()).toEqual(['nothing'])
    expect(existsSync(at('node_modules/x'))).toBe(true)
  })
})

describe('a git repository', () => {
  test('is neither written nor locked, and runs no program that it names', async () => {
    open('git')
    project.sh('echo a > a; echo "*.f filter=evil" > .gitattributes; echo f > x.f; git add . && git commit -qm x')
    project.sh(
      `git config core.fsmonitor 'touch ${at('.git/ran')}'; git config filter.evil.clean 'touch ${at('.git/ran')}; cat'`,
    )
    project.sh(`git config filter.evil.smudge 'touch ${at('.git/ran')}; cat'; touch x.f`)
    const index = readFileSync(at('.git/index'))
    const { ino } = statSync(at('.git/index'))
    await bash('echo b > a; rm x.f')
    expect([statSync(at('.git/index')).ino, existsSync(at('.git/ran')), existsSync(at('.git/index.lock'))]).toEqual([
      ino,
      false,
      false,
    ])
    expect(readFileSync(at('.git/index'))).toEqual(index)
    expect(await undo()).toEqual([])
    expect([readFileSync(at('a'), 'utf8'), readFileSync(at('x.f'), 'utf8')]).toEqual(['a\n', 'f\n'])
  })

  test('that got a commit or another branch in the same command is restored', async () => {
    open('git')
    project.sh('echo a > a; git add . && git commit -qm x; git branch other; echo c > c; git add . && git commit -qm y')
    await bash('echo b > a; git commit -qam z')
    await bash('git checkout -q other')
    expect([readFileSync(at('a'), 'utf8'), existsSync(at('c'))]).toEqual(['a\n', false])
    expect(await undo()).toEqual([])
    expect([readFileSync(at('a'), 'utf8'), readFileSync(at('c'), 'utf8')]).toEqual(['a\n', 'c\n'])
  })

  test('whose files git converts at checkout reports them as not saved', async () => {
    open('git')
    project.sh(
      'echo "* text eol=crlf" > .gitattributes; printf "a\\r\\n" > a; git add . && git commit -qm x; git status',
    )
    await bash('printf "b\\r\\n" > a')
    expect(await undo()).toEqual([
      expect.stringMatching(/^a: its earlier content was not saved: it is converted by git/),
    ])
  })
})

describe('between storing and changing', () => {
  test('a crash leaves nothing to undo, and nothing wrong', async () => {
    open('folder')
    writeFileSync(at('a'), 'before')
    const checkpoints = new FileCheckpoints({ folder: project.folder, cwd: project.cwd })
    const call = { callId: 'c', toolName: 'Write', idempotencyKey: 's/run1/tool:1:0:c' }
    const next = { content: Buffer.from('after'), mode: 0o644 }
    const crash = checkpoints.around(call, at('a'), next, () => Promise.reject(new Error('crash')))
    await expect(crash).rejects.toThrow('crash')
    const plan = await project.files.plan({ kind: 'undo' })
    expect([plan?.changes, plan?.left]).toEqual([[], []])
  })

  test('a torn last line of the log is cut off', async () => {
    open('folder')
    await project.use('run1', 'Write', { file_path: 'a', content: 'x' })
    appendFileSync(join(project.folder, 'changes.jsonl'), '{"type":"cha')
    expect(await undo()).toEqual([])
    expect(existsSync(at('a'))).toBe(false)
    expect(await project.files.runs()).toEqual([])
  })

  test('changes of a subagent belong to the call that started it', async () => {
    open('folder')
    const checkpoints = new FileCheckpoints({ folder: project.folder, cwd: project.cwd })
    const idempotencyKey = 's/run2/agent:3:0:toolu_7/tool:1:0:toolu_9'
    const call = { callId: 'toolu_9', toolName: 'Write', idempotencyKey }
    await checkpoints.around(call, at('a'), { content: Buffer.from('x'), mode: undefined }, async () => {})
    expect(await project.files.records()).toMatchObject([{ type: 'change', run: 'run2', call: 'toolu_7' }])
  })

  test('a failing disk stops no run, and is reported once', async () => {
    const problems: string[] = []
    open('folder', { onProblem: (problem) => problems.push(problem) })
    execFileSync('mkdir', ['-p', join(project.folder, '..')])
    writeFileSync(project.folder, 'a file in its place')
    await project.use('run1', 'Write', { file_path: 'a', content: 'x' })
    await bash('echo y > b')
    expect([readFileSync(at('a'), 'utf8'), readFileSync(at('b'), 'utf8'), problems.length]).toEqual(['x', 'y\n', 1])
  })
})

test('reports changes of a background command as unknown', async () => {
  open('folder')
  await project.use('run1', 'Write', { file_path: 'a', content: 'x' })
  await project.use('run1', 'Bash', { command: 'echo b > b', run_in_background: true })
  const plan = await project.files.plan({ kind: 'undo' })
  expect(plan?.unknown).toEqual(['a command in the background (echo b > b) may have changed files'])
})
