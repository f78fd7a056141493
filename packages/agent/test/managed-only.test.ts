// Holds R-CONF-7a of docs/spec.md: what an administrator keeps for their own files.
import { expect, test } from 'vitest'
import type { PermissionUpdate } from '@halting/core/adapters'
import { createPermissions, type LoadedSettings } from '../src/index.ts'
import type { SettingsLevel } from '../src/settings/places.ts'
import { offersIn, weighFiles } from '../src/settings/weigh-files.ts'

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

const weighed = (managed: object, others: Partial<Record<SettingsLevel, object>>): Promise<LoadedSettings> =>
  weighFiles(
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
  const { settings, ignored, origins, warnings } = await weighed(
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
    "hooks of 4 other files do not count: /managed.json lets in an administrator's alone; halting config tells them.",
  ])
  expect(origins[0]).toEqual({ setting: 'allowManagedHooksOnly', value: true, from: '/managed.json' })
})

test('allowManagedPermissionRulesOnly: only the rules of an administrator allow; what forbids counts, whosever it is', async () => {
  const { settings, ignored, warnings } = await weighed(
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
    "allow rules of 3 other files do not count: /managed.json lets in an administrator's alone; halting config tells them.",
  ])
})

test('trust is not asked for what an administrator leaves out', () => {
  const project = fileOf('project', { hooks, permissions })
  expect(offersIn([project])).toHaveLength(2)
  const managed = fileOf('managed', { allowManagedHooksOnly: true, allowManagedPermissionRulesOnly: true })
  expect(offersIn([managed, project])).toEqual([])
})

test.each(['flag', 'local', 'project', 'user'] as const)(
  'in a file of the level %s they say nothing',
  async (level) => {
    const { settings, warnings } = await weighed({}, { [level]: { allowManagedHooksOnly: true, hooks } })
    expect(settings.hooks).toEqual(hooks)
    expect(warnings).toEqual([`allowManagedHooksOnly in /${level}.json does not count: it is an administrator's.`])
  },
)

test('a wrong value of an administrator stops the program', async () => {
  await expect(weighed({ allowManagedHooksOnly: 'yes' }, {})).rejects.toThrow(
    '/managed.json:1: allowManagedHooksOnly must be true or false; it is "yes".',
  )
})

test('where the allow rules are fixed, none is offered, learned, added or kept', async () => {
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
  expect(rules.decide(request('make'))).toEqual({ behavior: 'ask', message: 'no rule allows all of it.' })
  expect(rules.decide({ ...request('make'), learned: [learn('allow')] })).toMatchObject({ behavior: 'ask' })
  expect(rules.decide({ ...request('npm test'), learned: [learn('deny')] })).toMatchObject({ behavior: 'deny' })
  expect(rules.remedyFor(request('make'))).toBeUndefined()
  expect(rules.suggest?.(request('make'))).toEqual([])
  expect(rules.explain('make').parts).toEqual([{ part: 'make', behavior: 'ask', because: expect.any(String) }])
  expect(() => rules.addRules('allow', ['Bash'])).toThrow('only the rules of an administrator allow')
  await expect(rules.keep?.([learn('allow')])).rejects.toThrow('only the rules of an administrator allow')
  await rules.keep?.([learn('deny')])
})
