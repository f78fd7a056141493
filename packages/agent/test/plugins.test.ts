// Holds R-PLUGIN-1 to R-PLUGIN-7 of docs/spec.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { modeOfAgent } from '../src/agents/mode-of-agent.ts'
import { settingsHooks } from '../src/hooks/index.ts'
import { readPluginHooks } from '../src/hooks/settings-hooks.ts'
import { createPermissions } from '../src/index.ts'
import {
  expandPrompt,
  readAgentDefinitions,
  readPlugins,
  readPromptFiles,
  projectFileOffers,
} from '../src/instructions/index.ts'
import { ownSkillFolders } from '../src/instructions/places.ts'
import { pluginServers } from '../src/mcp/index.ts'

let home = ''
let cwd = ''
let folder = ''

beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'plugins-')))
  cwd = join(home, 'app')
  folder = join(home, 'demo')
  mkdirSync(cwd)
  mkdirSync(folder)
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

function put(path: string, text: string | object): void {
  mkdirSync(dirname(join(home, path)), { recursive: true })
  writeFileSync(join(home, path), typeof text === 'string' ? text : JSON.stringify(text))
}

const manifest = (said: object) => put('demo/.claude-plugin/plugin.json', said)
const read = (...paths: readonly string[]) => readPlugins((paths.length === 0 ? [folder] : paths).map(named), cwd)
const named = (path: string) => ({ path })
const agentText = '---\nname: judge\ndescription: Judges.\n---\nYou judge in ${CLAUDE_PLUGIN_ROOT}.'
const skillText = '---\ndescription: Reviews.\n---\nRead ${CLAUDE_PLUGIN_ROOT}/list.md.'

async function broughtBy(...paths: readonly string[]) {
  const { all, problems } = await read(...paths)
  const rules = { mayRead: () => true, trust: { lets: async () => false } }
  const places = { cwd, home, env: {}, plugins: all }
  const prompts = await readPromptFiles({ ...places, ...rules })
  const agents = await readAgentDefinitions({ ...places, ...rules })
  return { all, problems, prompts: prompts.all, agents: agents.all, notes: [...prompts.notes, ...agents.notes] }
}

const namesOf = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name)

describe('components of a plugin', () => {
  test('are commands, skills and agents in their usual places, with its name as prefix', async () => {
    put('demo/commands/git/commit.md', 'Commit.')
    put('demo/skills/review/SKILL.md', skillText)
    put('demo/agents/judge.md', agentText)
    const { all, problems, prompts, agents, notes } = await broughtBy()
    expect([namesOf(all), problems, notes]).toEqual([['demo'], [], []])
    expect(namesOf(prompts)).toEqual(['demo:git:commit', 'demo:review'])
    expect(prompts[1]).toMatchObject({ level: 'plugin', body: `Read ${folder}/list.md.`, isForModel: true })
    expect(agents).toMatchObject([{ name: 'demo:judge', level: 'plugin', prompt: `You judge in ${folder}.` }])
  })

  test('include the name and version of its manifest', async () => {
    manifest({ name: 'other', version: '1.2.0', author: { name: 'somebody' } })
    put('demo/commands/hi.md', 'Hi.')
    const { all, prompts } = await broughtBy()
    expect(all).toMatchObject([{ name: 'other', version: '1.2.0', path: folder }])
    expect(namesOf(prompts)).toEqual(['other:hi'])
  })

  test('are replaced by what the manifest names: folders, single files, the folder of one skill', async () => {
    manifest({ name: 'demo', commands: ['./more', './one.md'], skills: './own', agents: './judges/judge.md' })
    put('demo/commands/usual.md', 'Usual.')
    put('demo/more/hi.md', 'Hi.')
    put('demo/one.md', 'One.')
    put('demo/own/SKILL.md', skillText)
    put('demo/judges/judge.md', agentText)
    put('demo/judges/other.md', agentText)
    const { prompts, agents } = await broughtBy()
    expect([namesOf(prompts), namesOf(agents)]).toEqual([['demo:hi', 'demo:one', 'demo:own'], ['demo:judge']])
  })

  test('replace no name of the user or the project', async () => {
    put('demo/commands/hi.md', 'Of the plugin.')
    put('app/.claude/commands/hi.md', 'Of the project.')
    put('app/.claude/commands/demo/hi.md', 'Of the project, too.')
    const { prompts } = await broughtBy()
    expect(prompts.map(({ name, level }) => [name, level])).toEqual([
      ['demo:hi', 'project'],
      ['hi', 'project'],
    ])
  })

  test('run bash commands and apply rules and models without trust, and are offered for trust to nobody', async () => {
    put('demo/commands/hi.md', '---\nmodel: m\nallowed-tools: Bash(ls:*)\n---\n!`ls`')
    const { all, prompts } = await broughtBy()
    const [command] = prompts
    if (command === undefined) throw new Error('no command')
    const ran: string[] = []
    const run = async (line: string) => {
      ran.push(line)
      return { kind: 'ran', text: 'listed' } as const
    }
    expect((await expandPrompt(command, '', { trust: { lets: async () => false }, run })).text).toBe('listed')
    expect(ran).toEqual(['ls'])
    expect(await projectFileOffers({ cwd, home, env: {}, plugins: all })).toEqual([])
  })

  test('never run an agent in a looser mode than its caller', () => {
    const wanted = { permissionMode: 'acceptEdits', level: 'plugin' } as const
    expect([modeOfAgent(wanted, 'default'), modeOfAgent({ ...wanted, permissionMode: 'plan' }, 'default')]).toEqual([
      undefined,
      'plan',
    ])
  })

  test('can be read, and edits of them ask; a plugin around the project exposes only its components', async () => {
    put('demo/skills/review/SKILL.md', skillText)
    const { all } = await read()
    expect(ownSkillFolders({ cwd, home, env: {}, plugins: all })).toContain(folder)
    put('commands/hi.md', 'Hi.')
    const around = await read(home)
    const folders = ownSkillFolders({ cwd, home, env: {}, plugins: around.all })
    const brought = ['commands', 'hooks', '.claude-plugin'].map((name) => join(home, name))
    expect(folders).toEqual(expect.arrayContaining(brought))
    expect(folders).not.toContain(home)
  })
})

describe('hooks', () => {
  const group = (command: string) => ({ PreToolUse: [{ matcher: 'Bash', hooks: [{ type: 'command', command }] }] })

  test('come from its file and the manifest, each with the folder of the plugin', async () => {
    put('demo/hooks/hooks.json', { description: 'd', hooks: group('one') })
    put('demo/more.json', { hooks: group('two') })
    manifest({ name: 'demo', hooks: ['./more.json', group('three')] })
    const { all } = await read()
    const { hooks, warnings } = readPluginHooks(all)
    expect(warnings).toEqual([])
    expect(hooks.PreToolUse).toMatchObject(
      ['one', 'two', 'three'].map((command) => ({ command, matcher: 'Bash', pluginRoot: folder })),
    )
  })

  test('are called for both of two plugins with the same command, each with its folder', async () => {
    const command = 'echo "$CLAUDE_PLUGIN_ROOT"'
    for (const name of ['one', 'two'])
      put(`${name}/hooks/hooks.json`, { SessionEnd: [{ hooks: [{ type: 'command', command, timeout: 60 }] }] })
    const { all } = await read(join(home, 'one'), join(home, 'two'))
    const outputs: string[] = []
    const hooks = settingsHooks(
      {
        settings: undefined,
        plugins: all,
        permissions: createPermissions({ cwd }),
        whenAsked: 'deny',
        warn: (warning) => expect.unreachable(warning),
        sessionId: 's',
        transcriptPath: join(home, 't'),
        cwd,
        env: { PATH: process.env['PATH'] },
        model: 'm',
        source: 'startup',
        emit: (line) => void (line.subtype === 'hook_response' && outputs.push(line.stdout.trim())),
      },
      {},
    )
    await hooks?.shell.end('other')
    expect(outputs.toSorted()).toEqual([join(home, 'one'), join(home, 'two')])
  })

  test('are reported with the name of the plugin if they are broken', async () => {
    put('demo/hooks/hooks.json', { hooks: { PreToolUse: [{ hooks: [{ type: 'shout' }] }], Later: [] } })
    const { all } = await read()
    expect(readPluginHooks(all).warnings).toEqual([
      'the plugin demo: hooks: PreToolUse[0].hooks[0]: unknown type "shout". Use command, http or prompt.',
      'the plugin demo: hooks: unknown event Later; its hooks are ignored.',
    ])
  })
})

describe('servers', () => {
  test("come from its file, with or without mcpServers around them, and the manifest, each with the plugin's folder", async () => {
    put('demo/.mcp.json', { calc: { command: '${CLAUDE_PLUGIN_ROOT}/calc', args: ['${KEY}'] } })
    manifest({ name: 'demo', mcpServers: { web: { type: 'http', url: 'https://example.com/${KEY}' } } })
    const { all } = await read()
    expect(pluginServers(all, { KEY: 'k' })).toEqual([
      {
        name: 'plugin:demo:calc',
        server: { type: 'stdio', command: `${folder}/calc`, args: ['k'], env: { CLAUDE_PLUGIN_ROOT: folder } },
        scope: 'plugin',
      },
      {
        name: 'plugin:demo:web',
        server: { type: 'http', url: 'https://example.com/k', headers: {} },
        scope: 'plugin',
      },
    ])
  })

  test('are omitted if the caller connects to them itself', async () => {
    put('demo/.mcp.json', { mcpServers: { calc: { command: 'calc' } } })
    const { all } = await readPlugins([{ path: folder, skipsServers: true }], cwd)
    expect(pluginServers(all, {})).toEqual([])
  })
})

describe('a broken plugin', () => {
  test.each([
    ['{', /^\.claude-plugin\/plugin\.json is not valid JSON/],
    ['[]', /^\.claude-plugin\/plugin\.json is not an object$/],
    ['{"name": 1}', /^its name must be a short string$/],
    ['{"name": "two words"}', /^"two words" is not a valid plugin name/],
    ['{"name": ""}', /^"" is not a valid plugin name/],
    ['{"name": "../up"}', /^"\.\.\/up" is not a valid plugin name/],
    ['{"name": "a:b"}', /^"a:b" is not a valid plugin name/],
    ['{"name": "a\\u001b[31m"}', /is not a valid plugin name/],
    [`{"name": "${'a'.repeat(65)}"}`, /is not a valid plugin name/],
    ['{"commands": 3}', /^its commands must be a path, or a list of paths$/],
    ['{"agents": [{"a": 1}]}', /^its agents must be a path, or a list of paths$/],
    ['{"hooks": [7]}', /^its hooks must be a path, or a list of paths$/],
    ['\0', /^\.claude-plugin\/plugin\.json is no text$/],
  ])('with a manifest of %j is not loaded at all', async (text, message) => {
    manifest(text as unknown as object)
    put('demo/commands/hi.md', 'Hi.')
    const { all, problems } = await read()
    expect(all).toEqual([])
    expect(problems).toEqual([
      { plugin: 'inline[0]', type: 'manifest-validation-error', message: expect.stringMatching(message), path: folder },
    ])
  })

  test('that is missing or has a taken name is reported; the others are loaded', async () => {
    put('demo/commands/hi.md', 'Hi.')
    put('second/.claude-plugin/plugin.json', { name: 'demo' })
    const { all, problems } = await read(join(home, 'nowhere'), '../demo', folder, join(home, 'second'))
    expect(all.map(({ path }) => path)).toEqual([folder])
    expect(problems).toEqual([
      {
        plugin: 'inline[0]',
        type: 'path-not-found',
        message: 'the folder does not exist',
        path: join(home, 'nowhere'),
      },
      {
        plugin: 'inline[2]',
        type: 'generic-error',
        message: 'another plugin has the name demo',
        path: join(home, 'second'),
      },
    ])
  })

  test.each([
    '/etc',
    '../app',
    './commands/../../app',
    '..',
    'a/..',
    'a\\..\\..\\app',
    './leads-out',
    './leads-out/.claude/commands',
    'commands\0',
  ])('with a path out of it (%j) loses only that, with a message', async (path) => {
    put('app/.claude/commands/hi.md', 'Hi.')
    put('app/hooks.json', { hooks: { Stop: [] } })
    symlinkSync(cwd, join(folder, 'leads-out'))
    put('demo/agents/judge.md', agentText)
    manifest({ commands: path, hooks: path, mcpServers: [path, { calc: { command: 'calc' } }] })
    const { all, problems } = await read()
    expect(all).toMatchObject([{ places: { commands: [], agents: [join(folder, 'agents')] }, hooks: [] }])
    expect(Object.keys(all[0]?.servers ?? {})).toEqual(['calc'])
    expect(problems.map(({ message }) => message.includes('is rejected'))).toEqual([true, true, true])
  })

  test('has no links out of it followed: manifest, usual files, single commands, skills and agents', async () => {
    put('app/secret.json', { name: 'secret', hooks: { Stop: [] }, mcpServers: { calc: { command: 'calc' } } })
    put('app/secret.md', agentText)
    const link = (path: string, to: string) => {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      symlinkSync(join(cwd, to), join(folder, path))
    }
    link('hooks/hooks.json', 'secret.json')
    link('.mcp.json', 'secret.json')
    link('commands/secret.md', 'secret.md')
    link('skills/secret/SKILL.md', 'secret.md')
    link('agents/secret.md', 'secret.md')
    const { all, prompts, agents, problems, notes } = await broughtBy()
    expect([prompts, agents]).toEqual([[], []])
    expect(all).toMatchObject([{ hooks: [], servers: {} }])
    expect(
      [...problems.map(({ message }) => message), ...notes].every((line) => line.includes('symbolic link that leaves')),
    ).toBe(true)
    expect([problems.length, notes.length]).toEqual([2, 3])
    link('.claude-plugin/plugin.json', 'secret.json')
    expect((await read()).problems).toMatchObject([{ type: 'manifest-validation-error', path: folder }])
  })

  test('with files that are not JSON, and servers that are not objects, is reported by name', async () => {
    put('demo/hooks/hooks.json', 'hooks: none')
    put('demo/.mcp.json', { mcpServers: { calc: 'calc' } })
    manifest({ skills: './nowhere', hooks: './later.json' })
    expect((await read()).problems).toEqual(
      [
        'skills: "./nowhere" does not exist',
        expect.stringMatching(/^"hooks\/hooks\.json" is not valid JSON/),
        '"later.json" does not exist',
        'the MCP server "calc" must be an object',
      ].map((message) => ({ plugin: 'demo', type: 'generic-error', message })),
    )
  })
})
