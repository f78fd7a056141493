// Holds R-RULE-7b, R-RULE-7n and R-RULE-7o of docs/spec: only a rule that spells out its name allows changing a control file.
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createPermissions, type PermissionOptions } from '../../src/permissions/permissions.ts'
import type { PermissionRequest } from '@halting/core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { neverMadeInSandbox, controlFileGroups, readOnlyInSandbox } from '../../src/control-files.ts'
import { sampled } from '../support/deep.ts'
import { ofProject } from './protected-names.ts'
import { bashCall, judged } from './support.ts'
import { needsNamedRule } from '../../src/permissions/permission-texts.ts'

let base: string
const outer = { ...process.env }
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'halting-obeyed-')))
  for (const folder of ['project/src/deep', 'other/src', 'home/tools', 'settings', 'programs'])
    mkdirSync(at(folder), { recursive: true })
  for (const file of ['project/src/a.ts', 'project/evil', 'other/src/b.ts']) writeFileSync(at(file), 'x\n')
  process.env['HOME'] = at('home')
  process.env['XDG_CONFIG_HOME'] = at('settings')
  process.env['PATH'] = `${at('programs')}:${outer['PATH'] ?? ''}:${at('project/node_modules/.bin')}`
})
afterEach(() => {
  for (const name of ['HOME', 'XDG_CONFIG_HOME', 'PATH']) {
    const { [name]: value } = outer
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
  rmSync(base, { recursive: true, force: true })
})

const at = (name: string): string => join(base, name)
const placed = (path: string): string => path.replaceAll('@', base)

function request(name: string, path: string): PermissionRequest {
  const { call, tool } = bashCall('')
  return {
    call: { ...call, name, input: { [name === 'NotebookEdit' ? 'notebook_path' : 'file_path']: path } },
    tool: { ...tool, name },
    readOnly: false,
  }
}

function says(name: string, path: string, options: Partial<PermissionOptions>): string {
  const decision = createPermissions({ cwd: at('project'), ...options }).decide(request(name, path))
  return decision instanceof Promise ? 'later' : decision.behavior
}

/** Broad rules of people who want edits to run, which name no file. */
const broad: readonly (readonly string[])[] = [
  ['Edit'],
  ['Write', 'Edit', 'NotebookEdit'],
  ['Edit(*)', 'Write(*)'],
  ['Edit(**)'],
  ['Edit(//**)'],
  ['Edit(//**/*)', 'Edit(//**/.*)', 'Edit(//**/.*/**)'],
  ['Edit(~/**)', 'Edit(./**)', 'Edit(/**)'],
  ['Edit(~)', 'Edit(./)', 'Edit(~/.*)', 'Edit(./.*)', 'Edit(/.*/**)'],
  ['Edit(.[a-z]*)', 'Edit(~/.?*/**)', 'Edit(/.gi?/**)', 'Edit(//etc*/**)', 'Edit(**/[.]*)'],
]

const outsidePlaces = `
  @/home/.bashrc @/home/.ssh/authorized_keys @/home/.config/autostart/x.desktop @/home/.config/systemd/user/x.service
  @/home/.local/bin/git @/home/.gitconfig @/home/.config/git/config @/home/.vim/plugin/x.vim @/home/.m2/settings.xml @/home/.anything
  @/home/bin/git @/home/Library/LaunchAgents/x.plist @/home/.halting/settings.json @/home/.pam_environment @/settings/x
  @/settings/git/config @/programs/git @/other/.git/hooks/pre-commit @/other/.vscode/tasks.json /etc/crontab /etc/profile.d/x.sh
  /usr/local/bin/git /usr/bin/git /var/spool/cron/crontabs/root /root/.bashrc /home/somebody/.bashrc /home/somebody/.config/x
  /Users/somebody/.zshrc /Users/somebody/Library/LaunchAgents/x /Library/LaunchDaemons/x.plist /mnt/c/Users/x/AppData/Roaming/y /mnt/c/Users/x/.bashrc /mnt/c/Windows/x /bin/ls /boot/grub/grub.cfg
  /sys/kernel/x /dev/sda
`
  .trim()
  .split(/\s+/)

describe.each(['default', 'acceptEdits'] as const)('in the mode %s', (mode) => {
  test.each(sampled([...ofProject, ...outsidePlaces], { deep: 4, quick: 16 }))(
    '%s is changed by no tool without a rule that names it',
    (name) => {
      const path = placed(name)
      const through = broad.flatMap((allow) =>
        ['Edit', 'Write', 'NotebookEdit'].flatMap((tool) =>
          says(tool, path, { mode, allow }) === 'ask' ? [] : [[tool, ...allow].join(' ')],
        ),
      )
      expect(through).toEqual([])
      const quoted = `'${path}'`
      const commands = [
        `echo x > ${quoted}`,
        `echo x >> ${quoted}`,
        `: > ${quoted}`,
        `cat evil > ${quoted}`,
        `touch ${quoted}`,
      ]
      commands.push(`cp evil ${quoted}`, `mv evil ${quoted}`, `mkdir -p ${quoted}`, `rm -rf ${quoted}`)
      const ran = broad.flatMap((allow) =>
        commands.filter((command) => judged(command, { cwd: at('project'), mode, allow }) === 'allow'),
      )
      expect(ran).toEqual([])
    },
  )

  test.each([
    'src/a.ts',
    '.env',
    '.eslintrc.json',
    '.prettierrc',
    'AGENTS.md',
    'CLAUDE.md',
    '.cursorrules',
    '.github/copilot-instructions.md',
  ])('%s can be changed with a general rule', (name) => {
    for (const allow of broad.slice(0, 5))
      expect([allow, says('Edit', name, { mode, allow })]).toEqual([allow, 'allow'])
    expect(judged(`echo x > '${name}'`, { cwd: at('project'), mode, allow: ['Edit'] })).toBe('allow')
  })

  test.each([
    'Makefile',
    'package.json',
    'src/.env.ts',
    '.editorconfig',
    '.nvmrc',
    '.gitignore',
    'docs/git/hooks.md',
    '.clinerules/x.md',
    '.github/CODEOWNERS',
    '.yarn/cache/x.zip',
    'node_modules/.bin/x',
    'src/bin/cli.ts',
    'lib/x.py',
    'etc/x',
    'usr/bin/x',
    'a~1~',
    'x.ts~1',
  ])('%s can be changed with a bare rule for Edit', (name) => {
    expect(says('Write', name, { mode, allow: ['Edit'] })).toBe('allow')
  })

  test('a rule for all files allows a file of another project', () => {
    expect(says('Write', at('other/src/b.ts'), { mode, allow: ['Edit'] })).toBe('allow')
    expect(says('Write', at('home/tools/b.ts'), { mode, allow: ['Edit(~/**)'] })).toBe('allow')
    expect(says('Write', '/dev/shm/x', { mode, allow: ['Edit'] })).toBe('allow')
  })
})

test.each(sampled([...ofProject, ...outsidePlaces], { deep: 1, quick: 3 }))(
  '%s can be changed in bypassPermissions, and after approval by a hook',
  (name) => {
    expect(says('Write', placed(name), { mode: 'bypassPermissions' })).toBe('allow')
    const byHook = createPermissions({ cwd: at('project') }).decide({
      ...request('Write', placed(name)),
      hookDecision: 'allow',
    })
    expect(byHook).toEqual({ behavior: 'allow' })
  },
)

describe('other ways to write the same path', () => {
  const spellings = [
    '.GIT/hooks/x',
    '.Git/config',
    '.git/',
    '.git//hooks/../config',
    './.git/config',
    'src/../.git/config',
    '.BASHRC',
    '.VsCode/x',
    '.g\u200Bit/config',
    '.gi\u00ADt/config',
    '\uFEFF.git/config',
    '.git\u2060/x',
    '．git/config',
    '.ｇｉｔ/config',
    '.ſsh/config',
    '.\u212Airo/x',
    '.huſky/x',
    'ﬁle/../.git/x',
    '.git./config',
    '.git /config',
    '.git. . /config',
    '.git::$INDEX_ALLOCATION/config',
    'GIT~1/config',
    'HALTIN~1/settings.json',
    'git~1/hooks/x',
    'CLAUDE~2/x',
    'BASHRC~1',
    'MCP~1.JSO',
    'jenkinsFILE',
    '.bashrc.',
    '.bashrc::$DATA',
    '@/project/.git/config',
    '@/home/../home/.bashrc',
    '@/home/.BASHRC',
    '~/.bashrc',
    '~/.ssh/../.bashrc',
    '//etc/crontab',
    '/usr/../etc/x',
    '@/home//.ssh//authorized_keys',
    '@/home/.config/../.bashrc',
  ]

  test.each(spellings)('%j', (name) => {
    for (const mode of ['default', 'acceptEdits'] as const)
      for (const allow of broad)
        expect([mode, allow, says('Write', placed(name), { mode, allow })]).toEqual([mode, allow, 'ask'])
  })

  const links: Readonly<Record<string, readonly [target: string, path: string]>> = {
    'a link to the folder': ['.git', 'l/config'],
    'a link to a folder in it': ['.git/hooks', 'l/pre-commit'],
    'a link to the file': ['.git/config', 'l'],
    'a link to what is not there yet': ['.git/hooks/new', 'l'],
    'a link that goes up': ['src/../.git/config', 'l'],
    'a link out of the project': ['@/home', 'l/.bashrc'],
    'a link to settings of the person': ['@/home/.ssh', 'l/authorized_keys'],
    'a link to a file of the person that is not there': ['@/home/.zshrc', 'l'],
    'a link to where settings are put': ['@/settings', 'l/x'],
    'a link to the system': ['/etc', 'l/crontab'],
  }
  test.each(Object.entries(links))('%s', (_what, [target, path]) => {
    mkdirSync(at('project/.git/hooks'), { recursive: true })
    mkdirSync(at('home/.ssh'))
    writeFileSync(at('project/.git/config'), '')
    symlinkSync(placed(target), at('project/l'))
    for (const mode of ['default', 'acceptEdits'] as const)
      for (const allow of [...broad, ['Edit(l)', 'Edit(l/**)', 'Edit(/l/**)']]) {
        expect([mode, allow, says('Write', path, { mode, allow })]).toEqual([mode, allow, 'ask'])
        expect(judged(`echo x > ${path}`, { cwd: at('project'), mode, allow })).toBe('ask')
      }
  })

  test('a write through a hard link to such a file asks', () => {
    writeFileSync(at('home/.bashrc'), 'mine\n')
    linkSync(at('home/.bashrc'), at('project/notes'))
    for (const mode of ['default', 'acceptEdits'] as const)
      for (const command of ['echo x > notes', 'echo x >> notes', 'cp evil notes', 'touch notes'])
        expect(judged(command, { cwd: at('project'), mode, allow: ['Edit'] })).toBe('ask')
  })
})

describe('a rule that names it', () => {
  test.each([
    ['Edit(.git/hooks/**)', '.git/hooks/pre-commit', '.git/config'],
    ['Edit(.git/**)', '.git/hooks/pre-commit', 'src/.git/config'],
    ['Edit(.git)', 'src/.git/config', '.vscode/x'],
    ['Edit(/.git/hooks)', '.git/hooks/pre-commit', '.git/config'],
    ['Edit(**/.git/*)', 'a/b/.git/config', 'a/b/.hg/hgrc'],
    ['Edit(~/.bashrc)', '@/home/.bashrc', '@/home/.profile'],
    ['Edit(~/.config/**)', '@/home/.config/autostart/x', '@/home/.local/x'],
    ['Edit(~/.config/*/config)', '@/home/.config/git/config', '@/home/.config/a/b/config'],
    ['Edit(//etc/hosts)', '/etc/hosts', '/etc/passwd'],
    ['Edit(//etc/**)', '/etc/passwd', '/usr/bin/x'],
    ['Edit(.npmrc)', 'packages/a/.npmrc', '.yarnrc'],
    ['Edit(.github/workflows/**)', '.github/workflows/ci.yml', '.github/actions/x'],
    ['Edit(.vscode/**)', '.vscode/tasks.json', '.vscode/.git/config'],
    ['Edit(.vscode/.git/**)', '.vscode/.git/config', '.vscode/x'],
    ['Edit(.claude/**)', '.claude/commands/x.md', '.claude/.git/x'],
    ['Edit(.claude/*.json)', '.claude/settings.json', '.claude/hooks/x.json'],
  ])('%s allows %s, and not %s', (rule, path, other) => {
    for (const mode of ['default', 'acceptEdits', 'dontAsk'] as const) {
      expect(says('Write', placed(path), { mode, allow: [rule] })).toBe('allow')
      expect(says('Write', placed(path), { mode, allow: ['Edit', rule] })).toBe('allow')
      expect(says('Write', placed(other), { mode, allow: ['Edit', rule] })).toBe(mode === 'dontAsk' ? 'deny' : 'ask')
    }
    expect(judged(`echo x > '${placed(path)}'`, { cwd: at('project'), allow: [rule] })).toBe('allow')
  })

  test('allows only the tool that it is for', () => {
    for (const allow of [['Write(.npmrc)'], ['Edit', 'Write(.npmrc)']]) {
      expect(says('Write', '.npmrc', { allow })).toBe('allow')
      expect(says('Edit', '.npmrc', { allow })).toBe('ask')
    }
  })

  test('is needed for the path and for the real path', () => {
    mkdirSync(at('project/.git/hooks'), { recursive: true })
    symlinkSync('.git/hooks', at('project/h'))
    expect(says('Write', 'h/x', { allow: ['Edit(.git/hooks/**)'] })).toBe('ask')
    expect(says('Write', 'h/x', { allow: ['Edit(h/**)', 'Edit(.git/hooks/**)'] })).toBe('allow')
    expect(says('Write', 'h/x', { mode: 'acceptEdits', allow: ['Edit(.git/hooks/**)'] })).toBe('allow')
  })

  test.each(sampled([...ofProject, ...outsidePlaces], { deep: 1, quick: 3 }))(
    'is offered for %s, and allows it',
    (name) => {
      for (const [options, asked] of [
        [{ allow: ['Edit'] }, request('Write', placed(name))],
        [{ mode: 'acceptEdits' }, request('Edit', placed(name))],
        [{ allow: ['Edit'] }, bashCall(`echo x > '${placed(name)}'`)],
      ] as const) {
        const permissions = createPermissions({ cwd: at('project'), ...options })
        const suggestions = permissions.suggest?.(asked) ?? []
        expect(suggestions).toMatchObject([{ type: 'addRules', behavior: 'allow' }])
        expect(permissions.decide({ ...asked, learned: suggestions })).toEqual({ behavior: 'allow' })
      }
    },
  )

  test('also works if the project is reached through a link', () => {
    symlinkSync(at('project'), at('through'))
    const permissions = createPermissions({ cwd: at('through') })
    const rulesFor = (path: string): unknown => permissions.suggest?.(request('Write', path))[0]
    expect(rulesFor('.npmrc')).toMatchObject({ rules: [{ toolName: 'Edit', ruleContent: '/.npmrc' }] })
    expect(rulesFor(at('through/src/a.ts'))).toMatchObject({ rules: [{ toolName: 'Edit', ruleContent: '/src/a.ts' }] })
  })

  test('is named by the question', () => {
    const permissions = createPermissions({ cwd: at('project'), allow: ['Edit'] })
    const asked = request('Write', '.git/hooks/pre-commit')
    expect(permissions.decide(asked)).toEqual({
      behavior: 'ask',
      message: `${needsNamedRule('Write', at('project/.git/hooks/pre-commit'))} The rule Edit(/.git/hooks/pre-commit) would allow it.`,
    })
    expect(permissions.cause?.(asked)).toEqual({
      type: 'safetyCheck',
      blockedPath: at('project/.git/hooks/pre-commit'),
    })
  })
})

describe('a project inside a protected path', () => {
  test.each([
    ['home/.config/nvim', 'init.lua', '../git/config'],
    ['project/.claude/worktrees/a', 'src/a.ts', '../../settings.json'],
    ['settings/app', 'x', '../git/config'],
    ['project/.git/worktrees', 'src/a.ts', '../config'],
  ])('%s: lets its own files change as before, but not those next to it', (cwd, own, other) => {
    mkdirSync(at(cwd), { recursive: true })
    for (const options of [{ mode: 'acceptEdits' as const }, { allow: ['Edit'] }]) {
      expect(says('Write', join(at(cwd), own), { cwd: at(cwd), ...options })).toBe('allow')
      expect(says('Write', join(at(cwd), '.vscode/x'), { cwd: at(cwd), ...options })).toBe('ask')
      expect(says('Write', join(at(cwd), other), { cwd: at(cwd), allow: ['Edit'], ...options })).toBe('ask')
    }
  })

  test('protects the settings of a home folder that is the project', () => {
    for (const name of ['.bashrc', '.config/x', '.anything', 'bin/x'])
      expect(says('Write', at(`home/${name}`), { cwd: at('home'), mode: 'acceptEdits', allow: ['Edit'] })).toBe('ask')
    expect(says('Write', at('home/tools/x'), { cwd: at('home'), mode: 'acceptEdits' })).toBe('allow')
  })
})

test("protects files of a project's plugin unless a rule names the plugin", () => {
  const options = { readableFolders: [at('project/my-plugin')] }
  for (const path of ['my-plugin/hooks/hooks.json', 'my-plugin/.mcp.json', 'my-plugin/commands/x.md'])
    for (const allow of broad)
      expect([path, allow, says('Write', path, { ...options, allow })]).toEqual([path, allow, 'ask'])
  expect(says('Write', 'my-plugin/hooks/hooks.json', { ...options, allow: ['Edit(my-plugin/**)'] })).toBe('allow')
  expect(says('Write', 'src/a.ts', { ...options, allow: ['Edit'] })).toBe('allow')
})

describe('control files of git under other names', () => {
  const broadly = (path: string): readonly string[] =>
    broad.flatMap((allow) => (['default', 'acceptEdits'] as const).map((mode) => says('Write', path, { mode, allow })))

  test.each([
    ['[core]\n\thooksPath = tools/hooks\n', 'tools/hooks/pre-commit', 'tools/x'],
    ['[core]\n\thookspath="tools/hooks"\n', 'tools/hooks/pre-commit', 'tools/x'],
    ['[core] hooksPath = ./src/../hooks ; ours\n', 'hooks/pre-commit', 'src/a.ts'],
    ['[core]\n\thooksPath = @/project/hooks\n', 'hooks/pre-commit', 'src/a.ts'],
    ['[include]\n\tpath = ../team.gitconfig\n', 'team.gitconfig', 'src/a.ts'],
    ['[includeIf "gitdir:x"]\n\tpath = ../team/settings\n', 'team/settings', 'team/x'],
  ])('%j: %s asks, and %s does not', (config, path, other) => {
    mkdirSync(at('project/.git'))
    writeFileSync(at('project/.git/config'), placed(config))
    expect(new Set(broadly(path))).toEqual(new Set(['ask']))
    expect(says('Write', other, { mode: 'acceptEdits' })).toBe('allow')
    expect(says('Write', path, { allow: [`Edit(/${path})`] })).toBe('allow')
  })

  test('ask in a folder that is a bare repository, or becomes one', () => {
    for (const folder of ['', 'x.git/']) {
      mkdirSync(at(`project/${folder}objects`), { recursive: true })
      expect(new Set(broadly(`${folder}HEAD`))).toEqual(new Set(['ask']))
      expect(says('Write', `${folder}config`, { mode: 'acceptEdits' })).toBe('allow')
      writeFileSync(at(`project/${folder}HEAD`), 'ref: refs/heads/main\n')
      for (const path of ['config', 'hooks/post-receive', 'config.worktree', 'commondir'])
        expect([path, new Set(broadly(folder + path))]).toEqual([path, new Set(['ask'])])
      expect(says('Write', `${folder}src/config`, { mode: 'acceptEdits' })).toBe('allow')
    }
  })
})

test('ask when a folder that contains them is removed or moved', () => {
  for (const name of ['.vimrc', '.cursor/mcp.json', '.yarn/releases/x', 'sitecustomize.py', '.pnp.cjs']) {
    mkdirSync(dirname(at(`project/lib/${name}`)), { recursive: true })
    writeFileSync(at(`project/lib/${name}`), '')
    for (const command of ['rm -rf lib', 'mv lib src', 'cp -r lib src'])
      expect(judged(command, { cwd: at('project'), mode: 'acceptEdits' })).toBe('ask')
    rmSync(at('project/lib'), { recursive: true })
  }
})

test('are listed in the guide, and the sandbox protects what rules protect', () => {
  const guide = readFileSync(new URL('../../../../docs/guide/permissions.md', import.meta.url), 'utf8')
  for (const [kind, groups] of Object.entries(controlFileGroups))
    for (const [group, names] of Object.entries(groups)) {
      const cell = names
        .split(' ')
        .map((name) => `\`${name}\``)
        .join(', ')
      expect(guide).toContain(`| ${group} | ${kind} | ${cell} |\n`)
    }
  for (const name of [...neverMadeInSandbox, ...readOnlyInSandbox])
    expect([name, says('Write', name, { mode: 'acceptEdits' })]).toEqual([name, 'ask'])
})
