// Spec R-HOST-4, R-HOST-4c, R-HOST-16, R-REW-6, R-TOOL-20, R-RULE-2a, R-PLAN-5, R-SESS-8c: what only `initialize` says, each by the option of the official SDK.
import { createSdkMcpServer, type Options, type SDKMessage, tool } from '@anthropic-ai/claude-agent-sdk'
import { describe, expect, test } from 'vitest'
import { summariesOf } from '@halting/analysis/sessions'
import { storedSessions } from '@halting/journal'
import { installProgram, here } from '../support/program.ts'
import { answerOf, runQuery, removeFoldersAfterEach, PromptStream, toolResults, use } from './support/sdk.ts'

installProgram()
removeFoldersAfterEach()

const done = { content: 'Done.' }
const runGo = (options: Options, ...replies: readonly unknown[]) =>
  runQuery('go', replies.length === 0 ? [done] : replies, { options })

describe('title', () => {
  const titlesOf = async (cwd: string) => {
    const place = { cwd, home: here(), env: { HALTING_CONFIG_DIR: `${cwd}/.config-of-person` } }
    return (await summariesOf(await storedSessions(place, 'of this folder'))).map(({ title }) => title)
  }

  test('names the session in lists; a resumed session and its copy keep the title', async () => {
    const { cwd, results } = await runGo({ title: 'The login page' })
    expect(await titlesOf(cwd)).toEqual(['The login page'])
    const resume = results[0]?.session_id ?? ''
    await runGo({ cwd, resume, title: 'Another' })
    expect(await titlesOf(cwd)).toEqual(['The login page'])
    await runGo({ cwd, resume, forkSession: true, title: 'Another' })
    expect(await titlesOf(cwd)).toEqual(['The login page', 'The login page'])
  })

  test('is absent by default', async () => {
    expect(await titlesOf((await runGo({})).cwd)).toEqual([undefined])
  })
})

describe('toolAliases', () => {
  const call = use('Bash', { command: 'touch made' })
  const ran: string[] = []
  const server = () =>
    createSdkMcpServer({
      name: 'own',
      tools: [
        tool('bash', 'Runs it elsewhere', {}, async () => {
          ran.push('own')
          return { content: [{ type: 'text', text: 'ran elsewhere' }] }
        }),
      ],
    })
  const toolAliases = { Bash: 'mcp__own__bash' }

  test('runs the named tool instead of the called one, as rules and hooks see', async () => {
    const hooked: string[] = []
    const outcome = await runGo(
      {
        mcpServers: { own: server() },
        toolAliases,
        disallowedTools: ['Bash'],
        allowedTools: ['mcp__own__bash'],
        hooks: {
          PreToolUse: [
            {
              hooks: [
                async (input) => {
                  if (input.hook_event_name === 'PreToolUse') hooked.push(input.tool_name)
                  return {}
                },
              ],
            },
          ],
        },
      },
      call,
      done,
    )
    expect([toolResults(outcome), hooked]).toEqual([['ran elsewhere'], ['mcp__own__bash']])
    // The record has the name that the model wrote.
    expect(outcome.requests.at(-1)?.body['messages']).toMatchObject([
      {},
      { content: [{ type: 'tool_use', name: 'Bash' }] },
      {},
    ])
  })

  test('does not bypass a rule about a command', async () => {
    ran.length = 0
    const outcome = await runGo(
      {
        mcpServers: { own: server() },
        toolAliases,
        disallowedTools: ['Bash(touch *)'],
        allowedTools: ['mcp__own__bash'],
      },
      call,
      done,
    )
    expect([toolResults(outcome), ran]).toEqual([[expect.stringContaining('Denied by the rule')], []])
  })
})

describe('planModeInstructions', () => {
  const firstRequestText = ({ requests }: { readonly requests: readonly { readonly text: string }[] }) =>
    requests[0]?.text ?? ''

  test('replace the instructions for making a plan, but not the rule that nothing may change', async () => {
    const canUseTool: Options['canUseTool'] = async () => ({ behavior: 'deny', message: 'no' })
    const ours = firstRequestText(await runGo({ permissionMode: 'plan', canUseTool }))
    const theirs = firstRequestText(
      await runGo({ permissionMode: 'plan', canUseTool, planModeInstructions: 'Draw a map first.' }),
    )
    const frame = ['change nothing', 'call ExitPlanMode with it']
    const workflow = 'Then make a plan'
    expect(frame.map((words) => [ours.includes(words), theirs.includes(words)])).toEqual([
      [true, true],
      [true, true],
    ])
    expect([ours, theirs].map((text) => [text.includes(workflow), text.includes('Draw a map first.')])).toEqual([
      [true, false],
      [false, true],
    ])
  })

  test('are not used in another mode', async () => {
    expect(firstRequestText(await runGo({ planModeInstructions: 'Draw a map first.' }))).not.toContain('Draw a map')
  })
})

describe('forwardSubagentText', () => {
  const agents = { reviewer: { description: 'Reviews.', prompt: 'You review.', tools: ['Glob'] } }
  const start = use('Agent', { description: 'reviews', prompt: 'Review it.', subagent_type: 'reviewer' })
  const look = {
    content: [
      { type: 'text', text: 'I look.' },
      { type: 'tool_use', name: 'Glob', input: { pattern: '*' } },
    ],
  }
  const subagentContent = (messages: readonly SDKMessage[]) =>
    messages.flatMap((message): readonly string[] => {
      if (message.type !== 'assistant' && message.type !== 'user') return []
      if (message.parent_tool_use_id === null) return []
      const { content } = message.message
      return typeof content === 'string' ? ['text'] : content.map(({ type }) => type)
    })
  const runForwarding = async (options: Options) => {
    const { messages, ...rest } = await runGo({ agents, ...options }, start, look, { content: 'Fine.' }, done)
    return { of: subagentContent(messages), answer: answerOf({ messages, ...rest }), messages }
  }

  test('without it, only the calls and results of subagents are sent', async () => {
    const { of, answer, messages } = await runForwarding({ includePartialMessages: true })
    expect([of, answer]).toEqual([['tool_use', 'tool_result'], 'Done.'])
    expect(
      messages.filter((message) => message.type === 'stream_event' && message.parent_tool_use_id !== null),
    ).toEqual([])
  })

  test('with it, all texts of subagents are sent', async () => {
    expect((await runForwarding({ forwardSubagentText: true })).of).toEqual([
      'text',
      'text',
      'tool_use',
      'tool_result',
      'text',
    ])
  })
})

describe('agentProgressSummaries', () => {
  const start = use('Agent', { description: 'looks', prompt: 'Look.' })
  const look = use('Glob', { pattern: '*' })
  const progress = async (options: Options, ...replies: readonly unknown[]) => {
    const { messages, requests, results } = await runGo(options, start, look, ...replies)
    const lines = messages.filter((message) => message.type === 'system' && message.subtype === 'task_progress')
    return { lines, asked: requests.length, result: results[0]?.subtype }
  }
  const line = {
    tool_use_id: expect.any(String),
    description: 'looks',
    subagent_type: 'general-purpose',
    usage: { total_tokens: expect.any(Number), tool_uses: 1, duration_ms: expect.any(Number) },
    last_tool_name: 'Glob',
  }

  test('without it, the figures of a subagent are sent after each of its calls', async () => {
    const outcome = await progress({}, { content: 'Looked.' }, done)
    expect(outcome).toEqual({ lines: [expect.objectContaining(line)], asked: 4, result: 'success' })
    expect(outcome.lines[0]).not.toHaveProperty('summary')
  })

  test('with it, what the subagent does is sent at intervals', async () => {
    const options = { agentProgressSummaries: true, env: { HALTING_AGENT_SUMMARY_MS: '0' } }
    const outcome = await progress(options, { content: 'Looking at the names' }, { content: 'Looked.' }, done)
    expect(outcome).toMatchObject({ lines: [line, { ...line, summary: 'Looking at the names' }], asked: 5 })
  })

  test('requests nothing if the environment disables it', async () => {
    const env = { HALTING_AGENT_SUMMARY_MS: '0', CLAUDE_CODE_DISABLE_AGENT_PROGRESS_SUMMARIES: '1' }
    expect((await progress({ agentProgressSummaries: true, env }, { content: 'Looked.' }, done)).asked).toBe(4)
  })
})

describe('resumeDropsTurn', () => {
  const ids = ['11111111-2222-4333-8444-00000000000a', '11111111-2222-4333-8444-00000000000b'] as const
  /** Two turns, each with a prompt id of its own. Returns the ids of the session, and of the last message of the first turn. */
  const twoTurns = async () => {
    const prompts = new PromptStream()
    prompts.push('one', { uuid: ids[0] })
    let results = 0
    const outcome = await runQuery(prompts, [{ content: 'First.' }, { content: 'Second.' }], {
      during(message) {
        if (message.type !== 'result') return
        if (++results === 1) prompts.push('two', { uuid: ids[1] })
        else prompts.end()
      },
    })
    const [first] = outcome.messages.filter(({ type }) => type === 'assistant')
    return { cwd: outcome.cwd, resume: outcome.results[0]?.session_id ?? '', resumeSessionAt: String(first?.uuid) }
  }

  test('reverts the turn that it names, also in a copy', async () => {
    const left = await twoTurns()
    const fork = await runGo({ ...left, forkSession: true, resumeDropsTurn: ids[1] })
    expect([answerOf(fork), fork.requests[0]?.text.includes('Second.')]).toEqual(['Done.', false])
    const outcome = await runGo({ ...left, resumeDropsTurn: ids[1] })
    expect([answerOf(outcome), outcome.requests[0]?.text.includes('Second.')]).toEqual(['Done.', false])
  })

  test('refuses to revert more than this turn: the result says so, and nothing is reverted', async () => {
    const left = await twoTurns()
    const outcome = await runGo({ ...left, resumeDropsTurn: ids[0] })
    expect(outcome.results).toMatchObject([
      {
        subtype: 'error_during_execution',
        errors: [expect.stringMatching(/^Resume rejected by --resume-drops-turn: /)],
      },
    ])
    expect(outcome.requests).toEqual([])
    const { cwd, resume } = left
    expect((await runGo({ cwd, resume })).requests[0]?.text).toContain('Second.')
  })
})
