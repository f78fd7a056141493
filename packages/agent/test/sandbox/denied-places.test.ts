// What deny rules name is shut also where links lead to it (spec R-BOX-2, R-BOX-2a).
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createBashTool, createPermissions, Workspace } from '@halting/agent'
import { openSandbox, sandboxSettingsOf } from '@halting/agent/sandbox'
import type { PermissionRequest } from '@halting/core'
import type { PermissionUpdate } from '@halting/core/adapters'
import { expect, onTestFinished, test } from 'vitest'
import { runTool } from '../support/harness.ts'
import { expanded } from '../../src/sandbox/expand.ts'
import { folderInSight, isBubblewrapThere } from './world.ts'

/** A project with links out of it, into itself and in circles. */
function makeTree(): { readonly project: string; readonly outside: string } {
  const base = folderInSight()
  const [project, outside] = [join(base, 'project'), join(base, 'outside')]
  mkdirSync(join(project, 'real/deep'), { recursive: true })
  mkdirSync(join(outside, 'conf/inner'), { recursive: true })
  for (const file of ['conf/app.key', 'conf/other', 'conf/inner/.env', 'alone.pem'])
    writeFileSync(join(outside, file), `${file}\n`)
  writeFileSync(join(project, 'real/deep/x.key'), 'x.key\n')
  symlinkSync(join(outside, 'conf'), join(project, 'conf'))
  symlinkSync('real', join(project, 'inside'))
  symlinkSync('..', join(project, 'real/deep/circle'))
  symlinkSync(project, join(outside, 'conf/back'))
  symlinkSync(join(outside, 'alone.pem'), join(project, 'link.pem'))
  return { project, outside }
}

const rows = [
  [['Read(./conf/app.key)'], ['conf/app.key']],
  [['Read(./conf/*.key)'], ['conf/app.key']],
  [['Read(.env)'], ['conf/inner/.env']],
  [['Read(./**/*.pem)'], ['alone.pem']],
  [['Read(./inside/deep/x.key)'], ['x.key']],
  [['Read(./conf/inner/**)'], ['conf/inner/.env']],
] as const

test.skipIf(!isBubblewrapThere).each(rows)('%j shuts %j (needs bubblewrap)', async (deny, shut) => {
  const { project } = makeTree()
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

test('deny rules that a person gave in the session are those of the sandbox from then on, and may be taken back', async () => {
  const { project } = makeTree()
  const permissions = createPermissions({ cwd: project, deny: ['Read(./a)', 'WebFetch(domain:a.com)'] })
  const call = { type: 'tool_use', id: 'c', name: 'Bash', input: { command: 'ls' } } as const
  const rules = (type: 'addRules' | 'removeRules', toolName: string, ruleContent: string): PermissionUpdate =>
    ({ type, behavior: 'deny', rules: [{ toolName, ruleContent }], destination: 'session' }) as const
  const seen = (learned?: readonly PermissionUpdate[]): readonly unknown[] => {
    // Of a request the rules look at these alone.
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
  // Another run that learned nothing opens nothing that is shut.
  expect(seen()).toEqual([
    ['/a', '/b'],
    ['a.com', 'b.com'],
  ])
  expect(seen([...learned, rules('removeRules', 'Read', './b')])).toEqual([['/a'], ['a.com', 'b.com']])
})

test('every folder is looked at once, however many links lead to it', () => {
  const { project } = makeTree()
  for (let at = 0; at < 12; at += 1) {
    mkdirSync(join(project, `p${at}`))
    for (let to = 0; to < 12; to += 1) symlinkSync(`../p${to}`, join(project, `p${at}/l${to}`))
  }
  writeFileSync(join(project, 'p0/.env'), '')
  const { patterns } = { patterns: createPermissions({ cwd: project, deny: ['Read(.env)'] }).deniedPlaces().read }
  const started = performance.now()
  expect(expanded(patterns).filter((path) => path.includes('/p0/'))).toHaveLength(1)
  expect(performance.now() - started).toBeLessThan(20_000)
})
