// What deny rules name is shut also where links lead to it (spec R-BOX-2, R-BOX-2a).
import { execFileSync } from 'node:child_process'
import { createBashTool, Workspace } from '@halting/agent'
import { createPermissions, sandboxSettingsOf } from '@halting/policy'
import { openSandbox } from '@halting/agent/sandbox'
import type { PermissionRequest } from '@halting/core'
import type { PermissionUpdate } from '@halting/core/adapters'
import { expect, onTestFinished, test } from 'vitest'
import { runTool } from '../support/harness.ts'
import { makeLinkedTree } from '../../../policy/test/sandbox/linked-tree.ts'
import { folderInSight, isBubblewrapThere } from './world.ts'

const rows = [
  [['Read(./conf/app.key)'], ['conf/app.key']],
  [['Read(./conf/*.key)'], ['conf/app.key']],
  [['Read(.env)'], ['conf/inner/.env']],
  [['Read(./**/*.pem)'], ['alone.pem']],
  [['Read(./inside/deep/x.key)'], ['x.key']],
  [['Read(./conf/inner/**)'], ['conf/inner/.env']],
] as const

test.skipIf(!isBubblewrapThere).each(rows)('%j hides %j (needs bubblewrap)', async (deny, shut) => {
  const { project } = makeLinkedTree(folderInSight())
  const permissions = createPermissions({ cwd: project, mode: 'bypassPermissions', deny: [...deny] })
  const workspace = new Workspace({ cwd: project, env: { PATH: process.env['PATH'] } })
  onTestFinished(() => workspace.dispose())
  workspace.sandbox = await openSandbox({
    cwd: project,
    directories: [project],
    home: '/nobody',
    settings: sandboxSettingsOf([{ enabled: true }]),
    denied: () => permissions.deniedPlaces(),
  })
  const all = ['conf/app.key', 'conf/other', 'conf/inner/.env', 'alone.pem', 'x.key']
  const command =
    'cat conf/app.key conf/other conf/inner/.env link.pem real/deep/x.key inside/deep/x.key ../outside/conf/* 2>&1'
  const { text } = await runTool(createBashTool(workspace), { command })
  expect(all.filter((line) => !text.split('\n').includes(line))).toEqual(shut)
})

test('applies deny rules that a user added in the session, until they are removed', async () => {
  const { project } = makeLinkedTree(folderInSight())
  const permissions = createPermissions({ cwd: project, deny: ['Read(./a)', 'WebFetch(domain:a.com)'] })
  const call = { type: 'tool_use', id: 'c', name: 'Bash', input: { command: 'ls' } } as const
  const rules = (type: 'addRules' | 'removeRules', toolName: string, ruleContent: string): PermissionUpdate =>
    ({ type, behavior: 'deny', rules: [{ toolName, ruleContent }], destination: 'session' }) as const
  const seen = (learned?: readonly PermissionUpdate[]): readonly unknown[] => {
    // The only fields of a request that the rules use.
    const tool = { name: 'Bash' } as unknown as PermissionRequest['tool']
    permissions.denies({ call, tool, readOnly: true, ...(learned !== undefined && { learned }) })
    const named = permissions.deniedPlaces().read.flatMap((pattern) => pattern.named ?? [])
    return [named.map((path) => path.slice(project.length)), permissions.domains().denied]
  }
  const learned = [rules('addRules', 'Read', './b'), rules('addRules', 'WebFetch', 'domain:b.com')]
  expect(seen()).toEqual([['/a'], ['a.com']])
  expect(seen(learned)).toEqual([
    ['/a', '/b'],
    ['a.com', 'b.com'],
  ])
  // Another run without permissions opens nothing that is hidden.
  expect(seen()).toEqual([
    ['/a', '/b'],
    ['a.com', 'b.com'],
  ])
  expect(seen([...learned, rules('removeRules', 'Read', './b')])).toEqual([['/a'], ['a.com', 'b.com']])
})

const odd = String.raw

test.skipIf(!isBubblewrapThere).each([
  ['a file that a rule is about', odd`echo x > $'a\xff.key'`, /a\uFFFD\.key, whose name is not UTF-8/],
  [
    'such a file in a folder',
    odd`mkdir $'d\xff'; echo x > $'d\xff/app.key'`,
    /d\uFFFD\/app\.key, whose name is not UTF-8/,
  ],
  [
    'such a file behind a link',
    odd`mkdir $'d\xff'; echo x > $'d\xff/app.key'; ln -s $'d\xff' l`,
    /app\.key, whose name is not UTF-8/,
  ],
  ['a repository', odd`mkdir $'d\xff'; git init -q $'d\xff'`, /d\uFFFD is or contains a repository/],
  [
    'a repository in a folder',
    odd`mkdir -p $'d\xff/e'; git init -q $'d\xff/e'`,
    /d\uFFFD\/e is or contains a repository/,
  ],
  ['a worktree', odd`mkdir -p $'.git/worktrees/w\xff'`, /w\uFFFD is or contains a repository/],
  ['nothing of it', odd`mkdir -p $'d\xff/e'; echo x > $'d\xff/x'; echo x > $'d\xff/e/\xfe'`, /^(?:Exit code 1\n)?ok/],
  [
    'a link to a file that has a name',
    odd`ln -s real/deep/x.key $'l\xff.key'`,
    /^Exit code 1\nok\n.*x\.key: (?:Permission|No such)/,
  ],
])(
  'with names that are not UTF-8 a command runs unless that is %s (needs bubblewrap)',
  async (_what, script, expectedText) => {
    const { project } = makeLinkedTree(folderInSight())
    execFileSync('bash', ['-ec', `git init -q . && ${script}`], { cwd: project })
    const permissions = createPermissions({ cwd: project, deny: ['Read(./**/*.key)'] })
    const workspace = new Workspace({ cwd: project, env: { PATH: process.env['PATH'] } })
    onTestFinished(() => workspace.dispose())
    workspace.sandbox = await openSandbox({
      cwd: project,
      directories: [project],
      home: '/nobody',
      settings: sandboxSettingsOf([{ enabled: true }]),
      denied: () => permissions.deniedPlaces(),
    })
    const { text } = await runTool(createBashTool(workspace), {
      command: 'echo ok; touch made; cat real/deep/x.key 2>&1',
    })
    expect(text).toMatch(expectedText)
  },
)
