// Holds R-EWALL-2 to R-EWALL-5 of docs/spec, with real processes.
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { versionControlFolders } from '../../src/sandbox/folder-scan.ts'
import { controlFileGroups } from '../../src/control-files.ts'
import { means, type Place, place } from './support.ts'

function git(project: string, ...args: readonly string[]): string {
  const env = {
    ...process.env,
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@b',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@b',
  }
  return spawnSync('git', args, { cwd: project, encoding: 'utf8', env }).stdout
}

function repository(files: Readonly<Record<string, string>> = { 'a.txt': 'one\n' }): Place {
  const made = place()
  made.write(files)
  git(made.project, 'init', '-q')
  git(made.project, 'add', '.')
  git(made.project, 'commit', '-qm', 'one')
  return made
}

const identity = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@b', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@b' }

describe.skipIf(means === undefined)('a control file', () => {
  const folderNames = Object.values(controlFileGroups.folders).flatMap((names) => names.split(' '))
  const fileNames = Object.values(controlFileGroups.files).flatMap((names) => names.split(' '))
  // In these folders only the control files are protected.
  const partly = ['.aws', '.kube', '.gnupg', '.docker', '.cargo', '.bundle']

  test('remains unchanged under every listed name', async () => {
    const { write, run, project } = place()
    const folders = folderNames.filter((name) => !partly.includes(name) && !name.includes('/'))
    write(
      Object.fromEntries([...folders.map((name) => [`${name}/x`, 'mine']), ...fileNames.map((name) => [name, 'mine'])]),
    )
    const names = [...folders.map((name) => `${name}/x`), ...fileNames]
    await run(
      names.map((name) => `echo evil > '${name}'; rm -f '${name}'; mv evil '${name}'`).join('\n') +
        folders.map((name) => `\nrm -rf '${name}'; mv '${name}' gone; touch '${name}/new'`).join(''),
    )
    const changed = names.filter(
      (name) => !existsSync(join(project, name)) || readFileSync(join(project, name), 'utf8') !== 'mine',
    )
    expect(changed).toEqual([])
    expect(folders.filter((name) => existsSync(join(project, name, 'new')))).toEqual([])
  })

  test('is moved aside under every listed name if a command created it', async () => {
    const { run, project } = place()
    const folders = folderNames.filter((name) => !partly.includes(name))
    const { aftermath } = await run(
      folders.map((name) => `mkdir -p '${name}'; echo evil > '${name}/x'`).join('\n') +
        fileNames.map((name) => `\necho evil > '${name}'`).join('') +
        '\nmkdir .cargo .bundle; echo x > .cargo/config.toml; echo x > .bundle/config',
    )
    const made = [...folders, ...fileNames, '.cargo/config.toml', '.bundle/config']
    expect(made.filter((name) => existsSync(join(project, name)))).toEqual([])
    expect(aftermath.takenBack.map(({ path }) => path).toSorted()).toEqual(
      made.map((name) => join(project, name)).toSorted(),
    )
    for (const { movedTo } of aftermath.takenBack) expect(existsSync(movedTo)).toBe(true)
  })

  test('leaves no placeholders behind', async () => {
    const { run, project } = repository()
    const { output } = await run('ls -A; git status --porcelain --ignored')
    expect(output).toBe('.git\na.txt\n')
    expect(spawnSync('ls', ['-A'], { cwd: project, encoding: 'utf8' }).stdout).toBe('.git\na.txt\n')
  })

  test('is found in existing and in new folders', async () => {
    const { write, run, project } = place()
    write({ 'sub/deep/.envrc': 'mine', 'sub/a': '' })
    const { aftermath } = await run(
      'echo evil > sub/deep/.envrc; mkdir -p sub/.vscode new/one/two/.claude; echo x > new/.npmrc; git init -q new/repository',
    )
    expect(readFileSync(join(project, 'sub/deep/.envrc'), 'utf8')).toBe('mine')
    expect(aftermath.takenBack.map(({ path }) => path.slice(project.length + 1)).toSorted()).toEqual([
      'new/.npmrc',
      'new/one/two/.claude',
      'new/repository/.git',
      'sub/.vscode',
    ])
  })

  test('of CI services counts at the root only', async () => {
    const { run } = place()
    const { aftermath } = await run(
      'mkdir -p vendor/x/.github/workflows; touch vendor/x/.travis.yml vendor/x/Jenkinsfile',
    )
    expect(aftermath.takenBack).toEqual([])
  })

  test('is neither created nor lost by moving folders above it', async () => {
    const { write, run, project } = place()
    write({ 'sub/.vscode/settings.json': 'mine', 'other/.envrc': 'mine', 'plain/x': '1' })
    const { aftermath } = await run(
      'mv sub sub2; mkdir -p sub/.vscode; echo evil > sub/.vscode/settings.json; ' +
        'mv plain .idea; mv other .husky; echo evil > sub2/.vscode/settings.json; rm -rf sub2',
    )
    expect(readFileSync(join(project, 'sub2/.vscode/settings.json'), 'utf8')).toBe('mine')
    expect(existsSync(join(project, 'sub/.vscode'))).toBe(false)
    expect(aftermath.takenBack.map(({ path }) => path.slice(project.length + 1)).toSorted()).toEqual([
      '.husky',
      '.idea',
      'sub/.vscode',
    ])
  })

  test('may be a link, which remains and whose target is protected', async () => {
    const { write, run, project } = place()
    write({ 'shared/claude/settings.json': 'mine', 'ci/hooks/pre-commit': 'mine' })
    symlinkSync('shared/claude', join(project, '.claude'))
    symlinkSync('ci/hooks', join(project, '.husky'))
    const { aftermath } = await run(
      'echo evil > .claude/settings.json; echo evil > shared/claude/settings.json; ' +
        'rm .claude; mkdir .claude; echo evil > .claude/settings.json; rm .husky; mv ci ci2; mkdir -p ci/hooks; echo evil > ci/hooks/pre-commit',
    )
    expect(readlinkSync(join(project, '.claude'))).toBe('shared/claude')
    expect(readlinkSync(join(project, '.husky'))).toBe('ci/hooks')
    expect(readFileSync(join(project, '.claude/settings.json'), 'utf8')).toBe('mine')
    expect(aftermath.takenBack.map(({ path }) => path)).toContain(join(project, '.claude'))
  })

  test('cannot be replaced by renaming a folder above the target of its link', async () => {
    const { write, run, project } = place()
    write({ 'ci/hooks/pre-commit': 'mine' })
    symlinkSync('ci/hooks', join(project, '.husky'))
    await run('mv ci ci2; mkdir -p ci/hooks; echo evil > ci/hooks/pre-commit')
    expect(existsSync(join(project, '.husky/pre-commit'))).toBe(false)
  })

  test('cannot be written through links, hard links, mounts or permissions', async () => {
    const { write, run, project } = place()
    write({ '.envrc': 'mine', '.vscode/tasks.json': 'mine' })
    const { output } = await run(
      'ln .envrc hard && echo evil > hard; ln -s .envrc soft && echo evil > soft; chmod 666 .envrc && echo changed; ' +
        'cp --remove-destination /dev/null .envrc; truncate -s 0 .envrc; unshare -rm true && echo unshared; ' +
        'mount --bind /tmp .vscode && echo mounted; umount .vscode && echo unmounted; mount -o remount,rw .vscode && echo remounted; ' +
        "python3 -c \"import os; os.rename('.vscode', 'x')\"",
    )
    expect(readFileSync(join(project, '.envrc'), 'utf8')).toBe('mine')
    expect(readFileSync(join(project, '.vscode/tasks.json'), 'utf8')).toBe('mine')
    expect(output).not.toMatch(/^(?:changed|unshared|mounted|unmounted|remounted)$/m)
  })

  test('cannot become a set-user-ID program', async () => {
    const { run, project } = place()
    const lines = [
      'touch a && chmod 4755 a',
      'touch b && chmod u+s b',
      `perl -e 'sysopen(F, "c", 0101, 04755) or die "$!"'`,
      `perl -e 'open(F, ">", "d"); chmod(04711, *F) or die "$!"'`,
      'mkfifo -m 4666 e',
      'cp /usr/bin/true f && install -m 4755 f g',
    ]
    for (const line of lines) expect([line, (await run(line)).exitCode]).not.toEqual([line, 0])
    const fine = await run(
      'touch h && chmod 755 h && mkdir -m 2775 i && chmod g+s i && mkfifo j && cp -a h k && echo x > l',
    )
    expect([fine.exitCode, fine.output]).toEqual([0, ''])
    for (const name of readdirSync(project))
      expect([name, statSync(join(project, name)).mode & 0o4000]).toEqual([name, 0])
  })

  test('is moved aside even if the command removed permissions', async () => {
    const { run, project } = place()
    await run('mkdir -p sub/.vscode; echo evil > sub/.vscode/x; chmod 0 sub/.vscode; chmod 555 sub')
    expect(existsSync(join(project, 'sub/.vscode'))).toBe(false)
  })

  test('cannot be changed by a process after its command has ended', async () => {
    const { run, project } = place()
    await run('(setsid nohup bash -c "sleep 0.3; mkdir .vscode; touch late" >/dev/null 2>&1 &)')
    await new Promise((resolve) => setTimeout(resolve, 600))
    expect(existsSync(join(project, '.vscode')) || existsSync(join(project, 'late'))).toBe(false)
  })

  test('is found in an existing folder in spite of many new ones', async () => {
    const { write, run, project } = place()
    write({ 'a/b/c/d/x': '' })
    const { aftermath } = await run('mkdir -p z{1..30}/y{1..60}; mkdir a/b/c/d/.vscode')
    expect(aftermath.takenBack.map(({ path }) => path)).toEqual([join(project, 'a/b/c/d/.vscode')])
  })

  test('is found next to names that are not UTF-8', async () => {
    const { run, project } = place()
    const { aftermath } = await run("mkdir -p $'odd\\xff/deep/.vscode'; mkdir $'fine\\xfe'")
    expect(aftermath.takenBack).toHaveLength(1)
    expect(spawnSync('ls', ['-b'], { cwd: project, encoding: 'utf8' }).stdout).toBe('fine\\376\n')
    await run('true')
    mkdirSync(join(project, 'x'))
    spawnSync('bash', ['-c', "mkdir -p $'odd\\xff/.vscode'"], { cwd: project })
    await expect(async () => run('true')).rejects.toThrow(/not UTF-8.*Rename it/)
  })

  test('that existed before the command is never moved, whatever program wrote it', async () => {
    const { run, project, write } = place()
    write({ '.vscode/x': 'mine', 'sub/.claude/y': 'mine' })
    expect((await run('true')).aftermath.takenBack).toEqual([])
    write({ '.idea/x': 'made between', 'sub/.envrc': 'made between' })
    expect((await run('echo > fine')).aftermath.takenBack).toEqual([])
    expect(readFileSync(join(project, 'sub/.envrc'), 'utf8')).toBe('made between')
  })

  test('below the scanned depth is not moved either, unless a command created it', async () => {
    const { run, project, write } = place()
    write(Object.fromEntries(Array.from({ length: 1_300 }, (_, at) => [`d${at}/x`, ''])))
    write({ 'd999/.git/HEAD': 'mine', 'd998/.envrc': 'mine', 'd1298/.envrc': 'mine' })
    const names = readdirSync(project).filter((name) => !existsSync(join(project, name, '.git')))
    const { aftermath } = await run('touch d*/y d999/.git/index.lock; mkdir d{0..1299}/.vscode 2>/dev/null; true')
    expect(aftermath.takenBack.map(({ path }) => path).filter((path) => !path.endsWith('/.vscode'))).toEqual([])
    expect(names.filter((name) => existsSync(join(project, name, '.vscode')))).toEqual([])
    expect(readFileSync(join(project, 'd1298/.envrc'), 'utf8')).toBe('mine')
    expect(existsSync(join(project, 'd999/.git/HEAD'))).toBe(true)
  })

  test('is not the store behind hard-linked packages, which are read-only except for their caches', async () => {
    const { run, project, home, write } = place()
    const ownCopy = 'npm/node_modules/d/package.json'
    const linked = [
      'pnpm/node_modules/.pnpm/a@1/node_modules/a/package.json',
      'bun/node_modules/@x/b/package.json',
      'uv/.venv/lib/python3.11/site-packages/c.dist-info/METADATA',
    ]
    write(Object.fromEntries([...linked, ownCopy, 'bun/node_modules/.cache/x'].map((name) => [name, 'mine'])))
    linked.forEach((name, at) => linkSync(join(project, name), join(home, String(at))))
    await run([...linked, ownCopy, 'bun/node_modules/.cache/x'].map((name) => `echo written > '${name}'`).join('; '))
    expect(linked.map((_, at) => readFileSync(join(home, String(at)), 'utf8'))).toEqual(['mine', 'mine', 'mine'])
    expect(readFileSync(join(project, ownCopy), 'utf8')).toBe('written\n')
    expect(readFileSync(join(project, 'bun/node_modules/.cache/x'), 'utf8')).toBe('written\n')
  })

  test('is not lost between concurrent commands', async () => {
    const { run, project } = place()
    const slow = run('mkdir .vscode; sleep 0.6; mkdir .idea')
    const quick = run('sleep 0.2; mkdir .claude')
    const all = (await Promise.all([slow, quick])).flatMap(({ aftermath }) =>
      aftermath.takenBack.map(({ path }) => path.slice(project.length + 1)),
    )
    expect(all.toSorted()).toEqual(['.claude', '.idea', '.vscode'])
    expect(['.vscode', '.idea', '.claude'].filter((name) => existsSync(join(project, name)))).toEqual([])
  })
})

describe.skipIf(means === undefined)('repositories', () => {
  test('are read-only as a whole, so that git commands fail before they change a file', async () => {
    const { run, project, write } = repository()
    write({ 'a.txt': 'changed\n' })
    for (const line of [
      'git stash',
      'git checkout .',
      'git reset --hard',
      'git commit -qam two',
      'git clean -fdx .git',
      'git config x.y z',
      'git branch b',
    ]) {
      const { exitCode } = await run(line, { env: identity })
      expect([line, exitCode === 0 && !line.includes('clean')]).toEqual([line, false])
      expect(readFileSync(join(project, 'a.txt'), 'utf8')).toBe('changed\n')
    }
    expect(git(project, 'log', '--oneline').trim().split('\n')).toHaveLength(1)
    const { output, exitCode } = await run('git status --porcelain; git diff --stat; git log --format=%s')
    expect([output, exitCode]).toEqual([
      ' M a.txt\n a.txt | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)\none\n',
      0,
    ])
  })

  test('are writable for git commands that change only the index and the history', async () => {
    const { run, project, write } = repository()
    write({ 'a.txt': 'changed\n' })
    const { exitCode, output, aftermath } = await run('git add -A && git commit -qm two', {
      env: identity,
      writesGit: true,
    })
    expect([output, exitCode, aftermath.takenBack]).toEqual(['', 0, []])
    expect(git(project, 'log', '--format=%s')).toBe('two\none\n')
    expect(existsSync(join(project, '.git/commondir'))).toBe(false)
    expect(git(project, 'status', '--porcelain', '--ignored')).toBe('')
  })

  test('are not maintained in the background after a commit, as that would end with the command', async () => {
    const { run, project, write } = repository()
    git(project, 'config', 'gc.auto', '1')
    // git estimates the number of objects from one folder.
    for (const digit of [1, 2, 3]) write({ [`.git/objects/17/${String(digit).repeat(38)}`]: '' })
    const isOfCleaning = (name: string): boolean => /^gc\.|\.lock$|^pack$/.test(name)
    const left = (): readonly string[] => [
      ...readdirSync(join(project, '.git')).filter(isOfCleaning),
      ...readdirSync(join(project, '.git/objects/pack')),
    ]
    write({ 'a.txt': 'changed\n' })
    for (const env of [
      identity,
      { ...identity, GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'a.b', GIT_CONFIG_VALUE_0: 'c' },
    ]) {
      const line = 'git commit -qam two --allow-empty && git config a.b'
      expect(await run(line, { env, writesGit: true })).toMatchObject({
        output: 'GIT_CONFIG_COUNT' in env ? 'c\n' : '',
      })
      expect(left()).toEqual([])
    }
    git(project, 'commit', '--allow-empty', '-qm', 'three')
    expect(git(project, 'log', '--format=%s')).toBe('three\ntwo\ntwo\none\n')
  })

  test('keep their control files even while they are writable', async () => {
    const { run, project } = repository()
    const before = readFileSync(join(project, '.git/config'), 'utf8')
    await run(
      'echo evil > .git/hooks/pre-commit; echo evil >> .git/config; git config x.y z; echo ../evil > .git/commondir; echo x > .git/config.worktree; ' +
        'mv .git .git2; mkdir -p .git/hooks; echo evil > .git/config; mv .git/hooks .git/h2; rm -rf .git/hooks; echo evil > .git/hooks',
      { writesGit: true },
    )
    expect(readFileSync(join(project, '.git/config'), 'utf8')).toBe(before)
    expect(existsSync(join(project, '.git/hooks/pre-commit'))).toBe(false)
    expect(existsSync(join(project, '.git/commondir'))).toBe(false)
    expect(git(project, 'log', '--format=%s')).toBe('one\n')
  })

  test('have hooks and settings in the project protected if their settings name them', async () => {
    const { run, project } = repository({ 'tools/hooks/pre-commit': 'mine', 'more.config': '' })
    git(project, 'config', 'core.hooksPath', 'tools/hooks')
    git(project, 'config', 'include.path', '../more.config')
    git(project, 'config', '--add', 'include.path', '../later.config')
    const { aftermath } = await run(
      'echo evil > tools/hooks/pre-commit; echo evil > more.config; echo evil > later.config',
    )
    expect(readFileSync(join(project, 'tools/hooks/pre-commit'), 'utf8')).toBe('mine')
    expect(readFileSync(join(project, 'more.config'), 'utf8')).toBe('')
    expect(aftermath.takenBack.map(({ path }) => path)).toEqual([join(project, 'later.config')])
  })

  test('of submodules and linked work trees are protected and readable', async () => {
    const { run, project, write } = repository()
    git(project, 'worktree', 'add', '-q', 'tree')
    const inner = repository()
    git(project, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner.project, 'module')
    write({ 'tree/a.txt': 'changed\n', 'module/a.txt': 'changed\n' })
    const { output } = await run(
      'git -C tree status --porcelain; git -C module status --porcelain; git -C tree stash; git -C module stash; echo x > tree/.git; echo x > module/.git',
    )
    expect(output).toMatch(/^ M a\.txt\n M a\.txt\n/)
    expect(readFileSync(join(project, 'tree/a.txt'), 'utf8')).toBe('changed\n')
    expect(readFileSync(join(project, 'module/a.txt'), 'utf8')).toBe('changed\n')
  })

  test('of others, to which a .git file leads, are not readable', async () => {
    const outer = repository()
    git(outer.project, 'commit', '-q', '--allow-empty', '-m', 'S3CRET')
    const [byCommon, byFile, byBoth] = [repository(), place(), place()]
    byCommon.write({ '.git/commondir': `${outer.project}/.git\n` })
    byFile.write({ '.git': `gitdir: ${outer.project}/.git\n` })
    byBoth.write({
      '.git': 'gitdir: gd\n',
      'gd/HEAD': 'ref: refs/heads/main\n',
      'gd/commondir': `${outer.project}/.git\n`,
      'gd/gitdir': `${byBoth.project}/.git\n`,
    })
    for (const { run } of [byCommon, byFile, byBoth]) {
      const { output } = await run('git log; git log --all; git branch -v; true')
      expect(output).not.toContain('S3CRET')
    }
  })

  test('around a directory are visible but not writable', async () => {
    const { run, project, write } = repository({ 'sub/a.txt': 'one\n', 'other.txt': 'one\n' })
    write({ 'sub/a.txt': 'two\n' })
    const { output } = await run(
      'cd sub; git status --porcelain; echo x > ../other.txt; git add -A; echo x >> ../.git/config',
      { directories: [join(project, 'sub')] },
    )
    expect(output).toMatch(/^ M sub\/a\.txt\n/)
    expect(readFileSync(join(project, 'other.txt'), 'utf8')).toBe('one\n')
    expect(git(project, 'diff', '--cached', '--name-only')).toBe('')
  })

  test('cannot be created by turning the project itself into one', async () => {
    const { run, project } = place()
    const { aftermath } = await run(
      'git init -q --bare . ; git config core.fsmonitor evil; git init -q --bare sub; echo x > commondir',
    )
    expect(aftermath.takenBack.map(({ path }) => path.slice(project.length + 1)).toSorted()).toEqual([
      'HEAD',
      'commondir',
      'sub/HEAD',
    ])
    expect(git(project, 'config', 'core.fsmonitor')).toBe('')
  })

  test.each(versionControlFolders.filter((name) => name !== '.git'))('%s is read-only as a whole', async (name) => {
    const { run, project, write } = place()
    write({ [`${name}/store/data`]: 'mine' })
    await run(`echo evil > ${name}/store/data; touch ${name}/new`)
    expect(readFileSync(join(project, name, 'store/data'), 'utf8')).toBe('mine')
    expect(existsSync(join(project, name, 'new'))).toBe(false)
  })
})
