// Holds R-CONF-1c, R-CONF-7a and R-CONF-7b of docs/spec: an administrator's files, and the settings reserved for them.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { PermissionUpdate } from '@halting/core/adapters'
import { createPermissions } from '../../src/permissions/permissions.ts'
import type { LoadedSettings } from '../../src/settings/loaded-settings.ts'
import { loadSettings } from '../../src/settings/settings.ts'
import { sandboxSettingsOf } from '../../src/sandbox/sandbox-settings.ts'
import type { SettingsLevel } from '../../src/settings/places.ts'
import { offersIn, mergeReadFiles } from '../../src/settings/merge-read-files.ts'

const command = { type: 'command', command: 'true' } as const
const hooks = { Stop: [{ hooks: [command] }] }
const permissions = { allow: ['Bash(make)'], deny: ['Read(./.env)'], ask: ['Bash(git push *)'] }

const fileOf = (level: SettingsLevel, content: object) => ({
  level,
  name: `/${level}.json`,
  projectDirectory: '/p',
  content: { ...content },
  json: JSON.stringify(content),
})

const merged = (managed: object, others: Partial<Record<SettingsLevel, object>>): Promise<LoadedSettings> =>
  mergeReadFiles(
    [
      fileOf('managed', managed),
      ...(['flag', 'local', 'project', 'user'] as const).flatMap((level) => {
        const content = others[level]
        return content === undefined ? [] : [fileOf(level, content)]
      }),
    ],
    { cwd: '/p', home: '/h', env: {}, trustedBy: '--trust' },
  )

test('allowManagedHooksOnly: only the hooks of an administrator are called', async () => {
  const own = { PreToolUse: [{ matcher: 'Bash', hooks: [command] }] }
  const { settings, ignored, origins, warnings } = await merged(
    { allowManagedHooksOnly: true, hooks: own },
    { flag: { hooks }, local: { hooks }, project: { hooks }, user: { hooks } },
  )
  expect(settings).toEqual({ hooks: own })
  const why = 'allowManagedHooksOnly in /managed.json'
  expect(ignored).toEqual(
    ['flag', 'local', 'project', 'user'].map((level) => ({
      setting: 'hooks',
      text: 'Stop',
      from: `/${level}.json`,
      why,
      forTrust: false,
    })),
  )
  expect(warnings).toEqual([
    'hooks in 4 other files are ignored because /managed.json allows only those of an administrator. halting config lists them.',
  ])
  expect(origins[0]).toEqual({ setting: 'allowManagedHooksOnly', value: true, from: '/managed.json' })
})

test('allowManagedHooksOnly and disableAllHooks keep only the status line of an administrator, as it is a command (R-LIM-47)', async () => {
  const own = { type: 'command', command: 'own' }
  const mine = { type: 'command', command: 'mine' }
  const files = { project: { statusLine: mine }, user: { statusLine: mine } }
  const only = await merged({ allowManagedHooksOnly: true, statusLine: own }, files)
  expect(only.settings).toEqual({ statusLine: own })
  expect(only.ignored).toMatchObject([
    { setting: 'statusLine', text: 'mine', from: '/project.json', why: 'allowManagedHooksOnly in /managed.json' },
    { setting: 'statusLine', text: 'mine', from: '/user.json', why: 'allowManagedHooksOnly in /managed.json' },
  ])
  expect((await merged({ allowManagedHooksOnly: true }, files)).settings).toEqual({})
  const off = await merged({ statusLine: own }, { ...files, local: {}, flag: { disableAllHooks: true } })
  expect(off.settings).toEqual({ statusLine: own })
  const none = await merged({}, { user: { statusLine: mine, disableAllHooks: true } })
  expect(none.settings).toEqual({})
  expect(none.ignored).toEqual([
    { setting: 'statusLine', text: 'mine', from: '/user.json', why: 'disableAllHooks in /user.json', forTrust: false },
  ])
  expect(none.origins.map(({ setting }) => setting)).toEqual(['disableAllHooks'])
})

test('allowManagedPermissionRulesOnly: only the rules of an administrator allow, and restrictions of all files apply', async () => {
  const { settings, ignored, warnings } = await merged(
    { allowManagedPermissionRulesOnly: true, permissions: { allow: ['Bash(npm test)'] } },
    { flag: { permissions }, project: { permissions }, user: { permissions } },
  )
  const texts = (behavior: 'allow' | 'deny' | 'ask'): unknown =>
    settings.permissions?.[behavior].map((rule) => (typeof rule === 'string' ? rule : rule.rule))
  expect(texts('allow')).toEqual(['Bash(npm test)'])
  expect(texts('deny')).toEqual(['Read(./.env)', 'Read(./.env)', 'Read(./.env)'])
  expect(texts('ask')).toEqual(['Bash(git push *)', 'Bash(git push *)', 'Bash(git push *)'])
  expect(settings.allowManagedPermissionRulesOnly).toBe(true)
  expect(ignored.map(({ setting, text }) => [setting, text])).toEqual(
    ['flag', 'project', 'user'].map(() => ['permissions.allow', 'Bash(make)']),
  )
  expect(warnings).toEqual([
    'allow rules in 3 other files are ignored because /managed.json allows only those of an administrator. halting config lists them.',
  ])
})

test('settings that an administrator excludes do not ask for trust', () => {
  const project = fileOf('project', { hooks, permissions })
  expect(offersIn([project])).toHaveLength(2)
  const managed = fileOf('managed', { allowManagedHooksOnly: true, allowManagedPermissionRulesOnly: true })
  expect(offersIn([managed, project])).toEqual([])
})

test.each(['flag', 'local', 'project', 'user'] as const)(
  'these settings have no effect in a file of the level %s',
  async (level) => {
    const { settings, warnings } = await merged({}, { [level]: { allowManagedHooksOnly: true, hooks } })
    expect(settings.hooks).toEqual(hooks)
    expect(warnings).toEqual([`allowManagedHooksOnly in /${level}.json is ignored: only an administrator can set it.`])
  },
)

test('an invalid value of an administrator stops the program', async () => {
  await expect(merged({ allowManagedHooksOnly: 'yes' }, {})).rejects.toThrow(
    '/managed.json:1: allowManagedHooksOnly must be true or false (received "yes").',
  )
})

test('fixed allow rules cannot be offered, learned, added or stored', async () => {
  const rules = createPermissions({ cwd: '/p', allow: ['Bash(npm test)'], hasFixedAllow: true })
  const request = (line: string) => ({
    call: { type: 'tool_use' as const, id: 'a', name: 'Bash', input: { command: line } },
    tool: { name: 'Bash', description: '', inputSchema: {}, readOnly: false, execute: () => '' },
    readOnly: false,
  })
  const learn = (behavior: 'allow' | 'deny'): PermissionUpdate => ({
    type: 'addRules',
    rules: [{ toolName: 'Bash' }],
    behavior,
    destination: 'session',
  })
  expect(rules.decide(request('npm test'))).toEqual({ behavior: 'allow' })
  expect(rules.decide(request('make'))).toEqual({ behavior: 'ask', message: 'no rule allows this command.' })
  expect(rules.decide({ ...request('make'), learned: [learn('allow')] })).toMatchObject({ behavior: 'ask' })
  expect(rules.decide({ ...request('npm test'), learned: [learn('deny')] })).toMatchObject({ behavior: 'deny' })
  expect(rules.remedyFor(request('make'))).toBeUndefined()
  expect(rules.suggest?.(request('make'))).toEqual([])
  expect(rules.explain('make').parts).toEqual([{ part: 'make', behavior: 'ask', because: expect.any(String) }])
  expect(() => rules.addRules('allow', ['Bash'])).toThrow('only the rules of an administrator allow')
  await expect(rules.keep?.([learn('allow')])).rejects.toThrow('only the rules of an administrator allow')
  await rules.keep?.([learn('deny')])
})

const sandbox = {
  enabled: true,
  network: { allowedDomains: ['evil.example'], deniedDomains: ['gist.github.com'] },
  filesystem: { allowRead: ['~/.npmrc'], denyRead: ['~/work'] },
}

test('allowManagedDomainsOnly: the sandbox reaches only the domains of an administrator, and denials of others remain', async () => {
  const rules = { allow: ['WebFetch(domain:docs.example)', 'Bash(make)'] }
  const { settings, ignored, warnings } = await merged(
    { sandbox: { network: { allowManagedDomainsOnly: true, allowedDomains: ['example.com'] } }, permissions: rules },
    { flag: { sandbox }, project: { sandbox }, user: { sandbox } },
  )
  expect(sandboxSettingsOf(settings.sandbox ?? [])).toMatchObject({
    enabled: true,
    allowedDomains: ['example.com'],
    deniedDomains: ['gist.github.com'],
    allowRead: ['~/.npmrc'],
  })
  expect(settings.managedDomains).toEqual(['docs.example'])
  const why = 'sandbox.network.allowManagedDomainsOnly in /managed.json'
  expect(ignored.filter(({ forTrust }) => !forTrust)).toEqual(
    ['flag', 'project', 'user'].map((level) => ({
      setting: 'sandbox.network.allowedDomains',
      text: 'evil.example',
      from: `/${level}.json`,
      why,
      forTrust: false,
    })),
  )
  expect(warnings).toEqual([
    'sandbox domains in 3 other files are ignored because /managed.json allows only those of an administrator. halting config lists them.',
  ])
})

test('allowManagedReadPathsOnly: only an administrator opens paths that the sandbox protects', async () => {
  const { settings } = await merged(
    { sandbox: { filesystem: { allowManagedReadPathsOnly: true, allowRead: ['/etc/ssh'] } } },
    { flag: { sandbox }, user: { sandbox } },
  )
  expect(sandboxSettingsOf(settings.sandbox ?? [])).toMatchObject({
    allowedDomains: ['evil.example'],
    allowRead: ['/etc/ssh'],
    denyRead: ['~/work'],
  })
  expect(settings.managedDomains).toBeUndefined()
})

test('in other files these settings have no effect, and an invalid value stops the program', async () => {
  const { settings, warnings } = await merged(
    {},
    { user: { sandbox: { ...sandbox, network: { ...sandbox.network, allowManagedDomainsOnly: true } } } },
  )
  expect(sandboxSettingsOf(settings.sandbox ?? []).allowedDomains).toEqual(['evil.example'])
  expect(warnings).toEqual([
    'sandbox.network.allowManagedDomainsOnly in /user.json is ignored: only an administrator can set it.',
  ])
  await expect(merged({ sandbox: { network: { allowManagedDomainsOnly: 'yes' } } }, {})).rejects.toThrow(
    '/managed.json:1: sandbox.network.allowManagedDomainsOnly must be true or false (received "yes").',
  )
})

function administered(files: Readonly<Record<string, unknown>>) {
  const root = mkdtempSync(join(tmpdir(), 'halting-managed-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const dropIns = join(root, 'managed-settings.d')
  mkdirSync(dropIns)
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(root, name), typeof content === 'string' ? content : JSON.stringify(content))
  const load = () => loadSettings({ cwd: root, home: join(root, 'home'), env: {}, managedFolders: [root] })
  return { root, dropIns, load }
}

test('managed-settings.d: a later name precedes an earlier one, and all precede managed-settings.json', async () => {
  const { load } = administered({
    'managed-settings.json': { model: 'base', apiKeyHelper: 'base', permissions: { deny: ['Read(./a)'] } },
    'managed-settings.d/10-first.json': { model: 'first', permissions: { deny: ['Read(./b)'] } },
    'managed-settings.d/20-second.json': { model: 'second', hooks, allowManagedHooksOnly: true },
    'managed-settings.d/.hidden.json': 'not read',
    'managed-settings.d/notes.txt': 'not read',
  })
  const { settings, files } = await load()
  expect(settings).toMatchObject({ model: 'second', apiKeyHelper: 'base', hooks })
  expect(settings.permissions?.deny.map((rule) => (typeof rule === 'string' ? rule : rule.rule))).toEqual([
    'Read(./b)',
    'Read(./a)',
  ])
  expect(files.map(({ level, name }) => [level, name.split('/').at(-1)])).toEqual([
    ['managed', '20-second.json'],
    ['managed', '10-first.json'],
    ['managed', 'managed-settings.json'],
  ])
})

test('managed-settings.d: an invalid file stops the program, and so does an unreadable folder', async () => {
  const wrong = administered({ 'managed-settings.d/a.json': { permissions: { deny: 'Bash' } } })
  await expect(wrong.load()).rejects.toThrow('a.json:1: permissions.deny must be a list')
  const broken = administered({ 'managed-settings.d/a.json': '{' })
  await expect(broken.load()).rejects.toThrow('a.json is not valid JSON')
  const { root, dropIns, load } = administered({})
  rmSync(dropIns, { recursive: true })
  symlinkSync(dropIns, dropIns)
  await expect(load()).rejects.toThrow(`The settings in ${join(root, 'managed-settings.d')} cannot be read: ELOOP`)
})
