// Spec R-HOST-1, R-HOST-4, R-HOST-8: every option of the official SDK, one test a row, and the exit codes that decide what its program sees.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Options, SDKMessage } from '@anthropic-ai/claude-agent-sdk'
import { describe, expect, test } from 'vitest'
import { installProgram } from '../support/program.ts'
import { server as hostile } from '../support/servers.ts'
import {
  answerOf,
  runQuery,
  removeFoldersAfterEach,
  sessionFolder,
  model,
  shownTools,
  systemPromptOf,
  toolResults,
  use,
} from './support/sdk.ts'

installProgram()
removeFoldersAfterEach()

const done = { content: 'Done.' }
const touch = use('Bash', { command: 'touch made' })
const isFileMade = (cwd: string, name = 'made') => existsSync(join(cwd, name))
const runGo = (options: Options, ...replies: readonly unknown[]) =>
  runQuery('go', replies.length === 0 ? [done] : replies, { options })
const initMessage = (messages: readonly SDKMessage[]) =>
  messages.find((message) => message.type === 'system' && message.subtype === 'init')

describe('systemPrompt', () => {
  test('an empty prompt replaces ours', async () => {
    const outcome = await runGo({})
    expect([answerOf(outcome), outcome.thrown, systemPromptOf(outcome)]).toEqual(['Done.', undefined, ''])
  })

  test('a text, and a list of texts', async () => {
    expect(systemPromptOf(await runGo({ systemPrompt: 'You count.' }))).toBe('You count.')
    expect(systemPromptOf(await runGo({ systemPrompt: ['You count.', 'You add.'] }))).toBe('You count.\n\nYou add.')
  })

  test('the preset is ours, with text appended', async () => {
    const system = systemPromptOf(
      await runGo({ systemPrompt: { type: 'preset', preset: 'claude_code', append: 'Mind the gap.' } }),
    )
    expect([system.length > 500, system.includes('Mind the gap.')]).toEqual([true, true])
  })
})

describe('permissionPrompts', () => {
  test("'none' denies what would be asked", async () => {
    let wasAsked = false
    const outcome = await runGo(
      {
        permissionPrompts: 'none',
        canUseTool: async () => {
          wasAsked = true
          return { behavior: 'allow' }
        },
      },
      touch,
      done,
    )
    expect([wasAsked, isFileMade(outcome.cwd), answerOf(outcome)]).toEqual([false, false, 'Done.'])
  })
})

describe('mcpServers', () => {
  const good = { command: process.execPath, args: [hostile, 'good', ''] }
  const say = use('mcp__good__say', { text: 'hello' })
  const allowedTools = ['mcp__good__say']

  test('by arguments', async () => {
    const outcome = await runGo({ mcpServers: { good }, allowedTools }, say, done)
    expect(toolResults(outcome)).toEqual([expect.stringContaining('said hello')])
  })

  test("by 'initialize'", async () => {
    const outcome = await runGo({ mcpServers: { good }, mcpServersDelivery: 'initialize', allowedTools }, say, done)
    expect([toolResults(outcome), outcome.thrown]).toEqual([[expect.stringContaining('said hello')], undefined])
  })

  test('strictMcpConfig uses only these', async () => {
    const cwd = sessionFolder()
    writeFileSync(join(cwd, '.mcp.json'), JSON.stringify({ mcpServers: { other: { ...good } } }))
    const options: Options = {
      cwd,
      settingSources: ['project', 'local'],
      mcpServers: { good },
      settings: JSON.stringify({ enableAllProjectMcpServers: true }),
    }
    const names = async (more: Options) =>
      Reflect.get(initMessage((await runGo({ ...options, ...more })).messages) ?? {}, 'mcp_servers').map(
        ({ name }: { readonly name: string }) => name,
      )
    expect(await names({ strictMcpConfig: true })).toEqual(['good'])
    expect(await names({})).toEqual(['good', 'other'])
  })
})

describe('agents', () => {
  const agents = { reviewer: { description: 'Reviews.', prompt: 'You review.', tools: ['Read'] } }

  test('can be started by the model', async () => {
    const start = use('Agent', { description: 'reviews', prompt: 'Review it.', subagent_type: 'reviewer' })
    const outcome = await runGo({ agents }, start, { content: 'Fine.' }, done)
    expect([toolResults(outcome)[0], outcome.requests[1]?.text.includes('You review.')]).toEqual([
      expect.stringContaining('Fine.'),
      true,
    ])
  })

  test('agent makes the session that agent', async () => {
    const outcome = await runGo({ agents, agent: 'reviewer' })
    expect([systemPromptOf(outcome).includes('You review.'), shownTools(outcome)]).toEqual([true, ['Read']])
  })
})

test('outputFormat makes the answer match the schema', async () => {
  const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
  const outcome = await runGo({ outputFormat: { type: 'json_schema', schema } }, { content: '{"n": 3}' })
  expect(outcome.results[0]).toMatchObject({ subtype: 'success', structured_output: { n: 3 } })
})

describe('limits', () => {
  test('maxTurns is reported in the result, and as an error', async () => {
    const outcome = await runGo({ maxTurns: 1, allowedTools: ['Bash'] }, touch, done)
    expect(outcome.results).toMatchObject([
      { subtype: 'error_max_turns', is_error: true, terminal_reason: 'max_turns' },
    ])
    expect(outcome.thrown).toMatch(/^Claude Code returned an error result: .*turn/)
  })

  test('maxBudgetUsd', async () => {
    const outcome = await runGo({ maxBudgetUsd: 0.000_1 })
    expect([outcome.results[0]?.subtype, outcome.requests.length]).toEqual(['error_max_budget_usd', 0])
  })

  test('taskBudget is sent to the model', async () => {
    const outcome = await runGo({ taskBudget: { total: 50_000 } })
    expect([answerOf(outcome), outcome.requests[0]?.text.includes('50000')]).toEqual(['Done.', true])
  })
})

describe('sessions', () => {
  const first = async (options: Options = {}) => {
    const outcome = await runGo(options, { content: 'I remember.' })
    return { cwd: outcome.cwd, id: outcome.results[0]?.session_id ?? '' }
  }
  const remembers = ({ requests }: { readonly requests: readonly { readonly text: string }[] }) =>
    requests.at(-1)?.text.includes('I remember.')

  test('resume continues a session under its id', async () => {
    const { cwd, id } = await first()
    const outcome = await runGo({ cwd, resume: id })
    expect([remembers(outcome), outcome.results[0]?.session_id]).toEqual([true, id])
  })

  test('continue continues the last session of the folder', async () => {
    const { cwd, id } = await first()
    expect((await runGo({ cwd, continue: true })).results[0]?.session_id).toBe(id)
  })

  test('forkSession makes a copy, with its own or a given id', async () => {
    const { cwd, id } = await first()
    const fork = await runGo({ cwd, resume: id, forkSession: true })
    expect([remembers(fork), fork.results[0]?.session_id === id]).toEqual([true, false])
    const sessionId = '11111111-2222-4333-8444-555555555555'
    const named = await runGo({ cwd, resume: id, forkSession: true, sessionId })
    expect([remembers(named), named.results[0]?.session_id]).toEqual([true, sessionId])
  })

  test('resumeSessionAt continues from a message', async () => {
    const outcome = await runGo({ allowedTools: ['Bash'] }, touch, { content: 'Later words.' })
    const at = outcome.messages.find(({ type }) => type === 'assistant')
    const resumed = await runGo({
      cwd: outcome.cwd,
      resume: outcome.results[0]?.session_id ?? '',
      resumeSessionAt: String(at?.uuid),
    })
    expect([answerOf(resumed), resumed.requests[0]?.text.includes('Later words.')]).toEqual(['Done.', false])
  })

  test('sessionId names the session; an unknown one is reported', async () => {
    const sessionId = '11111111-2222-4333-8444-666666666666'
    expect((await first({ sessionId })).id).toBe(sessionId)
    const outcome = await runGo({ resume: '99999999-2222-4333-8444-666666666666' })
    expect([outcome.results.length, outcome.thrown, outcome.stderr]).toEqual([
      0,
      expect.stringContaining('99999999'),
      expect.stringContaining('No conversation found'),
    ])
  })

  test('persistSession: false stores nothing', async () => {
    const { cwd, id } = await first({ persistSession: false })
    expect((await runGo({ cwd, resume: id })).stderr).toContain('No conversation found')
  })
})

describe('settings', () => {
  const folder = () => {
    const cwd = sessionFolder()
    mkdirSync(join(cwd, '.claude'))
    writeFileSync(join(cwd, '.claude/settings.json'), JSON.stringify({ permissions: { allow: ['Bash(touch *)'] } }))
    return cwd
  }

  test('settingSources reads and trusts only the named ones; none for an empty list', async () => {
    expect(isFileMade((await runGo({ cwd: folder(), settingSources: ['project'] }, touch, done)).cwd)).toBe(true)
    expect(isFileMade((await runGo({ cwd: folder(), settingSources: [] }, touch, done)).cwd)).toBe(false)
  })

  test('settings accepts JSON and an object', async () => {
    const settings = { permissions: { allow: ['Bash(touch *)'] } }
    expect(isFileMade((await runGo({ settings: JSON.stringify(settings) }, touch, done)).cwd)).toBe(true)
    expect(isFileMade((await runGo({ settings }, touch, done)).cwd)).toBe(true)
  })

  test('sandbox confines commands', async () => {
    const outside = join(sessionFolder(), 'out')
    const outcome = await runGo(
      { sandbox: { enabled: true, failIfUnavailable: true } },
      use('Bash', { command: `touch in; touch ${outside}` }),
      done,
    )
    expect([isFileMade(outcome.cwd, 'in'), existsSync(outside), answerOf(outcome)]).toEqual([true, false, 'Done.'])
  })
})

describe('tools', () => {
  test('tools selects all of them, or these', async () => {
    expect(shownTools(await runGo({ tools: { type: 'preset', preset: 'claude_code' } })).length).toBeGreaterThan(5)
    expect(shownTools(await runGo({ tools: ['Read', 'Bash'] }))).toEqual(expect.arrayContaining(['Read', 'Bash']))
    expect(shownTools(await runGo({ tools: ['Read', 'Bash'] })).length).toBe(2)
    expect(shownTools(await runGo({ tools: [] }))).toEqual([])
  })

  test('allowedTools run without a question', async () => {
    expect(isFileMade((await runGo({ allowedTools: ['Bash(touch *)', 'Read'] }, touch, done)).cwd)).toBe(true)
    expect(isFileMade((await runGo({ allowedTools: ['Bash(npm test)'] }, touch, done)).cwd)).toBe(false)
  })

  test('disallowedTools are not offered', async () => {
    expect(shownTools(await runGo({ disallowedTools: ['Bash', 'WebFetch'] }))).not.toEqual(
      expect.arrayContaining(['Bash']),
    )
  })

  test('additionalDirectories may be read', async () => {
    const more = sessionFolder()
    writeFileSync(join(more, 'a.txt'), 'far away')
    const read = use('Read', { file_path: join(more, 'a.txt') })
    expect(toolResults(await runGo({ additionalDirectories: [more] }, read, done))[0]).toContain('far away')
    expect(toolResults(await runGo({}, read, done))[0]).not.toContain('far away')
  })

  test("skills selects 'all', or these", async () => {
    const cwd = sessionFolder()
    for (const name of ['release', 'secret']) {
      mkdirSync(join(cwd, '.claude/skills', name), { recursive: true })
      writeFileSync(
        join(cwd, '.claude/skills', name, 'SKILL.md'),
        `---\nname: ${name}\ndescription: The ${name} way\n---\nDo.`,
      )
    }
    const offeredSkills = async (skills: NonNullable<Options['skills']>) => {
      const { requests } = await runGo({ cwd, settingSources: ['project'], skills, systemPrompt: { type: 'preset', preset: 'claude_code' } })
      return ['release', 'secret'].filter((name) => requests[0]?.text.includes(`The ${name} way`))
    } // prettier-ignore
    expect(await offeredSkills('all')).toEqual(['release', 'secret'])
    expect(await offeredSkills(['release'])).toEqual(['release'])
  })
})

describe('the model', () => {
  test('model', async () => {
    expect((await runGo({ model: 'claude-haiku-4-5' })).requests[0]?.body['model']).toBe('claude-haiku-4-5')
  })

  test('thinking, maxThinkingTokens, effort', async () => {
    const firstRequestBody = async (options: Options) => (await runGo(options)).requests[0]?.body
    expect(await firstRequestBody({ thinking: { type: 'adaptive' } })).toMatchObject({ thinking: { type: 'adaptive' } })
    expect((await firstRequestBody({ thinking: { type: 'disabled' } }))?.['thinking']).not.toMatchObject({
      type: 'enabled',
    })
    expect(await firstRequestBody({ model: 'claude-haiku-4-5', maxThinkingTokens: 2_000 })).toMatchObject({
      thinking: { type: 'enabled', budget_tokens: 2_000 },
    })
    expect(JSON.stringify(await firstRequestBody({ effort: 'xhigh' }))).toContain('"effort":"xhigh"')
  })

  test('fallbackModel replaces a model that cannot answer', async () => {
    const overloaded = { error: { status: 529, type: 'overloaded_error', message: 'busy' }, repeat: 3 }
    const outcome = await runGo(
      { fallbackModel: 'claude-haiku-4-5', env: { CLAUDE_CODE_MAX_RETRIES: '2' } },
      overloaded,
      done,
    )
    expect([answerOf(outcome), outcome.requests.at(-1)?.body['model']]).toEqual(['Done.', 'claude-haiku-4-5'])
  })
})

describe('permissionMode', () => {
  test('acceptEdits', async () => {
    const outcome = await runGo(
      { permissionMode: 'acceptEdits' },
      use('Write', { file_path: 'made', content: 'a' }),
      done,
    )
    expect(isFileMade(outcome.cwd)).toBe(true)
  })

  test('bypassPermissions, if it is allowed', async () => {
    const outcome = await runGo(
      { permissionMode: 'bypassPermissions', allowDangerouslySkipPermissions: true },
      touch,
      done,
    )
    expect(isFileMade(outcome.cwd)).toBe(true)
  })

  test('plan', async () => {
    const outcome = await runGo({ permissionMode: 'plan', allowedTools: ['Bash'] }, touch, done)
    expect(isFileMade(outcome.cwd)).toBe(false)
  })
})

test('includePartialMessages sends the stream', async () => {
  expect((await runGo({ includePartialMessages: true })).messages.some(({ type }) => type === 'stream_event')).toBe(
    true,
  )
  expect((await runGo({})).messages.some(({ type }) => type === 'stream_event')).toBe(false)
})

describe('plugins', () => {
  /** A plugin with one file of each kind. */
  function pluginIn(cwd: string): string {
    const folder = join(cwd, 'demo')
    const writeText = (path: string, text: string | object) => {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), typeof text === 'string' ? text : JSON.stringify(text))
    }
    writeText('.claude-plugin/plugin.json', { name: 'demo', version: '1.2.0' })
    writeText('commands/greet.md', 'Say hello to $1.')
    writeText('skills/review/SKILL.md', '---\ndescription: Reviews code.\n---\nReview it line by line.')
    writeText('agents/judge.md', '---\nname: judge\ndescription: Judges.\n---\nYou judge.')
    writeText('hooks/hooks.json', {
      hooks: {
        UserPromptSubmit: [{ hooks: [{ type: 'command', command: '"${CLAUDE_PLUGIN_ROOT}/context.sh"' }] }],
      },
    })
    writeFileSync(join(folder, 'context.sh'), '#!/bin/sh\necho "The hook of the plugin was called."\n', { mode: 0o755 })
    writeText('.mcp.json', { mcpServers: { good: { command: process.execPath, args: [hostile, 'good', ''] } } })
    return folder
  }
  const tool = 'mcp__plugin_demo_good__say'
  const replies = [
    use('Skill', { skill: 'demo:review' }),
    use('Agent', { description: 'judges', prompt: 'Judge.', subagent_type: 'demo:judge' }),
    { content: 'Fine.' },
    use(tool, { text: 'hello' }),
    done,
  ]

  for (const pluginDelivery of ['argv', 'initialize'] as const)
    test(`by ${pluginDelivery}: commands, skills, agents, hooks and servers are there`, async () => {
      const cwd = sessionFolder()
      const folder = pluginIn(cwd)
      const options: Options = {
        cwd,
        plugins: [{ type: 'local', path: './demo' }],
        pluginDelivery,
        allowedTools: [tool],
      }
      let applied: unknown
      let commands: readonly string[] = []
      const outcome = await runQuery('/demo:greet Ann', replies, {
        options,
        begun: async (query) => {
          const begun = await query.initializationResult()
          applied = Reflect.get(begun, 'plugins_applied')
          commands = begun.commands.map(({ name }) => name)
        },
      })
      expect([answerOf(outcome), outcome.thrown, outcome.stderr]).toEqual(['Done.', undefined, ''])
      expect(initMessage(outcome.messages)).toMatchObject({
        plugins: [{ name: 'demo', path: folder, version: '1.2.0' }],
        slash_commands: expect.arrayContaining(['demo:greet', 'demo:review']),
        skills: ['demo:review'],
        agents: expect.arrayContaining(['demo:judge']),
        mcp_servers: [{ name: 'plugin:demo:good', status: 'connected' }],
      })
      expect(initMessage(outcome.messages)).not.toHaveProperty('plugin_errors')
      expect(applied).toBe(pluginDelivery === 'initialize' ? true : undefined)
      expect(commands).toEqual(expect.arrayContaining(['demo:greet', 'demo:review']))
      expect(outcome.requests[0]?.text).toContain('Say hello to Ann.')
      expect(outcome.requests[0]?.text).toContain('The hook of the plugin was called.')
      expect(toolResults(outcome)).toEqual([
        expect.stringContaining('Review it line by line.'),
        expect.stringContaining('Fine.'),
        expect.stringContaining('said hello'),
      ])
      expect(outcome.requests[2]?.text).toContain('You judge.')
    })

  test('skipMcpDiscovery skips only the servers of a plugin', async () => {
    for (const pluginDelivery of ['argv', 'initialize'] as const) {
      const cwd = sessionFolder()
      const plugins: Options['plugins'] = [{ type: 'local', path: pluginIn(cwd), skipMcpDiscovery: true }]
      const outcome = await runGo({ cwd, plugins, pluginDelivery })
      expect(initMessage(outcome.messages)).toMatchObject({
        plugins: [{ name: 'demo' }],
        skills: ['demo:review'],
        mcp_servers: [],
      })
    }
  })

  test('a broken plugin is reported and ignored, and nothing else is lost', async () => {
    const cwd = sessionFolder()
    const broken = join(cwd, 'broken')
    mkdirSync(join(broken, '.claude-plugin'), { recursive: true })
    writeFileSync(join(broken, '.claude-plugin/plugin.json'), '{')
    const plugins: Options['plugins'] = [broken, pluginIn(cwd)].map((path) => ({ type: 'local', path }))
    let applied: unknown
    const outcome = await runQuery('go', [done], {
      options: { cwd, plugins, pluginDelivery: 'initialize' },
      begun: async (query) => {
        applied = Reflect.get(await query.initializationResult(), 'plugins_applied')
      },
    })
    expect([answerOf(outcome), outcome.thrown, applied]).toEqual(['Done.', undefined, false])
    expect(initMessage(outcome.messages)).toMatchObject({
      plugins: [{ name: 'demo' }],
      plugin_errors: [{ plugin: 'inline[0]', type: 'manifest-validation-error', path: broken }],
    })
    expect(outcome.stderr).toContain(`there is no plugin in ${broken}: .claude-plugin/plugin.json is not valid JSON`)
  })

  test('project settings, trusted or not, load no plugins', async () => {
    const cwd = sessionFolder()
    const folder = pluginIn(cwd)
    mkdirSync(join(cwd, '.claude'))
    const settings = { plugins: [{ type: 'local', path: folder }], pluginDir: [folder], enabledPlugins: { demo: true } }
    writeFileSync(join(cwd, '.claude/settings.json'), JSON.stringify(settings))
    const outcome = await runGo({ cwd, settingSources: ['project', 'local'] })
    expect(initMessage(outcome.messages)).toMatchObject({
      plugins: [],
      skills: [],
      slash_commands: ['compact', 'context', 'cost', 'goal', 'limits', 'until', 'why'],
    })
  })
})

test('unsupported and unknown options are reported, and the run continues', async () => {
  const outcome = await runGo({
    debug: true,
    extraArgs: { 'from-the-future': 'x', 'and-a-switch': null },
  })
  expect([answerOf(outcome), outcome.thrown]).toEqual(['Done.', undefined])
  for (const word of ['from-the-future', 'and-a-switch', 'initialize']) expect(outcome.stderr).toContain(word)
})

test('promptSuggestions sends one after the result', async () => {
  const suggestion = { content: 'Run the tests.' }
  const outcome = await runGo({ promptSuggestions: true }, done, suggestion)
  expect(outcome.messages.some(({ type }) => type === 'prompt_suggestion')).toBe(true)
})

test('enableFileCheckpointing and a custom system prompt do not prevent a run from ending', async () => {
  const outcome = await runGo({ enableFileCheckpointing: true, title: 'A title', forwardSubagentText: true })
  expect([answerOf(outcome), outcome.thrown, Reflect.get(initMessage(outcome.messages) ?? {}, 'model')]).toEqual([
    'Done.',
    undefined,
    model,
  ])
})

describe('exit codes', () => {
  test('a success ends the loop of the host without an error', async () => {
    expect((await runGo({})).thrown).toBeUndefined()
  })

  test('an error has a result, and throws the sentence for people', async () => {
    const outcome = await runGo(
      {},
      { error: { status: 401, type: 'authentication_error', message: 'invalid x-api-key' } },
    )
    expect(outcome.results).toMatchObject([{ is_error: true }])
    const [result] = outcome.results
    const sentence = result !== undefined && 'errors' in result ? result.errors[0] : 'none'
    expect(outcome.thrown).toBe(`Claude Code returned an error result: ${sentence}`)
  })

  test('a session that cannot be opened is reported with a reason', async () => {
    const outcome = await runGo({ env: { ANTHROPIC_API_KEY: '', ANTHROPIC_BASE_URL: '' } })
    expect([outcome.results, outcome.thrown]).toEqual([[], expect.stringContaining('ANTHROPIC_API_KEY')])
  })
})
