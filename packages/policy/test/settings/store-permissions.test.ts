// Holds rules of docs/spec: R-LEARN-1 to R-LEARN-6b.
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { changeTrust } from '../../src/trust/trust-store.ts'
import { loadSettings, projectOffers } from '../../src/settings/settings.ts'
import {
  suggestionDestination,
  removeStoredRule,
  settingsWriter,
  type SettingsWriterOptions,
} from '../../src/settings/store-permissions.ts'
import { realPath } from '@halting/journal/files'
import { createPermissions } from '../../src/permissions/permissions.ts'
import { QueryEngine, type PermissionRequest } from '@halting/core'
import type { PermissionUpdate } from '@halting/core/adapters'
import { scriptedModel } from '@halting/core/testing'
import { array, assert, constant, constantFrom, integer, oneof, property } from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { withoutText, withValue } from '../../src/settings/json-edit.ts'

type Destination = PermissionUpdate['destination']
const rules = (
  texts: readonly string[],
  destination: Destination = 'localSettings',
  more: {
    readonly type?: 'addRules' | 'replaceRules' | 'removeRules'
    readonly behavior?: 'allow' | 'deny' | 'ask'
  } = {},
): PermissionUpdate => ({
  type: 'addRules',
  behavior: 'allow',
  rules: texts.map((text) => {
    const [, toolName = text, ruleContent] = /^(\w+)\((.*)\)$/s.exec(text) ?? []
    return ruleContent === undefined ? { toolName } : { toolName, ruleContent }
  }),
  destination,
  ...more,
})

/** A temporary folder is never trusted, so these folders are elsewhere. */
function place(): SettingsWriterOptions & { readonly cwd: string; readonly home: string } {
  const base = join(homedir(), '.cache/halting-tests')
  mkdirSync(base, { recursive: true })
  const root = realPath(mkdtempSync(join(base, 'keep-')))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const [cwd, home] = [join(root, 'project'), join(root, 'home')]
  mkdirSync(cwd)
  mkdirSync(home)
  return { cwd, home, env: {} }
}

async function trusted(): Promise<ReturnType<typeof place>> {
  const options = place()
  const offers = (await projectOffers(options)).map(({ id }) => id)
  await changeTrust(options, (records) => void records.set(options.cwd, { trusted: true, since: '', offers }))
  return options
}

const allowOf = async (options: SettingsWriterOptions) =>
  (await loadSettings({ ...options })).settings.permissions?.allow.map((rule) =>
    typeof rule === 'string' ? rule : rule.rule,
  )

test('a stored rule applies in the next session: of the person, for one project, of the project', async () => {
  const options = await trusted()
  await settingsWriter(options)([
    rules(['Bash(npm test)'], 'userSettings'),
    rules(['Bash(make:*)'], 'localSettings'),
    rules(['Read(//data/**)'], 'projectSettings'),
    rules(['WebFetch'], 'session'),
  ])
  expect(await allowOf(options)).toEqual(['Bash(make:*)', 'Read(//data/**)', 'Bash(npm test)'])
  const files = [
    'home/.halting/settings.json',
    'project/.halting/settings.local.json',
    'project/.halting/settings.json',
  ]
  expect(files.map((file) => existsSync(join(options.cwd, '..', file)))).toEqual([true, true, true])
  expect(readFileSync(join(options.home, '.halting/settings.json'), 'utf8')).toBe(
    '{\n  "permissions": {\n    "allow": [\n      "Bash(npm test)"\n    ]\n  }\n}\n',
  )
  expect(statSync(join(options.home, '.halting/settings.json')).mode & 0o777).toBe(0o600)
})

test('rules that a pull adds at the same time are not trusted', async () => {
  const options = await trusted()
  mkdirSync(join(options.cwd, '.halting'))
  writeFileSync(join(options.cwd, '.halting/settings.json'), '{"permissions": {"allow": ["Bash(curl:*)"]}}')
  await settingsWriter(options)([rules(['Bash(make)'], 'projectSettings')])
  expect(await allowOf(options)).toEqual(['Bash(make)'])
})

test('in an untrusted folder no loosening is stored, and restrictions are stored for the person only', async () => {
  const options = place()
  const keep = settingsWriter(options)
  for (const destination of ['localSettings', 'projectSettings'] as const)
    await expect(keep([rules(['Bash(make)'], destination)])).rejects.toThrow(/is not trusted.*userSettings/s)
  await expect(keep([rules(['Bash(rm:*)'], 'projectSettings', { behavior: 'deny' })])).rejects.toThrow(/is not trusted/)
  expect(existsSync(join(options.cwd, '.halting'))).toBe(false)
  await keep([rules(['Bash(rm:*)'], 'localSettings', { behavior: 'deny' })])
  await keep([rules(['Bash(make)'], 'userSettings')])
  const { settings } = await loadSettings(options)
  expect([settings.permissions?.deny.length, await allowOf(options)]).toEqual([1, ['Bash(make)']])
  await settingsWriter({ ...options, trustedBy: '--trust' })([rules(['Bash(x)'])])
})

test('an existing file is changed, also one of other agents; a personal link remains, and one out of the project is refused', async () => {
  const options = await trusted()
  mkdirSync(join(options.cwd, '.claude'))
  const theirs = join(options.cwd, '.claude/settings.local.json')
  writeFileSync(theirs, '{"permissions":{"allow":["Bash(a)"]}}', { mode: 0o644 })
  await settingsWriter(options)([rules(['Bash(b)'])])
  expect([readFileSync(theirs, 'utf8'), statSync(theirs).mode & 0o777]).toEqual([
    '{"permissions":{"allow":["Bash(a)", "Bash(b)"]}}',
    0o644,
  ])
  const dotfiles = join(options.home, 'dotfiles.json')
  writeFileSync(dotfiles, '{}')
  mkdirSync(join(options.home, '.claude'))
  symlinkSync(dotfiles, join(options.home, '.claude/settings.json'))
  await settingsWriter(options)([rules(['Bash(c)'], 'userSettings')])
  expect([
    readFileSync(dotfiles, 'utf8').includes('Bash(c)'),
    lstatSync(join(options.home, '.claude/settings.json')).isSymbolicLink(),
  ]).toEqual([true, true])
  const outside = join(options.home, 'outside.json')
  writeFileSync(outside, '{}')
  symlinkSync(outside, join(options.cwd, '.claude/settings.json'))
  await expect(settingsWriter(options)([rules(['Bash(d)'], 'projectSettings')])).rejects.toThrow(/outside the project/)
  expect(readFileSync(outside, 'utf8')).toBe('{}')
})

test.each(['not json', '[]', '{"permissions": 3}', '{"permissions": {"allow": "x"}}'])(
  'a damaged file remains unchanged: %s',
  async (text) => {
    const options = await trusted()
    const path = join(options.home, '.halting/settings.json')
    writeFileSync(path, text)
    await expect(settingsWriter(options)([rules(['Bash(a)'], 'userSettings')])).rejects.toThrow(/nothing was changed/i)
    expect(readFileSync(path, 'utf8')).toBe(text)
  },
)

test('rules are replaced and removed, directories and the mode are stored', async () => {
  const options = await trusted()
  const keep = settingsWriter(options)
  await keep([rules(['Bash(a)', 'Bash(b)'])])
  await keep([rules(['Bash(a)'], 'localSettings', { type: 'removeRules' })])
  expect(await allowOf(options)).toEqual(['Bash(b)'])
  await keep([rules(['Bash(c)'], 'localSettings', { type: 'replaceRules' })])
  expect(await allowOf(options)).toEqual(['Bash(c)'])
  await keep([
    { type: 'addDirectories', directories: [options.home], destination: 'localSettings' },
    { type: 'setMode', mode: 'acceptEdits', destination: 'localSettings' },
  ])
  const { settings } = await loadSettings(options)
  expect([settings.permissions?.additionalDirectories, settings.permissions?.defaultMode]).toEqual([
    [options.home],
    'acceptEdits',
  ])
})

test('a rule is removed from its file, and every other byte remains', async () => {
  const options = place()
  const path = join(options.home, '.halting/settings.json')
  mkdirSync(join(options.home, '.halting'))
  const text =
    '{\n  "model" : "x",\n  "permissions": {\n    "allow": [\n      "Bash(a)",\n      "Bash(b)" ,\n      "Bash(a)"\n    ]\n  }\n}\n'
  writeFileSync(path, text)
  const stored = { behavior: 'allow', rule: 'Bash(a)', path, level: 'user' } as const
  expect(await removeStoredRule(stored, options)).toBe(true)
  expect(readFileSync(path, 'utf8')).toBe(
    '{\n  "model" : "x",\n  "permissions": {\n    "allow": [\n      "Bash(b)"\n    ]\n  }\n}\n',
  )
  expect(await removeStoredRule(stored, options)).toBe(false)
  const outside = join(options.home, 'outside.json')
  writeFileSync(outside, '{"permissions":{"allow":["Bash(a)"]}}')
  mkdirSync(join(options.cwd, '.claude'))
  const link = join(options.cwd, '.claude/settings.json')
  symlinkSync(outside, link)
  await expect(removeStoredRule({ ...stored, path: link, level: 'project' }, options)).rejects.toThrow(
    /outside the project/,
  )
})

test('the text is removed from any list, and the rest remains as written', () => {
  assert(
    property(
      array(oneof(constantFrom('a', 'b', 'x"\\]'), integer(), constant({ a: ['a'] })), { maxLength: 6 }),
      constantFrom('', ' ', '\n  '),
      (list, blank) => {
        const written = `{"permissions":{"allow":[${list.map((each) => blank + JSON.stringify(each) + blank).join(',')}]},"a":["a"]}`
        const next = withoutText(written, ['permissions', 'allow'], 'a')
        expect(JSON.parse(next)).toEqual({ permissions: { allow: list.filter((each) => each !== 'a') }, a: ['a'] })
        expect(list.includes('a') || next === written).toBe(true)
      },
    ),
  )
})

test('a list with thousands of copies of a rule is changed quickly', () => {
  const list = Array.from({ length: 20_000 }, (_, index) => (index % 2 === 0 ? 'a' : `b${index}`))
  const begun = performance.now()
  const next = withoutText(JSON.stringify({ permissions: { allow: list } }), ['permissions', 'allow'], 'a')
  expect(JSON.parse(next)).toEqual({ permissions: { allow: list.filter((each) => each !== 'a') } })
  expect(performance.now() - begun).toBeLessThan(3_000)
})

test('a withdrawn rule allows nothing until somebody adds it again', () => {
  const permissions = createPermissions({ cwd: '/work', allow: ['Bash(make *)'], env: {} })
  const request = (learned: readonly PermissionUpdate[]): PermissionRequest => ({
    call: { type: 'tool_use', id: 'c', name: 'Bash', input: { command: 'make all' } },
    tool: { name: 'Bash', description: '', inputSchema: {}, readOnly: false, execute: () => '' },
    readOnly: false,
    learned,
  })
  const answered = [rules(['Bash(make *)'], 'session')]
  expect(permissions.decide(request(answered))).toMatchObject({ behavior: 'allow' })
  expect(permissions.rules()).toEqual([{ behavior: 'allow', rule: 'Bash(make *)', destination: 'session' }])
  permissions.withdrawAllow('Bash(make *)')
  expect(permissions.rules()).toEqual([])
  expect(permissions.decide(request(answered))).toMatchObject({ behavior: 'ask' })
  expect(permissions.decide(request([...answered, rules(['Bash(make *)'], 'session')]))).toMatchObject({
    behavior: 'allow',
  })
})

test('concurrent changes lose no rule', async () => {
  const options = await trusted()
  const names = Array.from({ length: 8 }, (_, index) => `Bash(n${index})`)
  await Promise.all(names.map((name) => settingsWriter(options)([rules([name], 'userSettings')])))
  expect((await allowOf(options))?.toSorted()).toEqual(names)
})

test.each([
  ['', '{\n  "permissions": {\n    "allow": [\n      "x"\n    ]\n  }\n}\n'],
  ['{}\n', '{\n  "permissions": {\n    "allow": [\n      "x"\n    ]\n  }\n}\n'],
  ['{"a":1}', '{"a":1, "permissions": { "allow": ["x"] }}'],
  [
    '{\n\t"b":   [1,2],\n\t"permissions": {\n\t\t"deny": ["y"]\n\t}\n}\n',
    '{\n\t"b":   [1,2],\n\t"permissions": {\n\t\t"deny": ["y"],\n\t\t"allow": [\n\t\t\t"x"\n\t\t]\n\t}\n}\n',
  ],
  [
    '\uFEFF{\r\n    "permissions": {\r\n        "allow": [\r\n            "w"\r\n        ]\r\n    }\r\n}',
    '\uFEFF{\r\n    "permissions": {\r\n        "allow": [\r\n            "x"\r\n        ]\r\n    }\r\n}',
  ],
  ['{"permissions":{"allow":["w"]},"z":"}\\"]"}', '{"permissions":{"allow":["x"]},"z":"}\\"]"}'],
])('the rest of a file remains as written: %j', (text, expected) => {
  expect(withValue(text, ['permissions', 'allow'], ['x'])).toBe(expected)
})

test('a text that is not JSON remains unchanged', () => {
  expect(() => withValue('{\n\t"b":   [1,2],\n', ['permissions', 'allow'], ['x'])).toThrow(/JSON/)
})

const requestOf = (name: string, input: object, learned?: readonly PermissionUpdate[]): PermissionRequest => ({
  call: { type: 'tool_use', id: 'c', name, input },
  tool: { name, description: '', inputSchema: {}, readOnly: false, execute: () => '' },
  readOnly: false,
  ...(learned !== undefined && { learned }),
})

test('learned rules apply like rules of settings, deny before ask before allow', async () => {
  const { cwd } = place()
  const permissions = createPermissions({ cwd, allow: ['Bash(make)'], deny: ['Bash(rm:*)'] })
  const behavior = async (command: string, ...learned: PermissionUpdate[]) =>
    (await permissions.decide(requestOf('Bash', { command }, learned))).behavior
  expect([
    await behavior('npm test'),
    await behavior('npm test', rules(['Bash(npm test)'])),
    await behavior('npm test', rules(['Bash(npm test)']), rules(['Bash(npm:*)'], 'session', { behavior: 'ask' })),
    await behavior('npm test', rules(['Bash(npm test)']), rules(['Bash(npm:*)'], 'session', { behavior: 'deny' })),
    await behavior(
      'npm test',
      rules(['Bash(npm test)']),
      rules(['Bash(npm test)'], 'localSettings', { type: 'removeRules' }),
    ),
    await behavior(
      'npm test',
      rules(['Bash(npm test)']),
      rules(['Bash(ls)'], 'localSettings', { type: 'replaceRules' }),
    ),
    await behavior('make'),
    await behavior('make', rules(['Bash(make)'], 'userSettings', { type: 'removeRules' })),
    // An answer cannot remove a deny rule of the settings.
    await behavior(
      'rm x',
      rules(['Bash(rm:*)'], 'userSettings', { type: 'removeRules', behavior: 'deny' }),
      rules(['Bash']),
    ),
    await behavior('touch a', { type: 'setMode', mode: 'acceptEdits', destination: 'session' }),
  ]).toEqual(['ask', 'allow', 'ask', 'deny', 'ask', 'ask', 'allow', 'ask', 'deny', 'allow'])
  await expect(permissions.keep?.([rules(['Bash()'])])).rejects.toThrow(/cannot be read/)
})

test('a learned directory belongs to the session', async () => {
  const { cwd, home } = place()
  const permissions = createPermissions({ cwd })
  const read = requestOf('Read', { file_path: join(home, 'x') }, [
    { type: 'addDirectories', directories: [home], destination: 'session' },
  ])
  expect(await permissions.decide({ ...read, readOnly: true })).toEqual({ behavior: 'allow' })
})

test('suggestions are stored where they take effect: neither in an untrusted folder nor in a home folder', async () => {
  const [unknown, known] = [place(), await trusted()]
  const home = { ...unknown, cwd: unknown.home }
  const places = [unknown, known, { ...unknown, trustedBy: '--trust' }, { ...home, trustedBy: '--trust' }]
  expect(await Promise.all(places.map(suggestionDestination))).toEqual([
    'session',
    'localSettings',
    'localSettings',
    'session',
  ])
  for (const options of [...places, { ...known, trustedBy: false as const }]) {
    const suggestFor = await suggestionDestination(options)
    const permissions = createPermissions({ cwd: options.cwd, keep: settingsWriter(options), suggestFor })
    const suggestions = permissions.suggest?.(requestOf('Bash', { command: 'npm test' })) ?? []
    expect(suggestions.map(({ destination }) => destination)).toEqual([suggestFor])
    // The suggestion has an effect.
    await permissions.keep?.(suggestions)
  }
})

test('a suggestion would allow the call', async () => {
  const { cwd } = place()
  const permissions = createPermissions({ cwd })
  const cases: readonly (readonly [string, object])[] = [
    ['Bash', { command: 'npm test && make > out.txt' }],
    ['Edit', { file_path: join(cwd, 'a.ts'), old_string: 'a', new_string: 'b' }],
    ['Read', { file_path: '/etc/hosts' }],
    ['WebFetch', { url: 'https://example.com/x', prompt: '' }],
    ['mcp__server__do', {}],
  ]
  for (const [name, input] of cases) {
    const [first, ...more] = permissions.suggest?.(requestOf(name, input)) ?? []
    expect([name, first?.type, more.map(({ type }) => type)]).toEqual([
      name,
      'addRules',
      name === 'Edit' ? ['setMode'] : [],
    ])
    for (const suggestion of [first, ...more])
      expect([
        name,
        await permissions.decide(requestOf(name, input, suggestion === undefined ? [] : [suggestion])),
      ]).toEqual([name, { behavior: 'allow' }])
  }
  expect(permissions.suggest?.(requestOf('Bash', { command: 'rm -rf *' }))).toEqual([])
  // Commands that only a rule for all commands would allow (R-LEARN-6a).
  for (const command of ['echo \u001B]x', '$PROGRAM a', 'eval "$X"'])
    expect([command, permissions.suggest?.(requestOf('Bash', { command }))]).toEqual([command, []])
})

test('an engine asks, stores the answer in a file, and the next session has it', async () => {
  const options = await trusted()
  let asked = 0
  const session = async (): Promise<void> => {
    const { settings } = await loadSettings(options)
    const permissions = createPermissions({
      cwd: options.cwd,
      allow: settings.permissions?.allow ?? [],
      keep: settingsWriter(options),
    })
    const bash = {
      name: 'Bash',
      description: '',
      inputSchema: { type: 'object' },
      readOnly: false,
      execute: () => 'ran',
    } as const
    const engine = new QueryEngine({
      model: scriptedModel([{ toolCalls: [{ name: 'Bash', input: { command: 'npm test' } }] }, 'done']),
      tools: [bash],
      permissions,
      canUseTool: (_name, _input, { suggestions }) => {
        asked++
        return { behavior: 'allow', updatedPermissions: suggestions }
      },
    })
    for await (const _ of engine.submit('go'));
    expect(engine.lastTerminal?.reason).toBe('completed')
  }
  await session()
  await session()
  expect([asked, await allowOf(options)]).toEqual([1, ['Bash(npm test)']])
})
