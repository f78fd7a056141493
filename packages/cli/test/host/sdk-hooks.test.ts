// Spec R-HOST-11, R-SETHOOK-24: hooks of every event by callbacks of the official SDK.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { HookCallback, HookEvent, HookInput, Options, SyncHookJSONOutput } from '@anthropic-ai/claude-agent-sdk'
import { describe, expect, test } from 'vitest'
import { installProgram } from '../support/program.ts'
import {
  answerOf,
  runQuery,
  removeFoldersAfterEach,
  sessionFolder,
  PromptStream,
  toolResults,
  use,
} from './support/sdk.ts'

installProgram()
removeFoldersAfterEach()

const touch = use('Bash', { command: 'touch made' })
const done = { content: 'Done.' }
const textReply = (text: string) => ({ content: text })
type Hooks = NonNullable<Options['hooks']>

/** Hooks on these events that record their inputs. */
function recordHooks(events: readonly HookEvent[], answer: (input: HookInput) => SyncHookJSONOutput = () => ({})) {
  const seen: HookInput[] = []
  const note: HookCallback = async (input) => {
    seen.push(input)
    return answer(input)
  }
  const hooks: Hooks = Object.fromEntries(events.map((event) => [event, [{ hooks: [note] }]]))
  return { seen, hooks }
}

const allowed = { allowedTools: ['Bash'] }

test('each event of a run is reported, in order, with the common fields', async () => {
  const { seen, hooks } = recordHooks([
    'SessionStart',
    'UserPromptSubmit',
    'PreToolUse',
    'PostToolUse',
    'PostToolBatch',
    'SubagentStart',
    'SubagentStop',
    'Stop',
  ])
  const replies = [
    touch,
    use('Agent', { description: 'says', prompt: 'Say.', subagent_type: 'general-purpose' }),
    { content: 'Said.' },
    done,
  ]
  const outcome = await runQuery('go', replies, { options: { ...allowed, hooks } })
  expect(answerOf(outcome)).toBe('Done.')
  expect(seen.map((input) => [input.hook_event_name, Reflect.get(input, 'tool_name')].join(' ').trim())).toEqual([
    'SessionStart',
    'UserPromptSubmit',
    'PreToolUse Bash',
    'PostToolUse Bash',
    'PostToolBatch',
    'PreToolUse Agent',
    'SubagentStart',
    'SubagentStop',
    'PostToolUse Agent',
    'PostToolBatch',
    'Stop',
  ])
  const sessionId = outcome.results[0]?.session_id
  expect(seen.every((input) => input.session_id === sessionId && input.cwd === outcome.cwd)).toBe(true)
  expect(seen[2]).toMatchObject({
    tool_name: 'Bash',
    tool_input: { command: 'touch made' },
    permission_mode: 'default',
    transcript_path: expect.stringContaining(String(sessionId)),
  })
})

test('failed calls and refusing services are reported', async () => {
  const failing = recordHooks(['PostToolUseFailure'])
  await runQuery('go', [use('Read', { file_path: 'none.txt' }), done], { options: { hooks: failing.hooks } })
  expect(failing.seen).toMatchObject([{ hook_event_name: 'PostToolUseFailure', tool_name: 'Read' }])
  const broken = recordHooks(['StopFailure', 'Stop'])
  await runQuery('go', [{ error: { status: 400, type: 'invalid_request_error', message: 'no' } }], {
    options: { hooks: broken.hooks },
  })
  expect(broken.seen).toMatchObject([{ hook_event_name: 'StopFailure' }])
})

test('a compaction is reported before and after', async () => {
  const { seen, hooks } = recordHooks(['PreCompact', 'PostCompact'])
  const prompts = ['second', '/compact the names']
  const promptStream = new PromptStream('first')
  const long = textReply('A long story. '.repeat(3_000))
  await runQuery(promptStream, [long, long, { content: 'A summary.', when: 'summary' }], {
    options: { hooks },
    during(message) {
      if (message.type !== 'result') return
      const next = prompts.shift()
      if (next === undefined) promptStream.end()
      else promptStream.push(next)
    },
  })
  expect(seen).toMatchObject([
    { hook_event_name: 'PreCompact', trigger: 'manual', custom_instructions: 'the names' },
    { hook_event_name: 'PostCompact', trigger: 'manual' },
  ])
})

test('a matcher selects tools; the call is passed in addition to the input', async () => {
  const ids: unknown[] = []
  const hook: HookCallback = async (_input, id) => {
    ids.push(typeof id)
    return {}
  }
  const hooks: Hooks = {
    PreToolUse: [
      { matcher: 'Write|Edit', hooks: [hook] },
      { matcher: 'Ba.h', hooks: [hook] },
    ],
  }
  await runQuery('go', [touch, done], { options: { ...allowed, hooks } })
  expect(ids).toEqual(['string'])
})

describe('PreToolUse', () => {
  const permissionOutput = (fields: object) =>
    recordHooks(['PreToolUse'], () => ({ hookSpecificOutput: { hookEventName: 'PreToolUse', ...fields } }))

  test('denies, with a reason for the model', async () => {
    const { hooks } = permissionOutput({ permissionDecision: 'deny', permissionDecisionReason: 'not this' })
    const outcome = await runQuery('go', [touch, done], { options: { ...allowed, hooks } })
    expect([existsSync(join(outcome.cwd, 'made')), toolResults(outcome)]).toEqual([
      false,
      [expect.stringContaining('not this')],
    ])
  })

  test('allows, and replaces the input', async () => {
    const { hooks } = permissionOutput({ permissionDecision: 'allow', updatedInput: { command: 'touch other' } })
    const outcome = await runQuery('go', [touch, done], { options: { hooks } })
    expect([existsSync(join(outcome.cwd, 'made')), existsSync(join(outcome.cwd, 'other'))]).toEqual([false, true])
  })

  test('asks the permission callback', async () => {
    const { hooks } = permissionOutput({ permissionDecision: 'ask' })
    const reasons: unknown[] = []
    await runQuery('go', [touch, done], {
      options: {
        ...allowed,
        hooks,
        canUseTool: async (_name, input, about) => {
          reasons.push(Reflect.get(about, 'decisionReasonType'))
          return { behavior: 'allow', updatedInput: input }
        },
      },
    })
    expect(reasons).toEqual(['hook'])
  })
})

test('PermissionRequest answers before the permission callback', async () => {
  let asked = 0
  const { hooks } = recordHooks(['PermissionRequest'], () => ({
    hookSpecificOutput: { hookEventName: 'PermissionRequest', decision: { behavior: 'allow' } },
  }))
  const outcome = await runQuery('go', [touch, done], {
    options: {
      hooks,
      canUseTool: async () => {
        asked += 1
        return { behavior: 'deny', message: 'no' }
      },
    },
  })
  expect([asked, existsSync(join(outcome.cwd, 'made'))]).toEqual([0, true])
})

test('PostToolUse replaces the output, and adds text for the model', async () => {
  const { hooks } = recordHooks(['PostToolUse'], () => ({
    hookSpecificOutput: {
      hookEventName: 'PostToolUse',
      updatedToolOutput: 'seen by a hook',
      additionalContext: 'Mind.',
    },
  }))
  const outcome = await runQuery('go', [touch, done], { options: { ...allowed, hooks } })
  expect([toolResults(outcome), outcome.requests.at(-1)?.text.includes('Mind.')]).toEqual([['seen by a hook'], true])
})

test('UserPromptSubmit adds text, or blocks the prompt', async () => {
  const adding = recordHooks(['UserPromptSubmit'], () => ({
    hookSpecificOutput: { hookEventName: 'UserPromptSubmit', additionalContext: 'It rains.' },
  }))
  const outcome = await runQuery('go', [done], { options: { hooks: adding.hooks } })
  expect(outcome.requests[0]?.text).toContain('It rains.')
  const blocking = recordHooks(['UserPromptSubmit'], () => ({ decision: 'block', reason: 'too long' }))
  expect((await runQuery('go', [done], { options: { hooks: blocking.hooks } })).requests).toEqual([])
})

test('Stop makes the model continue once', async () => {
  let stops = 0
  const { hooks } = recordHooks(['Stop'], () => {
    stops += 1
    return stops === 1 ? { decision: 'block', reason: 'Look again.' } : {}
  })
  const outcome = await runQuery('go', [textReply('First.'), done], { options: { hooks } })
  expect([answerOf(outcome), outcome.requests[1]?.text.includes('Look again.')]).toEqual(['Done.', true])
})

test('continue: false ends the run; a success caused by a hook does not throw', async () => {
  const { hooks } = recordHooks(['PostToolUse'], () => ({ continue: false, stopReason: 'enough' }))
  const outcome = await runQuery('go', [touch, done], { options: { ...allowed, hooks } })
  expect([outcome.requests.length, outcome.thrown]).toEqual([1, undefined])
  const stopping = recordHooks(['Stop'], () => ({ continue: false, stopReason: 'enough' }))
  const stopped = await runQuery('go', [done], { options: { hooks: stopping.hooks } })
  expect([stopped.results.map(({ subtype }) => subtype), stopped.thrown]).toEqual([['success'], undefined])
})

describe('a hook that fails', () => {
  const broken: HookCallback = () => Promise.reject(new Error('boom'))

  test('decides nothing, and is reported', async () => {
    const hooks: Hooks = { PreToolUse: [{ hooks: [broken] }] }
    const outcome = await runQuery('go', [touch, done], { options: { ...allowed, hooks } })
    expect([existsSync(join(outcome.cwd, 'made')), JSON.stringify(outcome.messages).includes('boom')]).toEqual([
      true,
      true,
    ])
  })

  test('blocks if it is a guard', async () => {
    const hooks: Hooks = { PreToolUse: [{ hooks: [broken], onFailure: 'block' }] }
    const outcome = await runQuery('go', [touch, done], { options: { ...allowed, hooks } })
    expect([existsSync(join(outcome.cwd, 'made')), toolResults(outcome)]).toEqual([
      false,
      [expect.stringContaining('boom')],
    ])
  })

  test('by never answering times out', async () => {
    let wasAborted = false
    const silent: HookCallback = (_input, _id, { signal }) =>
      new Promise(() => signal.addEventListener('abort', () => void (wasAborted = true)))
    const hooks: Hooks = { PreToolUse: [{ hooks: [silent], timeout: 0.2 }] }
    const outcome = await runQuery('go', [touch, done], { options: { ...allowed, hooks } })
    expect([wasAborted, existsSync(join(outcome.cwd, 'made')), answerOf(outcome)]).toEqual([true, true, 'Done.'])
  })
})

test('an async hook is not awaited', async () => {
  const hook: HookCallback = async () => ({ async: true })
  const outcome = await runQuery('go', [touch, done], {
    options: { ...allowed, hooks: { PreToolUse: [{ hooks: [hook] }] } },
  })
  expect([existsSync(join(outcome.cwd, 'made')), answerOf(outcome)]).toEqual([true, 'Done.'])
})

test('hooks of settings and of the host both apply; deny overrides allow', async () => {
  const cwd = sessionFolder()
  const deny = JSON.stringify({
    hookSpecificOutput: {
      hookEventName: 'PreToolUse',
      permissionDecision: 'deny',
      permissionDecisionReason: 'by file',
    },
  })
  writeFileSync(join(cwd, 'deny.json'), deny)
  const settings = { hooks: { PreToolUse: [{ matcher: '', hooks: [{ type: 'command', command: 'cat deny.json' }] }] } }
  const { hooks } = recordHooks(['PreToolUse'], () => ({
    hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'allow' },
  }))
  const outcome = await runQuery('go', [touch, done], {
    options: { cwd, hooks, settings: JSON.stringify(settings), includeHookEvents: true },
  })
  expect(toolResults(outcome)).toEqual([expect.stringContaining('by file')])
  const names = outcome.messages.flatMap((message) =>
    message.type === 'system' && message.subtype === 'hook_response' ? [message.outcome] : [],
  )
  expect(names).toEqual(['success', 'success'])
})

describe('PreSkillShellCommand', () => {
  /** A session with the skill and the command `release`, whose texts run `touch made`. */
  async function runRelease(prompt: string, answer: (input: HookInput) => SyncHookJSONOutput, more: Options = {}) {
    const cwd = sessionFolder()
    const plugin = join(cwd, 'plugin')
    for (const [path, text] of [
      ['.claude-plugin/plugin.json', '{"name":"p"}'],
      ['commands/release.md', 'Made: !`touch made; echo $ARGUMENTS here`.'],
      ['skills/notes/SKILL.md', '---\nname: notes\ndescription: Notes.\n---\nMade: !`touch made; echo here`.'],
    ] as const) {
      mkdirSync(dirname(join(plugin, path)), { recursive: true })
      writeFileSync(join(plugin, path), text)
    }
    const { seen, hooks } = recordHooks(['PreSkillShellCommand'], answer)
    const replies = prompt === 'go' ? [use('Skill', { skill: 'p:notes' }), done] : [done]
    const plugins: Options['plugins'] = [{ type: 'local', path: plugin }]
    const outcome = await runQuery(prompt, replies, { options: { ...allowed, cwd, plugins, hooks, ...more } })
    return { seen, outcome, isMade: existsSync(join(cwd, 'made')) }
  }
  const permissionOutput = (fields: object) => () => ({
    hookSpecificOutput: { hookEventName: 'PreSkillShellCommand' as const, ...fields },
  })

  test('asks about a command of a slash command and of a skill, and lets it run', async () => {
    const { seen, outcome, isMade } = await runRelease('/p:release 2', () => ({}))
    expect([isMade, outcome.requests[0]?.text.includes('Made: $ARGUMENTS here.')]).toEqual([true, false])
    expect(seen).toMatchObject([
      {
        hook_event_name: 'PreSkillShellCommand',
        tool_name: 'Bash',
        tool_input: { command: expect.stringMatching(/^touch made; echo /) },
        tool_use_id: expect.any(String),
        command_name: 'p:release',
        invoked_by: 'user',
        session_id: outcome.results[0]?.session_id,
      },
    ])
    const skill = await runRelease('go', permissionOutput({ permissionDecision: 'allow' }))
    expect([skill.isMade, toolResults(skill.outcome)[0]?.includes('Made: here')]).toEqual([true, true])
    expect(skill.seen).toMatchObject([{ command_name: 'p:notes', invoked_by: 'claude' }])
  })

  test.each([
    ['deny', permissionOutput({ permissionDecision: 'deny', permissionDecisionReason: 'not this' }), 'not this'],
    ['ask', permissionOutput({ permissionDecision: 'ask', permissionDecisionReason: 'not this' }), 'not this'],
    ['defer', permissionOutput({ permissionDecision: 'defer' }), 'A hook refused this command.'],
    ['an unknown word', permissionOutput({ permissionDecision: 'perhaps' }), 'A hook refused this command.'],
    [
      'allow with another input',
      permissionOutput({ permissionDecision: 'allow', updatedInput: {} }),
      'tried to change',
    ],
    ['block', () => ({ decision: 'block' as const, reason: 'not this' }), 'not this'],
    ['continue: false', () => ({ continue: false, stopReason: 'not this' }), 'not this'],
  ])('%s prevents it from running', async (_, answer, reason) => {
    for (const prompt of ['/p:release', 'go']) {
      const { outcome, isMade, seen } = await runRelease(prompt, answer)
      expect([prompt, isMade, seen.length]).toEqual([prompt, false, 1])
      // After `continue: false` no request mentions it.
      const isOver = prompt === 'go' && 'continue' in answer()
      expect(isOver || JSON.stringify(outcome.requests.at(-1)?.body).includes(reason)).toBe(true)
    }
  })

  test('is asked about a skill that was added during the session', async () => {
    const cwd = sessionFolder()
    const folder = join(cwd, '.claude/skills/notes')
    const { seen, hooks } = recordHooks(['PreSkillShellCommand'], permissionOutput({ permissionDecision: 'deny' }))
    const promptStream = new PromptStream('first')
    let results = 0
    await runQuery(promptStream, [done, done], {
      options: { ...allowed, cwd, settingSources: ['project'], hooks },
      async during({ type }, query) {
        if (type !== 'result') return
        results += 1
        if (results > 1) return promptStream.end()
        mkdirSync(folder, { recursive: true })
        writeFileSync(join(folder, 'SKILL.md'), '---\nname: notes\ndescription: Notes.\n---\nMade: !`touch made`.')
        await query.reloadSkills()
        promptStream.push('/notes')
      },
    })
    expect([seen.length, existsSync(join(cwd, 'made'))]).toEqual([1, false])
  })

  test('a failing guard with onFailure: block prevents it from running', async () => {
    const broken: HookCallback = () => Promise.reject(new Error('boom'))
    const hooks: Hooks = { PreSkillShellCommand: [{ matcher: 'Bash', hooks: [broken], onFailure: 'block' }] }
    const { isMade } = await runRelease('/p:release', () => ({}), { hooks })
    expect(isMade).toBe(false)
  })

  test.each([
    ['a command that exits with 2', { type: 'command', command: 'echo not this >&2; exit 2' }],
    ['a prompt, which no model can be asked', { type: 'prompt', prompt: 'Is this fine?' }],
  ])('in settings: %s', async (_, hook) => {
    const settings = JSON.stringify({ hooks: { PreSkillShellCommand: [{ matcher: 'Bash', hooks: [hook] }] } })
    const { isMade, outcome } = await runRelease('/p:release', () => ({}), { settings, hooks: {} })
    expect([isMade, outcome.requests[0]?.text.includes('(not run: ')]).toEqual([false, true])
  })
})

test('an unknown event is reported, and the others are called', async () => {
  const { seen, hooks } = recordHooks(['WorktreeCreate', 'Stop'])
  const outcome = await runQuery('go', [done], { options: { hooks } })
  expect([seen.length, outcome.stderr.includes('unknown event WorktreeCreate; its hooks are ignored')]).toEqual([
    1,
    true,
  ])
})
