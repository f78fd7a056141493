// What a command in the sandbox would have git or this program obey later, outside (spec R-BOX-1, R-BOX-9).
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { createBashTool, Workspace } from '@halting/agent'
import { openSandbox } from '@halting/agent/sandbox'
import { sandboxSettingsOf } from '@halting/policy'
import { describe, expect, onTestFinished, test } from 'vitest'
import { runTool } from '../support/harness.ts'
import { contentOf, environmentIn, folderInSight, isBubblewrapThere, makeWorld, shellIn } from './world.ts'

function git(cwd: string, ...args: string[]): string {
  const given = ['protocol.file.allow=always', 'user.name=a', 'user.email=a@b'].flatMap((value) => ['-c', value])
  return execFileSync('git', [...given, ...args], { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

/** Settings that make git run a program when it inspects the files. */
function evil(project: string, proof: string): string {
  const lines = ['[core]', 'repositoryformatversion = 0', 'bare = false', `worktree = ${project}`]
  return [...lines, `fsmonitor = "touch ${proof}; false"`].join('\\n')
}

/** Which of the files a command in the sandbox could write. */
async function written(run: (command: string) => Promise<{ text: string }>, files: readonly string[]): Promise<string> {
  const tries = files.map((file, at) => `(echo x >> '${file}') 2>/dev/null && echo ${at}`)
  return (await run(`${tries.join('\n')}\ntrue`)).text
}

describe.skipIf(!isBubblewrapThere)('Files that are obeyed later stay unchanged (needs bubblewrap)', () => {
  test('a bwrap that a command puts on the path has no effect', async () => {
    const world = await makeWorld()
    const bin = join(world.project, 'node_modules/.bin')
    mkdirSync(bin, { recursive: true })
    const before = process.env['PATH']
    process.env['PATH'] = `${bin}:${before}`
    onTestFinished(() => {
      process.env['PATH'] = before
    })
    const workspace = new Workspace({ cwd: world.project, env: environmentIn(world) })
    onTestFinished(() => workspace.dispose())
    const { project, home } = world
    const settings = sandboxSettingsOf([{ enabled: true }])
    workspace.sandbox = await openSandbox({ cwd: project, directories: [project], home, settings })
    const bash = createBashTool(workspace)
    const script = `printf '#!/bin/sh\\necho x > "${world.outside}/proof"\\n' > node_modules/.bin/bwrap`
    await runTool(bash, { command: `${script}; chmod +x node_modules/.bin/bwrap` })
    expect((await runTool(bash, { command: 'echo held' })).text).toBe('held')
    expect(existsSync(join(world.outside, 'proof'))).toBe(false)
    await expect(openSandbox({ cwd: bin, directories: [bin], home, settings })).resolves.toBeDefined()
    process.env['PATH'] = bin
    await expect(openSandbox({ cwd: project, directories: [project], home, settings })).rejects.toThrow(
      /in a folder that commands can write/,
    )
  })

  test("the project's own folder does not become a repository next to a broken .git", async () => {
    const world = await makeWorld()
    const proof = join(world.outside, 'proof')
    const plant = `rm .git/HEAD; echo 'ref: refs/heads/main' > HEAD; mkdir objects refs; printf '${evil(world.project, proof)}' > config`
    const free = await shellIn(world, 'free')
    await free.run(plant)
    git(world.project, 'status')
    expect(existsSync(proof)).toBe(true)
    await free.run(`rm -rf HEAD objects refs config ${proof}; echo 'ref: refs/heads/main' > .git/HEAD`)
    const { run, workspace } = await shellIn(world, 'held')
    const bash = createBashTool(workspace)
    await runTool(bash, { command: `${plant}; sleep 60`, run_in_background: true })
    await until(() => existsSync(join(world.project, 'config')))
    // While it runs, and after another command has ended.
    expect(() => git(world.project, 'status')).toThrow(/fatal/)
    await run('true')
    await workspace.dispose()
    expect(() => git(world.project, 'status')).toThrow(/not a git repository/)
    expect(existsSync(proof)).toBe(false)
    expect(existsSync(join(world.project, 'commondir'))).toBe(false)
  })

  test('a missing file that would be obeyed later cannot be created, and nothing is left in its place', async () => {
    const world = await makeWorld()
    const kept = ['.envrc', '.gitlab-ci.yml', '.husky/pre-commit', '.github/workflows/evil.yml']
    const plant = `mkdir -p .husky .github/workflows; ${kept.map((name) => `echo x > ${name}`).join('; ')}`
    const free = await shellIn(world, 'free')
    await free.run(plant)
    expect(kept.filter((name) => existsSync(join(world.project, name)))).toEqual(kept)
    await free.run('rm -rf .envrc .gitlab-ci.yml .husky .github')
    const { run } = await shellIn(world, 'held')
    const around = 'mv .github x; mkdir -p .github/workflows; echo x > .github/workflows/evil.yml; rm -rf .envrc .husky'
    expect(
      (await run(`(${plant}; ${around}; ${plant}) 2>/dev/null; git status --porcelain | grep -e 'git' -e env`)).text,
    ).not.toMatch(/\.(?:github|envrc)/)
    expect(readdirSync(world.project).filter((name) => /^(?:\.envrc|\.gitlab|\.husky|\.github|x$)/.test(name))).toEqual(
      [],
    )
    // Other files in the workflows folder may be written by commands.
    await run('echo x > .github/CODEOWNERS')
    expect(readdirSync(join(world.project, '.github'))).toEqual(['CODEOWNERS'])
    await run(plant)
    expect(readdirSync(join(world.project, '.github'))).toEqual(['CODEOWNERS'])
  })

  test('a link in place of the workflows folder prevents no command from running', async () => {
    const world = await makeWorld()
    symlinkSync('packages', join(world.project, '.github'))
    expect((await (await shellIn(world, 'held')).run('echo held')).text).toBe('held')
  })

  test('a file that cannot be prevented is reported once it exists, and is read-only from then on', async () => {
    const { project, home } = await makeWorld()
    const made: string[] = []
    const workspace = new Workspace({ cwd: project, env: { PATH: process.env['PATH'] } })
    onTestFinished(() => workspace.dispose())
    const settings = sandboxSettingsOf([{ enabled: true }])
    const onMade = (path: string): void => void made.push(path)
    workspace.sandbox = await openSandbox({ cwd: project, directories: [project], home, settings, onMade })
    const bash = createBashTool(workspace)
    await runTool(bash, { command: 'echo harmless > other; cat .npmrc 2>/dev/null; true' })
    expect(made).toEqual([])
    await runTool(bash, { command: 'echo script-shell=./evil > .npmrc; echo x > .yarnrc.yml' })
    expect(made).toEqual([join(project, '.npmrc'), join(project, '.yarnrc.yml')])
    expect((await runTool(bash, { command: 'echo more >> .npmrc' })).text).toMatch(/Read-only file system/)
    expect(made).toHaveLength(2)
  })

  test('files that other tools obey are read-only, and reported when created', async () => {
    const { project, home } = await makeWorld()
    const shut = [
      '.cursor/mcp.json',
      '.codex/config.toml',
      '.gemini/settings.json',
      '.zed/settings.json',
      'opencode.json',
    ]
    shut.push(
      '.devcontainer.json',
      '.lfsconfig',
      '.vimrc',
      '.gdbinit',
      '.yarn/releases/yarn.cjs',
      '.pnp.cjs',
      '.cargo/config.toml',
    )
    const open = [
      '.cargo/registry/x',
      '.hg/store/x',
      '.yarn/cache/x',
      '.docker/x',
      '.github/CODEOWNERS',
      'src/.vimrc.ts',
    ]
    for (const file of [...shut, ...open, '.hg/hgrc']) {
      mkdirSync(dirname(join(project, file)), { recursive: true })
      writeFileSync(join(project, file), '')
    }
    const made: string[] = []
    const workspace = new Workspace({ cwd: project, env: { PATH: process.env['PATH'] } })
    onTestFinished(() => workspace.dispose())
    const settings = sandboxSettingsOf([{ enabled: true }])
    const onMade = (path: string): void => void made.push(path)
    workspace.sandbox = await openSandbox({ cwd: project, directories: [project], home, settings, onMade })
    const bash = createBashTool(workspace)
    const run = (command: string): Promise<{ text: string }> => runTool(bash, { command })
    expect(await written(run, [...shut, '.hg/hgrc'])).toBe('(no output)')
    expect((await written(run, open)).split('\n')).toEqual(open.map((_, at) => String(at)))
    // No folder above is removed with them in it.
    expect((await run('mv .yarn x 2>/dev/null || mv .cargo y 2>/dev/null || echo no')).text).toBe('no')
    expect(made).toEqual([])
    await run('mkdir .windsurf .roo; echo x > .windsurf/hooks.json; echo x > sitecustomize.py; mkdir -p .yarn/plugins')
    expect(made.toSorted()).toEqual(
      ['.roo', '.windsurf', '.yarn/plugins', 'sitecustomize.py'].map((name) => join(project, name)),
    )
  })

  test('another config through commondir never exists', async () => {
    const world = await makeWorld()
    const proof = join(world.outside, 'proof')
    const plant = `mkdir evil; cp -r .git/objects .git/refs evil; printf '${evil(world.project, proof)}' > evil/config; echo ../evil > .git/commondir`
    const { workspace } = await shellIn(world, 'held')
    const started = `${plant}; touch done; sleep 60`
    await runTool(createBashTool(workspace), { command: started, run_in_background: true })
    await until(() => existsSync(join(world.project, 'done')))
    expect(git(world.project, 'status')).toContain('Untracked')
    expect(existsSync(proof)).toBe(false)
    await workspace.dispose()
    await until(() => !existsSync(join(world.project, '.git/commondir')))
  })

  test('submodules, whatever their name, and worktrees', async () => {
    const world = await makeWorld()
    const { project, outside } = world
    git(outside, 'init', '-q', 'm')
    for (const folder of [join(outside, 'm'), project]) git(folder, 'commit', '-q', '--allow-empty', '-m', 'x')
    git(project, 'submodule', 'add', '-q', join(outside, 'm'), 'vendor/lib')
    git(project, 'worktree', 'add', '-q', join(outside, 'tree'))
    git(project, 'config', 'extensions.worktreeConfig', 'true')
    const { run } = await shellIn(world, 'held')
    const names = ['modules/vendor/lib/config', 'modules/vendor/lib/hooks/post-checkout', 'config.worktree']
    const trees = ['worktrees/tree/commondir', 'worktrees/tree/config.worktree', 'worktrees/tree/gitdir']
    expect(
      await written(
        run,
        [...names, ...trees].map((name) => `.git/${name}`),
      ),
    ).toBe('(no output)')
    // Work continues in all of them.
    const commit = 'git -c user.name=a -c user.email=a@b commit -q --allow-empty -m y'
    const work = `${commit} && git -C vendor/lib status -s && git -C vendor/lib checkout -q -b z && git submodule status && git stash list && git worktree list | wc -l`
    const { text, isError } = await run(work)
    expect({ text, isError }).toMatchObject({ isError: false, text: expect.stringMatching(/vendor\/lib.*\n2$/s) })
    expect(readdirSync(join(project, '.git')).filter((name) => /commondir|worktree$/.test(name))).toEqual([])
  })

  test('a git folder that settings open, and one next to the file that leads to it', async () => {
    const world = await makeWorld()
    const { project, outside } = world
    git(outside, 'init', '-q', 'm')
    const main = join(outside, 'm/.git')
    const opened = await shellIn(world, 'held', { filesystem: { allowWrite: [main] } })
    const both = (folder: string): readonly string[] => ['config', 'hooks/pre-commit'].map((name) => join(folder, name))
    expect(await written(opened.run, [...both(main), join(main, 'description')])).toBe('2')
    git(project, 'init', '-q', '--separate-git-dir', join(project, 'packages/one/store'), 'packages/one')
    git(project, 'init', '-q', '--bare', 'packages/b.git')
    const { run } = await shellIn(world, 'held')
    const folders = ['packages/one/store', 'packages/b.git'].map((name) => join(project, name))
    expect(await written(run, folders.flatMap(both))).toBe('(no output)')
  })

  test('this program and its ripgrep, if they are installed in the project', async () => {
    const root = realpathSync(new URL('../../../..', import.meta.url).pathname)
    const home = folderInSight()
    const settings = sandboxSettingsOf([{ enabled: true }])
    const sandbox = await openSandbox({ cwd: root, directories: [root], home, settings })
    onTestFinished(() => sandbox.dispose())
    const { rgPath } = await import('@vscode/ripgrep')
    const { readOnly, pinned } = sandbox.describe('project').description
    const isIn = (path: string): boolean => realpathSync(rgPath).startsWith(`${path}/`)
    expect(readOnly.filter(({ path }) => isIn(path))).toHaveLength(1)
    expect(pinned).toContain(join(root, 'node_modules'))
  })

  test('hooks and settings in the project that the repository names', async () => {
    const world = await makeWorld()
    const { project } = world
    mkdirSync(join(project, 'scripts/hooks'), { recursive: true })
    writeFileSync(join(project, 'shared.cfg'), '[include]\n\tpath = more.cfg\n')
    git(project, 'config', 'core.hooksPath', 'scripts/hooks')
    git(project, 'config', 'include.path', '../shared.cfg')
    const { run } = await shellIn(world, 'held')
    const files = ['scripts/hooks/pre-commit', 'shared.cfg', 'more.cfg', 'scripts/free']
    expect(await written(run, files)).toBe('3')
    expect((await run('mv scripts s && mkdir scripts')).isError).toBe(true)
    expect(contentOf(join(project, 'more.cfg'))).toBeUndefined()
  })
})

async function until(isTrue: () => boolean): Promise<void> {
  for (let left = 200; left > 0 && !isTrue(); left -= 1) await wait(25)
  expect(isTrue()).toBe(true)
}
