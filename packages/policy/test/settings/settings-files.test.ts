// Holds rules of docs/spec: R-CONF-1 to R-CONF-6.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { HaltingError } from '@halting/core'
import { createPermissions } from '../../src/permissions/permissions.ts'
import { loadSettings } from '../../src/settings/settings.ts'
import type { LoadedSettings, LoadOptions } from '../../src/settings/loaded-settings.ts'
import { drawn } from '../support/deep.ts'

interface Place {
  readonly home: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  write(name: string, content: unknown): string
}

function place(): Place {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'halting-files-')))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const [home, cwd] = [join(root, 'home'), join(root, 'project')]
  mkdirSync(home)
  mkdirSync(cwd)
  return {
    home,
    cwd,
    env: {},
    write(name, content) {
      const path = name.startsWith('~/') ? join(home, name.slice(2)) : join(cwd, name)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
      return path
    },
  }
}

const load = (where: Place, options: Partial<LoadOptions> = {}): Promise<LoadedSettings> =>
  loadSettings({ cwd: where.cwd, home: where.home, env: where.env, ...options })

const own = '~/.claude/settings.json'

describe('an invalid value that restricts, limits or preserves something stops the program, with line, field and expected value (spec R-CONF-3)', () => {
  test.each([
    ['{\n"permissions": []}', ':2: permissions must be an object, such as {"deny": ["Read(./.env)"]} (received []).'],
    [
      '{"permissions":\n{\n"deny": "Bash"}}',
      ':3: permissions.deny must be a list, each entry a rule, such as Read(./.env) (received "Bash").',
    ],
    [
      '{"permissions":{"deny":["Bash",\n7]}}',
      ':2: permissions.deny[1] must be a rule, such as Read(./.env) (received 7).',
    ],
    [
      '{"permissions":{"ask":["Bash",\n"",\n"Bash("]}}',
      ':2: permissions.ask[1] must be a rule, such as Bash(git push *) (received "").',
    ],
    [
      '{"permissions":{"ask":[\n"Bash("]}}',
      ':2: permissions.ask[0] is not a valid rule ("Bash("): a rule is Tool or Tool(spec), such as Read or Bash(npm test).',
    ],
    [
      '{"permissions":{"defaultMode":"plam"}}',
      ':1: permissions.defaultMode must be one of default, acceptEdits, plan, dontAsk, bypassPermissions (received "plam").',
    ],
    [
      '{"permissions":{"disableBypassPermissionsMode":"no"}}',
      'permissions.disableBypassPermissionsMode must be "disable", or omitted (received "no").',
    ],
    ['{"hooks":{"PreToolUse":{}}}', ':1: hooks.PreToolUse must be a list, such as [{"hooks": [...]}] (received {}).'],
    [
      '{"hooks":{"PreToolUse":[{"hooks":[\n{"type":"command"}]}]}}',
      ':2: hooks.PreToolUse[0].hooks[0].command must be a command (a string) (it is missing).',
    ],
    [
      '{"hooks":{"PreToolUse":[{"hooks":[{"type":"comand","command":"x"}]}]}}',
      'hooks.PreToolUse[0].hooks[0].type must be command, http or prompt (received "comand").',
    ],
    [
      '{"hooks":{"PreToolUse":[{"matcher":"Bash(","hooks":[]}]}}',
      'hooks.PreToolUse[0].matcher must be tool names, such as Edit|Write, or a regular expression (received "Bash(").',
    ],
    [
      '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x","timeout":-1}]}]}}',
      'hooks.Stop[0].hooks[0].timeout must be a number of seconds above 0 (received -1).',
    ],
    [
      '{"sandbox":{"network":{"deniedDomains":"evil.example"}}}',
      ':1: sandbox.network.deniedDomains must be a list, each entry a domain (received "evil.example").',
    ],
    ['{"sandbox":{"filesystem":{"denyRead":[1]}}}', ':1: sandbox.filesystem.denyRead[0] must be a path (received 1).'],
    [
      '{"sandbox":{"network":[]}}',
      ':1: sandbox.network must be an object, such as {"allowedDomains": ["example.com"]} (received []).',
    ],
    [
      '{"hooks":{"Stop":[{"hooks":[{"type":"comand","command":"x"}]}]}}',
      ':1: hooks.Stop[0].hooks[0].type must be command, http or prompt (received "comand").',
    ],
    [
      '{"hooks":{"Stop":[{"hooks":["x"]}]}}',
      ':1: hooks.Stop[0].hooks[0] must be an object with a type: command, http or prompt (received "x").',
    ],
    ['{"sandbox":{"enabled":"yes"}}', ':1: sandbox.enabled must be true or false (received "yes").'],
    ['{"cleanupPeriodDays":0}', 'cleanupPeriodDays must be a whole number of days, at least 1'],
    ['{"modelPrices":[]}', ':1: modelPrices must be an object of prices by model ID (received []).'],
    [
      '{"permissions":{"deny":["Bash"]},\n"permissions":{}}',
      ':2: "permissions" appears twice in one object. Remove one.',
    ],
    ['{"permissions":{"deny":["Bash"],"d\\u0065ny":[]}}', ':1: "deny" appears twice in one object. Remove one.'],
  ])('%s', async (text, message) => {
    const where = place()
    const path = where.write(own, text)
    await expect(load(where)).rejects.toThrow(message.startsWith(':') ? `${path}${message}` : message)
  })

  test.each(['{"permissions":{"deny":["Bash"]}', '// no\n{}', '{"a":1,}', 'null', '"text"', '\u0000', '{'])(
    'a file that is not JSON, %j, stops the program, as its restrictions are unknown',
    async (text) => {
      const where = place()
      where.write('.claude/settings.json', text)
      await expect(load(where)).rejects.toThrow(
        /settings\.json (?:is not valid JSON: .*|must contain one JSON object\.)/s,
      )
    },
  )

  test('a file with endless nesting stops the program', async () => {
    const where = place()
    where.write(own, `{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}`)
    await expect(load(where)).rejects.toThrow(':1: nested too deeply to read.')
  })

  test.each([
    ['{\n"a": 1,\n}', 3],
    ['\n// a comment\n{}', 2],
    ['{"a": [\n1,\n]}', 3],
    ['{"a":\n tru }', 2],
    ['{\n"a": "x\n"}', 2],
    ['{"a":1}\n\nx', 3],
    ['{\n"a":', 2],
  ])('the line of a JSON error is reported: %j', async (text, line) => {
    const where = place()
    where.write(own, text)
    await expect(load(where)).rejects.toThrow(new RegExp(`is not valid JSON: .*\\(line ${line}\\b`, 's'))
  })

  test('a pipe, or a file of more than 1 MB, is reported without waiting for it', async () => {
    const where = place()
    mkdirSync(join(where.cwd, '.claude'))
    execFileSync('bash', ['-c', 'mkfifo "$0"', join(where.cwd, '.claude/settings.json')])
    await expect(load(where)).rejects.toThrow('settings.json cannot be read: it is not a regular file.')
    const other = place()
    other.write(own, `{"a":"${'x'.repeat(1024 * 1024)}"}`)
    await expect(load(other)).rejects.toThrow('it is larger than 1 MB')
  })
})

describe('an invalid value that runs, allows or chooses something is reported and ignored (spec R-CONF-4)', () => {
  test.each([
    [{ model: 7 }, 'model must be the name of a model (received 7).'],
    [{ env: { A: {} } }, 'env.A must be a string (received an object).'],
    [
      { env: { 'A=B': 'x' } },
      'env must be an object of strings by variable name, without = in a name and without NUL (received an object).',
    ],
    [
      { env: { A: '\u0000' } },
      'env must be an object of strings by variable name, without = in a name and without NUL (received an object).',
    ],
    [{ statusLine: 'x' }, 'statusLine must be an object, such as {"type": "command", "command": "…"} (received "x").'],
    [
      { statusLine: { type: 'command', command: 'x', padding: -1 } },
      'statusLine.padding must be a whole number of columns from 0 to 100 (received -1).',
    ],
    [
      { statusLine: { type: 'command', command: 'x', refreshInterval: 0.5 } },
      'statusLine.refreshInterval must be a refresh interval of 1 to 86400 seconds (received 0.5).',
    ],
    [{ statusLine: { type: 'static', command: 'x' } }, 'statusLine.type must be command (received "static").'],
    [{ apiKeyHelper: '' }, 'apiKeyHelper must be a command (a string) (received "").'],
    [
      { permissions: { allow: 'Bash' } },
      'permissions.allow must be a list, each entry a rule, such as Bash(npm test) (received "Bash").',
    ],
    [
      { permissions: { allow: ['Bash(:*:*)'] } },
      'permissions.allow[0] is not a valid rule ("Bash(:*:*)"): :* is only allowed at the end; use * elsewhere.',
    ],
    [
      { permissions: { additionalDirectories: [7] } },
      'permissions.additionalDirectories[0] must be a path (received 7).',
    ],
    [{ permissions: { defaultMode: 'auto' } }, 'permissions.defaultMode must be a mode of halting (received "auto").'],
  ])('%j', async (content, message) => {
    const where = place()
    const path = where.write(own, { ...content, redactSecrets: true })
    const { settings, warnings } = await load(where)
    expect(warnings).toEqual([`${path}:1: ${message} Ignored.`])
    expect(settings).toMatchObject({ redactSecrets: true })
    expect(settings.permissions?.allow ?? []).toEqual([])
    expect(settings.model ?? settings.env ?? settings.apiKeyHelper ?? settings.permissions?.defaultMode).toBeUndefined()
  })

  test('the valid deny and ask rules of the same file still apply', async () => {
    const where = place()
    where.write('.claude/settings.json', {
      model: 7,
      env: [],
      permissions: { allow: 7, deny: ['Bash'], ask: ['Edit'] },
    })
    const { permissions } = (await load(where)).settings
    expect(permissions).toMatchObject({ deny: [{ rule: 'Bash' }], ask: [{ rule: 'Edit' }] })
  })

  test('an invalid value on the command line stops the program', async () => {
    await expect(load(place(), { given: '{"model":7}' })).rejects.toThrow(
      '--settings: model must be the name of a model',
    )
  })
})

test('unknown keys are reported with the closest name, in permissions and hooks too (spec R-CONF-5)', async () => {
  const where = place()
  const path = where.write(own, '{"modle":"x",\n"permissions":{"dney":[]},\n"hooks":{"PreToolsUse":[]},"\\u001b[2J":1}')
  const { warnings } = await load(where, { nearest: (_given, known) => known.at(0) })
  expect(warnings).toEqual([
    `${path}:1: unknown setting modle, ignored. Did you mean apiKeyHelper?`,
    `${path}:3: unknown setting \\u001b[2J, ignored. Did you mean apiKeyHelper?`,
    `${path}:2: unknown setting permissions.dney, ignored. Did you mean allow?`,
    `${path}:3: unknown setting hooks.PreToolsUse, ignored. Did you mean SessionStart?`,
  ])
})

test('unknown keys of a hook and of its group are reported with line and closest name (spec R-CONF-5)', async () => {
  const where = place()
  const path = where.write(own, {
    hooks: {
      PreToolUse: [
        {
          matcher: 'Bash',
          mathcer: 'Bash',
          hooks: [
            {
              type: 'command',
              command: 'a',
              timeout: 5,
              async: true,
              once: true,
              statusMessage: 's',
              if: 'Bash(rm *)',
            },
            { type: 'http', url: 'https://example.com', headers: {}, allowedEnvVars: [], async: false, urll: 1 },
            { type: 'prompt', prompt: 'p', model: 'haiku' },
          ],
        },
      ],
    },
  })
  const { settings, warnings } = await load(where, {
    nearest: (given) => (given === 'mathcer' ? 'matcher' : undefined),
  })
  const lost = (name: string, meant = ''): string =>
    `${path}:1: unknown setting hooks.PreToolUse[0].${name}, ignored.${meant}`
  expect(warnings).toEqual([
    lost('mathcer', ' Did you mean matcher?'),
    lost('hooks[0].if'),
    lost('hooks[1].urll'),
    lost('hooks[2].model'),
  ])
  expect(settings.hooks?.['PreToolUse']?.[0]?.hooks).toHaveLength(3)
})

describe('files are merged (spec R-CONF-1)', () => {
  const hook = (command: string): object => ({ Stop: [{ hooks: [{ type: 'command', command }] }] })

  test('single values by precedence, lists and variables of all, the highest precedence first', async () => {
    const where = place()
    const say = (name: string): object => ({
      model: name,
      env: { [name]: '1', NODE_ENV: name },
      hooks: hook(name),
      permissions: {
        allow: [`Bash(${name})`],
        deny: [`Read(/${name})`],
        defaultMode: name === 'user' ? 'plan' : 'acceptEdits',
      },
    })
    where.write('.halting/settings.local.json', say('local'))
    where.write('.claude/settings.json', say('project'))
    where.write('~/.halting/settings.json', say('user'))
    const given = JSON.stringify(say('flag'))
    const { settings, origins } = await load(where, { given, trustedBy: '--trust' })
    expect(settings.model).toBe('flag')
    expect(settings.env).toEqual({ flag: '1', user: '1', NODE_ENV: 'flag' })
    expect(settings.hooks?.['Stop']?.flatMap(({ hooks }) => hooks)).toMatchObject(
      ['flag', 'local', 'project', 'user'].map((command) => ({ command })),
    )
    expect(settings.permissions).toMatchObject({
      defaultMode: 'acceptEdits',
      allow: ['flag', 'local', 'project', 'user'].map((name) => ({
        rule: `Bash(${name})`,
        projectDirectory: where.cwd,
      })),
    })
    expect(
      origins
        .filter(({ setting }) => setting === 'permissions.deny')
        .map(({ from }) => from.replace(where.cwd, '.').replace(where.home, '~')),
    ).toEqual(['--settings', './.halting/settings.local.json', './.claude/settings.json', '~/.halting/settings.json'])
  })

  test.each([
    [[], []],
    [['user'], ['user']],
    [['local'], ['local']],
    [
      ['user', 'project', 'local'],
      ['local', 'project', 'user'],
    ],
  ] as const)('with the sources %j only these are read: %j', async (sources, wanted) => {
    const where = place()
    where.write('.claude/settings.local.json', { permissions: { deny: ['Bash(local)'] } })
    where.write('.claude/settings.json', { permissions: { deny: ['Bash(project)'] } })
    where.write(own, { permissions: { deny: ['Bash(user)'] } })
    const { deny = [] } = (await load(where, { sources })).settings.permissions ?? {}
    expect(deny).toEqual(wanted.map((name) => ({ rule: `Bash(${name})`, projectDirectory: where.cwd })))
  })

  test('disableAllHooks of a person removes all hooks', async () => {
    const where = place()
    where.write('~/.claude/settings.json', { hooks: hook('one'), disableAllHooks: true })
    expect((await load(where)).settings.hooks).toBeUndefined()
  })

  test('a missing directory is reported', async () => {
    const where = place()
    mkdirSync(join(where.cwd, 'there'))
    const path = where.write(own, { permissions: { additionalDirectories: ['there', 'gone'] } })
    const { settings, warnings } = await load(where)
    expect(settings.permissions?.additionalDirectories).toEqual([join(where.cwd, 'there')])
    expect(warnings).toEqual([`permissions.additionalDirectories in ${path}: "gone" is not a directory, ignored.`])
  })
})

describe('no project file makes anything more open than without it, or breaks anything (spec R-CONF-6)', () => {
  const calls = ['Read', 'Write', 'Bash'].flatMap((name) =>
    [
      { file_path: 'a' },
      { file_path: '/etc/passwd' },
      { file_path: '.env' },
      { command: 'ls' },
      { command: 'rm -rf x' },
    ].map((input, index) => ({ type: 'tool_use' as const, id: `t${index}`, name, input })),
  )

  async function opened(where: Place): Promise<readonly boolean[] | 'stopped'> {
    const loaded = await load(where).catch((thrown: unknown) => {
      if (thrown instanceof HaltingError && thrown.code === 'configuration') return undefined
      throw thrown
    })
    if (loaded === undefined) return 'stopped'
    const { settings } = loaded
    expect(
      Object.keys(settings).filter((key) => !['permissions', 'redactSecrets', 'env', 'hooks'].includes(key)),
    ).toEqual([])
    expect([settings.env ?? {}, settings.hooks ?? {}]).toEqual([{}, {}])
    const { permissions: rules } = settings
    const permissions = createPermissions({
      cwd: where.cwd,
      whenAsked: 'deny',
      ...(rules && { allow: rules.allow, deny: rules.deny, ask: rules.ask, mode: rules.defaultMode ?? 'default' }),
      additionalDirectories: rules?.additionalDirectories ?? [],
    })
    return calls.map((call) => {
      const request = { call, readOnly: call.name === 'Read', tool: { name: call.name } } as unknown as Parameters<
        typeof permissions.decide
      >[0]
      // True: these rules read only these fields.
      const decision = permissions.decide(request) as { readonly behavior: string }
      return permissions.denies(request) === undefined && decision.behavior === 'allow'
    })
  }

  const rule = fc.constantFrom(
    'Bash',
    'Bash(*)',
    'Read',
    'Read(.env)',
    'Edit(//**)',
    'Bash(',
    'Read(../x)',
    'WebFetch',
    '',
    'mcp__*',
  )
  const junk = fc.oneof(fc.jsonValue({ maxDepth: 3 }), rule, fc.array(rule), fc.constant(null))
  const permissions = fc.dictionary(
    fc.constantFrom(
      'allow',
      'deny',
      'ask',
      'defaultMode',
      'additionalDirectories',
      'disableBypassPermissionsMode',
      '__proto__',
      'x',
    ),
    fc.oneof(fc.array(rule), junk, fc.constantFrom('bypassPermissions', 'acceptEdits', ['/'])),
  )
  const content = fc.dictionary(
    fc.constantFrom(
      'permissions',
      'hooks',
      'env',
      'apiKeyHelper',
      'sandbox',
      'model',
      '__proto__',
      'constructor',
      'toString',
      'redactSecrets',
    ),
    fc.oneof({ weight: 3, arbitrary: permissions }, { weight: 1, arbitrary: junk }),
  )
  const text = fc.oneof(
    { weight: 6, arbitrary: content.map((value) => JSON.stringify(value)) },
    { weight: 2, arbitrary: fc.tuple(content, fc.nat(400)).map(([value, at]) => JSON.stringify(value).slice(0, at)) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(content, content)
        .map(([a, b]) => `${JSON.stringify(a).slice(0, -1)},${JSON.stringify(b).slice(1)}`),
    },
    { weight: 1, arbitrary: content.map((value) => `\uFEFF/* a */ ${JSON.stringify(value)} // b`) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
    {
      weight: 1,
      arbitrary: fc.nat(9_000).map((depth) => `{"permissions":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}`),
    },
  )

  test('with random content', async () => {
    const where = place()
    const without = await opened(where)
    if (without === 'stopped') throw new Error('no file stops nothing')
    let stopped = 0
    const runs = drawn(2_000)
    await fc.assert(
      fc.asyncProperty(
        text,
        fc.constantFrom('.claude/settings.json', '.halting/settings.local.json'),
        async (written, name) => {
          const path = where.write(name, written)
          const now = await opened(where)
          rmSync(path)
          if (now === 'stopped') stopped++
          const isOpened = (isOpen: boolean, index: number): boolean => isOpen && without[index] !== true
          expect(now === 'stopped' ? [] : now.filter(isOpened)).toEqual([])
        },
      ),
      { numRuns: runs },
    )
    // The generator must produce both kinds.
    expect(stopped).toBeGreaterThan(runs / 20)
    expect(stopped).toBeLessThan(runs * 0.9)
  })
})

test('sandbox settings of other programs are ignored silently', async () => {
  const where = place()
  const network = { allowLocalBinding: true, allowUnixSockets: ['/x'], httpProxyPort: 8080 }
  const sandbox = { enabled: true, failIfUnavailable: true, enableWeakerNestedSandbox: false, network }
  where.write('~/.claude/settings.json', { sandbox })
  expect(await load(where)).toMatchObject({ warnings: [], settings: { sandbox: [sandbox] } })
})

test('a file that is excluded except for its budgets is checked only if it names them (R-STAND-20a)', async () => {
  const where = place()
  const read = (text: string): Promise<LoadedSettings> => {
    where.write('~/.halting/settings.json', text)
    return load(where, { sources: [], alwaysOwn: ['budgets'] })
  }
  expect((await read('{ "model": ')).settings).toEqual({})
  expect((await read('{ "model": "x" }')).settings).toEqual({})
  await expect(read('{ "budgets": [{ "per": "day", ')).rejects.toThrow('settings.json')
  expect((await read('{ "model": "x", "budgets": [{ "per": "day", "usd": 2 }] }')).settings.budgets).toHaveLength(1)
})
