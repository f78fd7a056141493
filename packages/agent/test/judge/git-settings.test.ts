// Holds R-RULE-7a, R-RULE-7f and R-RULE-7q of docs/spec: git that runs without a rule starts no program that a repository names, and prints no token of its settings.
import { execFileSync, spawnSync } from 'node:child_process'
import { createPermissions } from '@halting/policy'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { sampled } from '../support/deep.ts'
import { codingTools, temporaryFolder } from '../support/harness.ts'
import { judged } from '../../../policy/test/judge/support.ts'

const git = (cwd: string, ...args: readonly string[]): string => execFileSync('git', args, { cwd, encoding: 'utf8' })

/** Created once: creating a repository takes most of a test's time. */
const template = mkdtempSync(join(tmpdir(), 'halting-git-'))
afterAll(() => rmSync(template, { recursive: true, force: true }))
git(template, 'init', '-q')
git(template, 'config', 'user.email', 'a@example.org')
git(template, 'config', 'user.name', 'A')
writeFileSync(join(template, '.gitattributes'), '*.txt filter=f diff=d\n')
writeFileSync(join(template, 'a.txt'), 'one\n')
git(template, 'add', '.')
git(template, 'commit', '-qm', 'one')
writeFileSync(join(template, 'a.txt'), 'two\n')

/** A repository with a change, and a script that leaves a mark when something runs it. */
function repository(): { readonly cwd: string; readonly mark: string; readonly evil: string } {
  const cwd = temporaryFolder()
  const mark = join(temporaryFolder(), 'mark')
  const evil = join(temporaryFolder(), 'evil')
  writeFileSync(evil, `#!/bin/sh\ntouch ${mark}\ncat >/dev/null 2>&1 </dev/null\n`, { mode: 0o755 })
  cpSync(template, cwd, { recursive: true })
  return { cwd, mark, evil }
}

const lines = ['git status', 'git diff', 'git log -p', 'git show', 'git blame a.txt', 'git branch -a', 'git grep one']

const keys = [
  'core.fsmonitor',
  'core.hooksPath',
  'core.pager',
  'core.editor',
  'core.sshCommand',
  'core.askPass',
  'core.gitProxy',
  'core.alternateRefsCommand',
  'core.worktree',
  'core.attributesFile',
  'core.excludesFile',
  'diff.external',
  'diff.d.textconv',
  'diff.d.command',
  'diff.orderFile',
  'filter.f.clean',
  'filter.f.smudge',
  'filter.f.process',
  'gpg.program',
  'credential.helper',
  'alias.status',
  'pager.log',
  'pager.status',
  'sequence.editor',
  'include.path',
  'includeIf.gitdir:/.path',
  'log.showSignature',
  'merge.m.driver',
  'trailer.x.command',
  'interactive.diffFilter',
  'uploadpack.packObjectsHook',
  'remote.origin.uploadpack',
  'remote.origin.vcs',
  'blame.ignoreRevsFile',
  'mailmap.file',
  'submodule.recurse',
]

describe('a setting of the repository that names a program', () => {
  test.each(sampled(keys, { deep: 1, quick: 5 }))('%s: the command asks, or runs without it', async (key) => {
    const { cwd, mark, evil } = repository()
    git(cwd, 'config', key, evil)
    const { use } = codingTools({}, { cwd })
    const command = lines.filter((line) => judged(line, { cwd }) === 'allow').join('\n')
    if (command !== '') await use('Bash', { command })
    expect([key, command, existsSync(mark)]).toEqual([key, command, false])
  })

  test('does harm when git runs without protection', () => {
    const harmful = ['core.fsmonitor', 'diff.external', 'diff.d.textconv', 'diff.d.command', 'filter.f.clean'].filter(
      (key) => {
        const { cwd, mark, evil } = repository()
        git(cwd, 'config', key, evil)
        for (const line of lines) spawnSync('git', line.split(' ').slice(1), { cwd })
        return existsSync(mark)
      },
    )
    expect(harmful).toHaveLength(5)
  })

  test('is also found in a subfolder, a separate git folder, a work tree and a submodule', async () => {
    const { cwd, mark, evil } = repository()
    const inner = join(cwd, 'sub')
    mkdirSync(inner)
    git(inner, 'init', '-q')
    git(inner, 'config', 'user.email', 'a@example.org')
    git(inner, 'config', 'user.name', 'A')
    git(inner, 'commit', '-q', '--allow-empty', '-m', 'x')
    git(inner, 'config', 'core.fsmonitor', evil)
    expect(judged('git -C sub status', { cwd })).toBe('ask')
    expect(judged('cd sub && git status', { cwd })).toBe('ask')
    expect(judged('git status', { cwd })).toBe('allow')
    // A submodule is entered with an environment without our settings.
    git(cwd, 'add', 'sub')
    expect(judged('git status', { cwd })).toBe('ask')
    expect(judged('git log --oneline', { cwd })).toBe('allow')
    const { use } = codingTools({}, { cwd })
    await use('Bash', { command: 'git log --oneline' })
    expect(existsSync(mark)).toBe(false)
    spawnSync('git', ['status'], { cwd })
    expect(existsSync(mark)).toBe(true)
  })

  test('a folder that could be a bare repository asks', () => {
    const { cwd } = repository()
    const bare = join(cwd, 'innocent')
    mkdirSync(join(bare, 'objects'), { recursive: true })
    mkdirSync(join(bare, 'refs'))
    writeFileSync(join(bare, 'HEAD'), 'ref: refs/heads/main\n')
    writeFileSync(join(bare, 'config'), '[core]\n\tbare = true\n\tfsmonitor = ./evil\n')
    expect(judged('git -C innocent status', { cwd })).toBe('ask')
    expect(judged('cd innocent && git log', { cwd })).toBe('ask')
  })

  test('a settings file that is not plainly one asks', () => {
    for (const text of [
      '[core]\n\tfsmonitor = \\\n  x\n',
      '[include]path=x\n',
      'x = y\n',
      '[core "a]\n',
      '[Core]\n\tFSMonitor = x\n',
      '[core]fsmonitor=x\n',
    ]) {
      const { cwd } = repository()
      writeFileSync(join(cwd, '.git/config'), text)
      expect([text, judged('git status', { cwd })]).toEqual([text, 'ask'])
    }
  })

  test('a .git that leads to another repository asks; one of a submodule does not', () => {
    const [{ cwd }, other] = [repository(), repository()]
    const led = join(cwd, 'led')
    mkdirSync(led)
    writeFileSync(join(led, '.git'), `gitdir: ${join(other.cwd, '.git')}\n`)
    expect(judged('git -C led log', { cwd })).toBe('ask')
    git(cwd, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', other.cwd, 'module')
    expect(judged('git -C module log', { cwd })).toBe('allow')
    expect(judged('git status', { cwd })).toBe('ask')
  })

  test('a work tree elsewhere is inspected where its settings are', () => {
    const { cwd, evil } = repository()
    const tree = join(temporaryFolder(), 'tree')
    git(cwd, 'worktree', 'add', '-q', tree)
    expect(judged('git status', { cwd: tree })).toBe('allow')
    git(cwd, 'config', 'core.fsmonitor', evil)
    expect(judged('git status', { cwd: tree })).toBe('ask')
  })
})

describe('settings that git and everyday tools write', () => {
  const written = {
    'git init, clone, remote, branch, push':
      '[core]\n\trepositoryformatversion = 1\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\tignorecase = true\n\tprecomposeunicode = true\n\tsymlinks = false\n[extensions]\n\tobjectFormat = sha1\n\trefStorage = files\n\tworktreeConfig = true\n[remote "origin"]\n\turl = git@example.org:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\ttagOpt = --no-tags\n[branch "main"]\n\tremote = origin\n\tmerge = refs/heads/main\n\trebase = true\n\tpushRemote = fork\n[submodule]\n\tactive = .\n[submodule "x"]\n\turl = ../x\n\tactive = true\n',
    'git sparse-checkout, maintenance, lfs and gc':
      '[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone = true\n\tuntrackedCache = true\n[index]\n\tsparse = true\n[maintenance]\n\tauto = false\n\tstrategy = incremental\n[gc]\n\tauto = 0\n[lfs]\n\trepositoryformatversion = 0\n[lfs "https://example.org/a.git/info/lfs"]\n\taccess = basic\n\tlocksverify = true\n',
    'git lfs install --local':
      '[filter "lfs"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n\tprocess = git-lfs filter-process\n\trequired = true\n',
    'git lfs install --local --skip-smudge':
      '[filter "lfs"]\n\tsmudge = git-lfs smudge --skip -- %f\n\tprocess = git-lfs filter-process --skip\n',
    'programs for GitHub and editors':
      '[remote "origin"]\n\tgh-resolved = base\n\tgithub-pr-remote = true\n[branch "x"]\n\tvscode-merge-base = origin/main\n\tgithub-pr-owner-number = "a#b#1"\n\tgk-merge-base = origin/main\n[gui]\n\twmstate = normal\n[merge]\n\ttool = vsdiffmerge\n[difftool "vsdiffmerge"]\n\tcmd = "x" //t\n\tkeepBackup = false\n',
    'a job of CI':
      '[http "https://github.com/"]\n\textraheader = AUTHORIZATION: basic x\n[gc]\n\tauto = 0\n[url "https://github.com/"]\n\tinsteadOf = git@github.com:\n',
    'a manager of hooks': '[core]\n\thooksPath = .husky/_\n',
    'a person':
      '[user]\n\tname = "A \\"B\\" C"\n\temail = a@example.org ; work\n\tsigningkey = ABC\n[commit]\n\tgpgsign = true\n[core]\n\tsshCommand = ssh -i ~/.ssh/work\n\teditor = code --wait\n\tpager = delta\n\tautocrlf\n[pull]\n\trebase = false\n[i18n]\n\tcommitEncoding = cp932\n[diff]\n\talgorithm = histogram\n',
    'what stands on several lines': '[branch "x"]\n\tdescription = one\\ntwo\\n\n[user]\n\tname = A \\\n B\n',
  }

  test.each(Object.entries(written))('%s: nothing is asked', (_name, text) => {
    const { cwd } = repository()
    writeFileSync(join(cwd, '.git/config'), text)
    for (const line of lines) expect([line, judged(line, { cwd })]).toEqual([line, 'allow'])
  })
})

describe('a repository setting that reading does not need', () => {
  const settings = [
    'alias.x', 'pager.x', 'column.ui', 'commit.template', 'core.askPass', 'core.gitProxy', 'core.notesRef', 'credential.helper', 'diff.x.xfuncname', 'extensions.partialClone', 'filter.lfs.clean', 'filter.x.required', 'gc.recentObjectsHook', 'gpg.format', 'guitool.x.cmd', 'help.browser', 'hook.x.command', 'http.cookieFile', 'http.proxy', 'http.sslKey', 'http.https://x/.sslCert', 'i18n.logOutputEncoding', 'include.path', 'includeIf.onbranch:x.path', 'includeIf.hasconfig:remote.*.url:x.path', 'init.templateDir', 'interactive.diffFilter', 'lfs.customtransfer.x.path', 'lfs.extension.z.clean', 'lfs.standalonetransferagent', 'lfs.storage', 'log.mailmap', 'mailmap.blob', 'man.x.cmd', 'merge.x.driver', 'notes.displayRef', 'pretty.x', 'protocol.allow', 'protocol.ext.allow', 'remote.o.partialCloneFilter', 'remote.o.promisor', 'remote.o.proxy', 'remote.o.receivepack', 'remote.o.vcs', 'sendemail.smtpServer', 'status.submoduleSummary', 'submodule.x.update', 'transfer.bundleURI', 'trailer.x.cmd', 'uploadpack.packObjectsHook', 'web.browser', 'browser.x.cmd',
  ] // prettier-ignore

  test.each(sampled(settings, { deep: 1, quick: 4 }))('asks for %s, by its name', (name) => {
    const { cwd } = repository()
    git(cwd, 'config', name, 'x')
    for (const line of lines) expect([line, judged(line, { cwd })]).toEqual([line, 'ask'])
    const { parts } = createPermissions({ cwd }).explain('git status')
    expect(parts[0]?.because.toLowerCase()).toContain(`.git/config sets ${name.toLowerCase()},`)
  })

  test.each([
    ['a line of another setting', '[branch "x"]\n\tremote = "o\\nlfs.extension.z.clean=x"\n'],
    ['a line of another setting, in a description', '[branch "x"]\n\tdescription = "o\\nlfs.extension.z.clean=x"\n'],
    ['a NUL byte', '[branch "x\0y"]\n\tremote = o\n'],
    ['a NUL byte in a value', '[user]\n\tname = x\0y\n'],
    ['no section', 'name = x\n'],
    ['no name of a section', '[ "x"]\n\tname = x\n'],
    ['a converter that is known to be broken', '[i18n]\n\tlogOutputEncoding = ISO-2022-CN-EXT\n'],
    ['references elsewhere', '[extensions]\n\trefStorage = "reftable:///elsewhere"\n'],
    ['a filter of Git LFS with another command', '[filter "lfs"]\n\tclean = "git-lfs clean -- %f; x"\n'],
    ['a filter of Git LFS in another folder', '[filter "lfs"]\n\tprocess = ./git-lfs filter-process\n'],
    ['a bare repository', '[core]\n\tbare\n'],
    ['a work tree without a value', '[core]\n\tworktree\n'],
  ])('asks for %s', (_name, text) => {
    const { cwd } = repository()
    writeFileSync(join(cwd, '.git/config'), text)
    for (const line of lines) expect([line, judged(line, { cwd })]).toEqual([line, 'ask'])
  })

  test('converts no text and checks no signature for an option', () => {
    const { cwd } = repository()
    for (const line of [
      'git log --encoding=ISO-2022-CN-EXT',
      'git log --encoding $x',
      "git branch --format='%(signature)'",
      "git tag --format '%(*signature:grade)'",
      'git for-each-ref --sort=signature',
      'git for-each-ref --sort=-*signature:key',
      'git rev-parse --show-superproject-working-tree',
    ])
      expect([line, judged(line, { cwd })]).toEqual([line, 'ask'])
    for (const line of [
      'git log --encoding=UTF-8',
      "git tag --format='%(contents:signature)'",
      'git branch --sort=-committerdate',
    ])
      expect([line, judged(line, { cwd })]).toEqual([line, 'allow'])
  })

  test('finds hooks where git looks for them', () => {
    const { cwd } = repository()
    mkdirSync(join(cwd, 'ho oks'))
    writeFileSync(join(cwd, 'ho oks/post-index-change'), '')
    for (const value of [
      'ho oks',
      '"ho oks" ; x',
      'ho" "oks # x',
      'ho\\\n oks',
      `${cwd}/ho oks`,
      '~nobody/x',
      '%(prefix)/x',
      ':(optional)ho oks',
    ]) {
      writeFileSync(join(cwd, '.git/config'), `[core]\n\thooksPath = ${value}\n`)
      expect([value, judged('git status && make', { cwd, allow: ['Bash(make)'] })]).toEqual([value, 'ask'])
      expect([value, judged('git status', { cwd })]).toEqual([value, 'allow'])
    }
  })
})

test('reads files that the user includes, under any condition', () => {
  const home = temporaryFolder()
  const { cwd } = repository()
  const before = process.env['HOME']
  const under = (text: string, included = ''): string => {
    writeFileSync(join(home, 'included'), included)
    // The time of the file distinguishes it.
    rmSync(join(home, '.gitconfig'), { force: true })
    writeFileSync(join(home, '.gitconfig'), text)
    utimesSync(join(home, '.gitconfig'), new Date(), new Date((times += 1_000)))
    return judged('git status', { cwd })
  }
  let times = 1_000_000
  process.env['HOME'] = home
  try {
    const harmful = '[filter "x"]\n\tclean = x\n'
    for (const section of [
      'include',
      'includeIf "gitdir:~/x/"',
      'includeIf "onbranch:x"',
      'IncludeIf "hasconfig:remote.*.url:x"',
    ]) {
      expect([section, under(`[${section}]\n\tpath = "incl""uded" ; x\n`, harmful)]).toEqual([section, 'ask'])
      expect([section, under(`[${section}]\n\tpath = ~/included\n`, '[user]\n\tname = x\n')]).toEqual([
        section,
        'allow',
      ])
      expect([section, under(`[${section}]\n\tpath = ~somebody/included\n`)]).toEqual([section, 'ask'])
    }
    expect(under('[core]\n\tfsmonitor = "" x\n')).toBe('ask')
    expect(under('[alias]\n\tx = "!f() {\\n\\tgit x\\n}; f"\n')).toBe('allow')
  } finally {
    process.env['HOME'] = before
  }
})

test('in a line with a command that a rule allows, git keeps its settings, so more commands ask', () => {
  const { cwd } = repository()
  expect(judged('git status && make', { cwd, allow: ['Bash(make)'] })).toBe('allow')
  writeFileSync(join(cwd, '.git/hooks/post-index-change'), '#!/bin/sh\n', { mode: 0o755 })
  expect(judged('git status', { cwd })).toBe('allow')
  expect(judged('git status && make', { cwd, allow: ['Bash(make)'] })).toBe('ask')
  const other = repository().cwd
  git(other, 'config', 'core.hooksPath', '.husky')
  expect(judged('git status && make', { cwd: other, allow: ['Bash(make)'] })).toBe('allow')
  mkdirSync(join(other, '.husky'))
  writeFileSync(join(other, '.husky/post-index-change'), '')
  expect(judged('git status && make', { cwd: other, allow: ['Bash(make)'] })).toBe('ask')
})

test('disables the settings only for what runs without a rule', async () => {
  const { cwd, mark } = repository()
  const { use } = codingTools({}, { cwd })
  writeFileSync(join(cwd, '.git/hooks/pre-commit'), `#!/bin/sh\ntouch ${mark}\n`, { mode: 0o755 })
  expect((await use('Bash', { command: 'echo "$GIT_OPTIONAL_LOCKS"' })).text).toBe('0')
  await use('Bash', { command: 'git commit -qam two' })
  expect(existsSync(mark)).toBe(true)
})

describe('values in the settings of git', () => {
  const token = `ghp_${'a1B2'.repeat(9)}`

  test.each([
    ['remote.origin.url', `https://x-access-token:${token}@github.com/a/b.git`],
    ['remote.origin.url', `https://${token}@github.com/a/b.git`],
    ['remote.origin.pushurl', `https://${'z9'.repeat(26)}@dev.azure.com/a/b`],
    [`url.https://me:hunter22@example.org/.insteadOf`, 'https://example.org/'],
  ])('an address with a secret is printed only after asking: %s', (key, value) => {
    const { cwd } = repository()
    git(cwd, 'remote', 'add', 'origin', 'https://example.org/a.git')
    git(cwd, 'config', key, value)
    for (const line of [
      'git remote -v',
      'git remote get-url origin',
      'git config --list',
      'git config -l --show-origin',
    ])
      expect([line, judged(line, { cwd })]).toEqual([line, 'ask'])
    for (const line of [
      "git config --get-regexp '^(remote|url)'",
      'git config get --all --regexp url',
      'git config list',
    ])
      expect([line, judged(line, { cwd })]).toEqual([line, 'ask'])
    for (const line of ['git remote', 'git config user.name', 'git config --get user.email', 'git status'])
      expect([line, judged(line, { cwd })]).toEqual([line, 'allow'])
  })

  test('a header with a token is printed only after asking, also by its name', () => {
    const { cwd } = repository()
    git(cwd, 'config', 'http.https://example.org/.extraheader', 'AUTHORIZATION: basic eDp5')
    expect(judged('git config --get http.https://example.org/.extraheader', { cwd })).toBe('ask')
    expect(judged('git config --list', { cwd })).toBe('ask')
    expect(judged('git remote -v', { cwd })).toBe('allow')
  })

  test('are printed if they have no secret', () => {
    const { cwd } = repository()
    git(cwd, 'remote', 'add', 'origin', 'git@github.com:a/b.git')
    git(cwd, 'remote', 'add', 'azure', 'https://organisation@dev.azure.com/organisation/a/_git/a')
    for (const line of [
      'git remote -v',
      'git config --list',
      'git remote get-url origin',
      'git config --get-regexp user',
    ])
      expect([line, judged(line, { cwd })]).toEqual([line, 'allow'])
  })
})

describe('from a folder below the root of the repository', () => {
  test.each(['git log -p', 'git show', 'git diff HEAD', 'git grep one', 'git show HEAD:a.txt'])(
    '%s asks if a rule is about a file elsewhere in the repository',
    (line) => {
      const { cwd } = repository()
      const inner = join(cwd, 'inner')
      mkdirSync(inner)
      for (const mode of ['default', 'bypassPermissions'] as const)
        expect(judged(line, { cwd: inner, mode, deny: [`Read(/${join(cwd, 'a.txt')})`] })).toBe('ask')
      expect(judged(line, { cwd: inner, deny: ['Read(//elsewhere/a.txt)'] })).toBe('allow')
    },
  )

  test('a git program without a grammar asks too', () => {
    const { cwd } = repository()
    const inner = join(cwd, 'inner')
    mkdirSync(inner)
    const options = { cwd: inner, allow: ['Bash(git:*)'], deny: [`Read(/${join(cwd, 'a.txt')})`] }
    expect(judged('git archive HEAD', options)).toBe('ask')
    expect(judged('git log -p --ext-diff', options)).toBe('ask')
  })
})
