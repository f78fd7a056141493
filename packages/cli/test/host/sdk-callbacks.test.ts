// Spec R-HOST-10 to R-HOST-13: what the official SDK answers, one test a row of what is asked of it.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSdkMcpServer, type Options, type PermissionResult, tool } from '@anthropic-ai/claude-agent-sdk'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { installProgram } from '../support/program.ts'
import { askingServer } from '../support/servers.ts'
import {
  answerOf,
  runQuery,
  removeFoldersAfterEach,
  sessionFolder,
  PromptStream,
  shownTools,
  toolResults,
  use,
} from './support/sdk.ts'

installProgram()
removeFoldersAfterEach()

type Asking = NonNullable<Options['canUseTool']>
const touch = use('Bash', { command: 'touch made', description: 'Makes a file' })
const done = { content: 'Done.' }
const allow = async (): Promise<PermissionResult> => ({ behavior: 'allow' })

describe('canUseTool', () => {
  test('receives the call and allows it, with state messages around it', async () => {
    const seen: unknown[] = []
    const outcome = await runQuery('go', [touch, done], {
      options: {
        canUseTool: async (name, input, { signal, requestId, ...about }) => {
          seen.push(name, input, signal.aborted, typeof requestId, about)
          return { behavior: 'allow', updatedInput: input }
        },
      },
    })
    expect(seen).toMatchObject([
      'Bash',
      { command: 'touch made', description: 'Makes a file' },
      false,
      'string',
      {
        toolUseID: expect.stringMatching(/./),
        displayName: 'Bash',
        description: 'Makes a file',
        decisionReason: expect.stringContaining('touch'),
        decisionReasonType: 'other',
        suggestions: [{ type: 'addRules', behavior: 'allow', rules: [{ toolName: 'Bash' }] }],
      },
    ])
    const states = outcome.messages.flatMap((message) =>
      message.type === 'system' && message.subtype === 'session_state_changed' ? [message.state] : [],
    )
    expect([existsSync(join(outcome.cwd, 'made')), answerOf(outcome), outcome.thrown]).toEqual([
      true,
      'Done.',
      undefined,
    ])
    expect(states).toEqual(['running', 'requires_action', 'running', 'idle'])
  })

  test('replaces the input', async () => {
    const outcome = await runQuery('go', [touch, done], {
      options: { canUseTool: async () => ({ behavior: 'allow', updatedInput: { command: 'touch other' } }) },
    })
    expect([existsSync(join(outcome.cwd, 'made')), existsSync(join(outcome.cwd, 'other'))]).toEqual([false, true])
  })

  test('is asked about a file outside the folder, and receives its path and a mode that would not ask', async () => {
    const cwd = sessionFolder()
    const seen: unknown[] = []
    const outside = join(sessionFolder(), 'a.txt')
    const replies = [
      use('Write', { file_path: outside, content: 'a' }),
      use('Write', { file_path: join(cwd, 'b.txt'), content: 'b' }),
      done,
    ]
    const canUseTool: Asking = async (_name, _input, { blockedPath, suggestions = [], ...about }) => {
      seen.push([blockedPath, Reflect.get(about, 'decisionReasonType'), suggestions.map(({ type }) => type)])
      return { behavior: 'deny', message: 'no' }
    }
    await runQuery('go', replies, { options: { cwd, canUseTool } })
    expect(seen).toEqual([
      [outside, 'workingDir', ['addRules']],
      [join(cwd, 'b.txt'), 'mode', ['addRules', 'setMode']],
    ])
  })

  test('is not asked again about a call that it allowed permanently', async () => {
    let asked = 0
    const canUseTool: Asking = async (_name, _input, { suggestions = [] }) => {
      asked += 1
      const updatedPermissions = suggestions.map((update) => ({ ...update, destination: 'session' as const }))
      return { behavior: 'allow', updatedPermissions }
    }
    const outcome = await runQuery('go', [touch, touch, done], { options: { canUseTool } })
    expect([asked, answerOf(outcome)]).toEqual([1, 'Done.'])
  })

  test('saves permanent rules in the settings', async () => {
    const canUseTool: Asking = async () => ({
      behavior: 'allow',
      updatedPermissions: [
        { type: 'addRules', rules: [{ toolName: 'Bash', ruleContent: 'touch *' }], behavior: 'allow', destination: 'localSettings' },
      ],
    }) // prettier-ignore
    const { cwd } = await runQuery('go', [touch, done], {
      options: { canUseTool, settingSources: ['project', 'local'] },
    })
    const files = ['.claude', '.halting'].map((folder) => join(cwd, folder, 'settings.local.json'))
    const file = files.find((path) => existsSync(path))
    expect(file === undefined ? 'no file' : readFileSync(file, 'utf8')).toContain('Bash(touch *)')
  })

  test('denies with a message for the model', async () => {
    const outcome = await runQuery('go', [touch, done], {
      options: { canUseTool: async () => ({ behavior: 'deny', message: 'not here' }) },
    })
    expect([toolResults(outcome), answerOf(outcome)]).toEqual([[expect.stringContaining('not here')], 'Done.'])
    expect(outcome.results[0]?.permission_denials).toMatchObject([{ tool_name: 'Bash' }])
  })

  test('that denies with interrupt ends the run', async () => {
    const outcome = await runQuery('go', [touch, done], {
      options: { canUseTool: async () => ({ behavior: 'deny', message: 'stop', interrupt: true }) },
    })
    expect(outcome.results).toMatchObject([{ subtype: 'error_during_execution', terminal_reason: 'aborted_tools' }])
    expect(outcome.requests.length).toBe(1)
  })

  test('that throws denies with its message', async () => {
    const outcome = await runQuery('go', [touch, done], {
      options: { canUseTool: () => Promise.reject(new Error('boom')) },
    })
    expect([toolResults(outcome), answerOf(outcome)]).toEqual([[expect.stringContaining('boom')], 'Done.'])
  })

  test('is withdrawn by an interrupt: its signal is aborted, and its late answer ignored', async () => {
    const prompts = new PromptStream('go')
    let wasAborted = false
    const outcome = await runQuery(prompts, [touch, done], {
      options: {
        canUseTool: (_name, _input, { signal }) =>
          new Promise((resolve) => {
            signal.addEventListener('abort', () => {
              wasAborted = true
              resolve({ behavior: 'allow' })
            })
          }),
      },
      during: async (message, query) => {
        if (message.type === 'result') prompts.end()
        if (message.type !== 'system' || message.subtype !== 'session_state_changed') return
        if (message.state === 'requires_action') await query.interrupt()
      },
    })
    expect([wasAborted, existsSync(join(outcome.cwd, 'made'))]).toEqual([true, false])
    expect(outcome.results).toMatchObject([{ terminal_reason: 'aborted_tools' }])
  })

  test('is asked by a subagent, whose id it receives', async () => {
    const ids: unknown[] = []
    const replies = [
      use('Agent', { description: 'makes', prompt: 'Make it.', subagent_type: 'general-purpose' }),
      { ...touch, when: 'Make it.' },
      { content: 'Made.' },
      done,
    ]
    await runQuery('go', replies, {
      options: { canUseTool: async (_name, _input, { agentID }) => (ids.push(typeof agentID), allow()) },
    })
    expect(ids).toEqual(['string'])
  })
})

describe('a tool of a server answers instead of a callback', () => {
  const auth = (answer: object | string) =>
    createSdkMcpServer({
      name: 'auth',
      tools: [
        tool('ask', 'Answers', { tool_name: z.string(), input: z.any(), tool_use_id: z.string() }, async (about) => {
          const text = typeof answer === 'string' ? answer : JSON.stringify({ ...answer, message: about.tool_name })
          return { content: [{ type: 'text', text }] }
        }),
      ],
    })
  const runWithAnswer = (answer: object | string) =>
    runQuery('go', [touch, done], {
      options: { permissionPromptToolName: 'mcp__auth__ask', mcpServers: { auth: auth(answer) } },
    })

  test('allows, with another input', async () => {
    const outcome = await runWithAnswer({ behavior: 'allow', updatedInput: { command: 'touch other' } })
    expect([existsSync(join(outcome.cwd, 'other')), shownTools(outcome).includes('mcp__auth__ask')]).toEqual([
      true,
      false,
    ])
  })

  test('denies', async () => {
    const outcome = await runWithAnswer({ behavior: 'deny' })
    expect([existsSync(join(outcome.cwd, 'made')), toolResults(outcome)]).toEqual([
      false,
      [expect.stringContaining('Bash')],
    ])
  })

  test('ends the run with an invalid answer, and denies if it does not exist', async () => {
    const wrong = await runWithAnswer('maybe')
    expect([existsSync(join(wrong.cwd, 'made')), JSON.stringify(wrong.results)]).toEqual([
      false,
      expect.stringContaining('mcp__auth__ask: An answer is '),
    ])
    const gone = await runQuery('go', [touch, done], { options: { permissionPromptToolName: 'mcp__none__ask' } })
    expect([existsSync(join(gone.cwd, 'made')), toolResults(gone)]).toEqual([
      false,
      [expect.stringContaining('There is no tool mcp__none__ask')],
    ])
  })
})

describe('elicitation', () => {
  test('the host answers a question of a server', async () => {
    const script = `
import { McpServer } from ${JSON.stringify(import.meta.resolve('@modelcontextprotocol/sdk/server/mcp.js'))}
import { StdioServerTransport } from ${JSON.stringify(import.meta.resolve('@modelcontextprotocol/sdk/server/stdio.js'))}
const server = new McpServer({ name: 'form', version: '1' })
server.registerTool('who', { description: 'asks' }, async () => {
  const { action, content } = await server.server.elicitInput({
    message: 'Who?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } })
  return { content: [{ type: 'text', text: action + ' ' + (content?.name ?? '') }] }
})
await server.connect(new StdioServerTransport())
`
    const cwd = sessionFolder()
    writeFileSync(join(cwd, 'form.mjs'), script)
    const outcome = await runQuery('go', [use('mcp__form__who', {}), done], {
      options: {
        cwd,
        mcpServers: { form: { command: process.execPath, args: [join(cwd, 'form.mjs')] } },
        allowedTools: ['mcp__form__who'],
        onElicitation: async ({ serverName, message }) => ({
          action: 'accept',
          content: { name: `${serverName}: ${message}` },
        }),
      },
    })
    expect(toolResults(outcome)).toEqual(['accept form: Who?'])
  })

  const asks = { command: process.execPath, args: [askingServer] }
  test('the host receives the address of a page, and a message when the person has finished', async () => {
    const seen: unknown[] = []
    const outcome = await runQuery('go', [use('mcp__asks__page', {}), use('mcp__asks__needs', {}), done], {
      options: {
        mcpServers: { asks },
        allowedTools: ['mcp__asks'],
        onElicitation: async (request) => {
          seen.push(request)
          return { action: 'accept' }
        },
      },
    })
    const page = {
      serverName: 'asks',
      mode: 'url',
      message: 'Connect your account',
      url: 'https://auth.example.com/connect?state=abc',
      elicitationId: 'page-1',
    }
    expect(seen).toMatchObject([page, page])
    expect(toolResults(outcome)).toEqual(['{"action":"accept"}', 'connected'])
    const finished = outcome.messages.filter(
      (message) => message.type === 'system' && message.subtype === 'elicitation_complete',
    )
    expect(finished[0]).toMatchObject({ mcp_server_name: 'asks', elicitation_id: 'page-1', session_id: outcome.results[0]?.session_id }) // prettier-ignore
  })

  test('without a callback, forms and pages are declined', async () => {
    const outcome = await runQuery('go', [use('mcp__asks__form', {}), use('mcp__asks__needs-still', {}), done], {
      options: { mcpServers: { asks }, allowedTools: ['mcp__asks'] },
    })
    expect(toolResults(outcome)).toEqual([
      '{"action":"decline"}',
      expect.stringMatching(
        /server asks did not run this call\. .* auth\.example\.com\. .* did not agree\. Ask the user/,
      ),
    ])
  })
})
