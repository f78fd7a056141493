// Holds rules of docs/spec: R-CONF-3, R-CONF-5, R-CONF-6, R-TRUST-1b: settings files that were written to break their reader.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import * as fc from 'fast-check'
import { HaltingError } from '@halting/core'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { readHooks } from '../src/hooks/index.ts'
import { sandboxSettingsOf } from '@halting/policy'
import { createPermissions, loadSettings, type LoadedSettings, type LoadOptions, type Settings } from '../src/index.ts'
import { drawn } from './support/deep.ts'

let root = ''
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'halting-attacks-')))
  mkdirSync(join(root, 'home'))
  mkdirSync(join(root, 'project/.claude'), { recursive: true })
  const made = root
  onTestFinished(() => rmSync(made, { recursive: true }))
})

const projects = 'project/.claude/settings.json'
const own = 'home/.claude/settings.json'

function lay(name: string, content: unknown): void {
  mkdirSync(dirname(join(root, name)), { recursive: true })
  writeFileSync(join(root, name), typeof content === 'string' ? content : JSON.stringify(content))
}

const letters = (text: string): string => text.split('').toSorted().join('')
const nearest: NonNullable<LoadOptions['nearest']> = (given, known) =>
  known.find((one) => letters(one) === letters(given))

const load = (): Promise<LoadedSettings> =>
  loadSettings({ cwd: join(root, 'project'), home: join(root, 'home'), env: {}, nearest })

/** The message of an error that stops the program, as it should. */
async function stopped(): Promise<string> {
  const thrown: unknown = await load().then(
    () => undefined,
    (error: unknown) => error,
  )
  if (thrown instanceof HaltingError && thrown.code === 'configuration') return thrown.message
  if (thrown instanceof Error) throw thrown
  throw new Error('nothing stopped')
}

describe('a file takes linear time (spec R-CONF-3)', () => {
  test('many values under a long key', async () => {
    lay(projects, { ['K'.repeat(500_000)]: Array.from({ length: 240_000 }, () => 1) })
    const begun = performance.now()
    expect((await load()).settings).toEqual({})
    // It took more than a minute.
    expect(performance.now() - begun).toBeLessThan(25_000)
  })

  test.each([
    [
      'keys that nobody knows',
      () => Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`k${index}`, 1])),
    ],
    ['rules that are none', () => ({ permissions: { allow: Array.from({ length: 20_000 }, () => 'Bash(') } })],
  ])('%s: the report stays short', async (_what, content) => {
    lay(own, content())
    expect((await load()).warnings).toHaveLength(11)
  })

  test('a key two hundred thousand times: the report stays short', async () => {
    lay(own, `{${Array.from({ length: 200_000 }, () => '"":1').join(',')}}`)
    expect((await stopped()).length).toBeLessThan(1_000)
  })

  test('a quarter of a million rules break nothing', async () => {
    lay(projects, { permissions: { deny: Array.from({ length: 250_000 }, () => 'a') } })
    expect((await load()).settings.permissions?.deny).toHaveLength(250_000)
  })
})

describe.skipIf(process.platform !== 'linux')('a link that leads out of the project', () => {
  test('to a file that never ends is read to its limit and reported', async () => {
    symlinkSync('/proc/self/pagemap', join(root, projects))
    expect(await stopped()).toMatch(/settings\.json cannot be read: it is larger than 1 MB/)
  })

  test('to a secret reveals no part of the secret', async () => {
    for (const secret of ['SECRET=geheim', '"geheim', 'geheim', '{"a": geheim}', '["geheim"]', 'geheim\n'.repeat(50)]) {
      lay('secret', secret)
      rmSync(join(root, projects), { force: true })
      symlinkSync(join(root, 'secret'), join(root, projects))
      expect(await stopped()).not.toContain('eheim')
    }
  })

  test('to itself is reported', async () => {
    symlinkSync('settings.json', join(root, projects))
    expect(await stopped()).toContain('cannot be read: ELOOP')
  })
})

describe('a misspelled restriction stops the program: it would be mistaken for effective (spec R-CONF-5)', () => {
  test.each([
    [{ deny: ['Bash'] }, 'unknown setting deny. Move deny into permissions: {"permissions": {"deny": …}}.'],
    [{ 'permissions.deny': ['Bash'] }, 'unknown setting permissions.deny. Move deny into permissions: '],
    [{ 'permissions.ask': ['Bash'] }, 'unknown setting permissions.ask. Move ask into permissions: '],
    [{ permissions: { dney: ['Bash'] } }, 'unknown setting permissions.dney. Did you mean deny? Fix or remove it.'],
    [{ permissoins: { deny: ['Bash'] } }, 'unknown setting permissoins. Did you mean permissions?'],
    [
      { sandbox: { network: { allowManagedDomainsOnyl: true } } },
      'unknown setting sandbox.network.allowManagedDomainsOnyl. Did you mean allowManagedDomainsOnly?',
    ],
    [{ snadbox: { enabled: true } }, 'unknown setting snadbox. Did you mean sandbox?'],
    [{ sandbox: { enalbed: true } }, 'unknown setting sandbox.enalbed. Did you mean enabled?'],
    [
      { sandbox: { network: { deniedDomians: ['x'] } } },
      'unknown setting sandbox.network.deniedDomians. Did you mean deniedDomains?',
    ],
    [
      { sandbox: { filesystem: { denyRaed: ['x'] } } },
      'unknown setting sandbox.filesystem.denyRaed. Did you mean denyRead?',
    ],
    [
      { sandbox: { enabled: true, denyRead: ['~/x'] } },
      'unknown setting sandbox.denyRead. Did you mean sandbox.filesystem.denyRead?',
    ],
    [
      { sandbox: { filesystem: { deniedDomains: ['x.org'] } } },
      'unknown setting sandbox.filesystem.deniedDomains. Did you mean sandbox.network.deniedDomains?',
    ],
    [{ hoosk: {} }, 'unknown setting hoosk. Did you mean hooks?'],
  ])('%j', async (content, message) => {
    for (const name of [own, projects]) {
      lay(name, content)
      expect(await stopped()).toContain(`${join(root, name)}:1: ${message}`)
      rmSync(join(root, name))
    }
  }) // prettier-ignore

  test.each([
    [{ allow: ['Bash'] }],
    [{ 'permissions.allow': ['Bash'] }],
    [{ permissions: { 'permissions.allow': ['Bash'], alolw: ['Bash'] } }],
  ])('a misspelled permission is ignored: %j', async (content) => {
    lay(own, content)
    const { settings, warnings } = await load()
    expect([settings.permissions, warnings.length > 0]).toEqual([undefined, true])
  })
})

test('does not show an invalid value of a variable', async () => {
  for (const env of [{ KEY: 'geheim', 'A=B': 'x' }, { KEY: ['geheim'] }, 'KEY=geheim', ['geheim']]) {
    lay(own, { env })
    const { warnings } = await load()
    expect([warnings.length, warnings.join('\n')]).toEqual([1, expect.not.stringContaining('geheim')])
  }
})

describe('a sandbox that only an untrusted project requests lets no command run without asking (spec R-TRUST-1b)', () => {
  test.each([
    ['nobody else has one', undefined, { enabled: true }, true, false],
    ['the person has one', { enabled: true }, { enabled: true }, true, true],
    ['the person has one that asks', { enabled: true, autoAllowBashIfSandboxed: false }, { enabled: true }, true, false],
    ['the person has none', { enabled: false }, { enabled: true, autoAllowBashIfSandboxed: true }, true, false],
    ['the project wants none', { enabled: true }, { enabled: false, autoAllowBashIfSandboxed: true }, true, true],
  ])('%s', async (_case, ownSandbox, sandbox, enabled, autoAllowBashIfSandboxed) => {
    if (ownSandbox !== undefined) lay(own, { sandbox: ownSandbox })
    lay(projects, { sandbox })
    const { settings } = await load()
    expect(sandboxSettingsOf(settings.sandbox ?? [])).toMatchObject({ enabled, autoAllowBashIfSandboxed })
  }) // prettier-ignore
})

describe('files of other programs', () => {
  const command = { type: 'command', command: 'true' }

  test('a hook of an unknown type is reported; where it may guard, nothing runs', async () => {
    const group = { matcher: '', hooks: [{ type: 'agent', prompt: 'x' }, command] }
    lay(own, { hooks: { Stop: [group] } })
    const { settings, warnings } = await load()
    expect(settings.hooks).toEqual({ Stop: [{ matcher: '', hooks: [command] }] })
    expect(warnings).toEqual([
      `${join(root, own)}:1: hooks.Stop[0].hooks[0] has the type "agent". Supported types: command, http, prompt. Ignored.`,
    ])
    for (const event of ['PreToolUse', 'PermissionRequest', 'UserPromptSubmit']) {
      lay(own, { hooks: { [event]: [group] } })
      expect(await stopped()).toContain(`hooks.${event}[0].hooks[0] has the type "agent"`)
    }
  })

  test('irrelevant keys are ignored silently; what an administrator locks is reported', async () => {
    lay(own, { enabledPlugins: { 'a@b': true }, spinnerTipsEnabled: false, forceLoginMethod: 'x', language: 'de' })
    expect((await load()).warnings).toEqual([])
    lay(own, { allowManagedHooksOnly: true })
    expect((await load()).warnings).toHaveLength(1)
  })

  test.each(['Bash(rm *)', 'Bash(npm:*)', 'Read(./.env)', 'Edit(~/x)'])('warns of the matcher %s', (matcher) => {
    const { warnings } = readHooks({ PreToolUse: [{ matcher, hooks: [command] }] })
    const [tool] = matcher.split('(')
    expect(warnings).toEqual([
      expect.stringMatching(new RegExp(`looks like a permission rule\\. Use ${tool}, and check tool_input`)),
    ])
    expect(warnings[0]).toContain(`"${matcher}"`)
  })

  test.each(['Notebook(Edit|Read)', 'Edit(.*)', 'mcp__(a|b)__.*', '^(Bash)$'])(
    '%s is a matcher like any other',
    (matcher) => {
      expect(readHooks({ PreToolUse: [{ matcher, hooks: [command] }] }).warnings).toEqual([])
    },
  )
})

/** The calls that run without asking. */
function opened({ permissions: rules, sandbox = [] }: Settings): readonly boolean[] {
  const held = sandboxSettingsOf(sandbox)
  const permissions = createPermissions({
    cwd: join(root, 'project'),
    whenAsked: 'deny',
    ...(rules && { allow: rules.allow, deny: rules.deny, ask: rules.ask, mode: rules.defaultMode ?? 'default' }),
    additionalDirectories: rules?.additionalDirectories ?? [],
    sandbox: { holds: () => held.enabled && held.autoAllowBashIfSandboxed },
  })
  const inputs = [
    ['Read', { file_path: 'a' }],
    ['Read', { file_path: '.env' }],
    ['Read', { file_path: '/etc/passwd' }],
    ['Write', { file_path: 'a', content: '' }],
    ['Bash', { command: 'ls' }],
    ['Bash', { command: 'npm test' }],
    ['Bash', { command: 'npm publish' }],
    ['Bash', { command: 'rm -rf x' }],
  ] as const
  return inputs.map(([name, input]) => {
    const call = { type: 'tool_use', id: 't', name, input }
    // True: these rules use only these fields.
    const request = { call, readOnly: name === 'Read', tool: { name } } as unknown as Parameters<
      typeof permissions.decide
    >[0]
    const decision = permissions.decide(request) as { readonly behavior: string }
    return permissions.denies(request) === undefined && decision.behavior === 'allow'
  })
}

async function openedBy(text: string, name: string): Promise<readonly boolean[] | 'stopped'> {
  writeFileSync(join(root, name), text)
  const loaded = await load().catch((thrown: unknown) => {
    if (thrown instanceof HaltingError && thrown.code === 'configuration') return undefined
    throw thrown
  })
  return loaded === undefined ? 'stopped' : opened(loaded.settings)
}

const isMore = (now: readonly boolean[] | 'stopped', before: readonly boolean[]): boolean =>
  now !== 'stopped' && now.some((isOpen, index) => isOpen && before[index] !== true)

test('a typo in deny rules never allows more than the file without them (spec R-CONF-6)', async () => {
  lay(own, {})
  const before = '{"permissions":{"allow":["Bash(npm *)"],'
  const without = await openedBy(`${before}"ask":[]}}`, own)
  if (without === 'stopped') throw new Error('these rules stop nothing')
  expect(without).toContain(false)
  const rule = fc.constantFrom('Bash', 'Bash(npm publish)', 'Read(.env)', 'Bash(npm:*)', 'Edit(//**)', 'mcp__a')
  const key = fc.constantFrom('deny', 'ask')
  const slip = fc.tuple(fc.nat(60), fc.constantFrom(...'"[]{},:()*\\ \n\u0000'.split(''), 'x', 'allow', '""', '\\u0022', ''), fc.nat(3))
  let [ran, outcomes] = [0, 0]
  await fc.assert(
    fc.asyncProperty(key, fc.array(rule, { minLength: 1, maxLength: 3 }), fc.array(slip, { minLength: 1, maxLength: 3 }), async (name, rules, slips) => {
      let part = `${JSON.stringify(name)}:${JSON.stringify(rules)}}}`
      for (const [at, put, left] of slips) part = part.slice(0, at) + put + part.slice(at + left)
      const now = await openedBy(before + part, own)
      if (now !== 'stopped') ran++
      outcomes++
      expect([isMore(now, without), part]).toEqual([false, part])
    }),
    { numRuns: drawn(2_000) },
  )
  expect(ran).toBeGreaterThan(outcomes / 50)
}, 120_000) // prettier-ignore

test('no sandbox setting of an untrusted project opens more than without it (spec R-CONF-6)', async () => {
  const value = fc.oneof(fc.boolean(), fc.constantFrom('*', null, 1, [], ['*'], ['/'], {}), fc.jsonValue({ maxDepth: 2 }))
  const inner = (...names: readonly string[]): fc.Arbitrary<unknown> => fc.oneof(fc.dictionary(fc.constantFrom(...names), value), value)
  const sandbox = fc.record({
    enabled: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, value),
    autoAllowBashIfSandboxed: value,
    allowUnsandboxedCommands: value,
    excludedCommands: value,
    network: inner('allowedDomains', 'deniedDomains', 'allowAllUnixSockets'),
    filesystem: inner('allowWrite', 'denyWrite', 'denyRead', 'allowRead'),
  }, { requiredKeys: [] })
  const without = opened({})
  await fc.assert(
    fc.asyncProperty(sandbox, async (given) => {
      const now = await openedBy(JSON.stringify({ sandbox: given }), projects).catch((thrown: unknown) => {
        if (thrown instanceof HaltingError && thrown.code === 'configuration') return 'stopped' as const
        throw thrown
      })
      expect(isMore(now, without)).toBe(false)
    }),
    { numRuns: drawn(1_000) },
  )
}, 120_000) // prettier-ignore
