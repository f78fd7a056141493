// Spec R-HOST-3, R-HOST-5, R-HOST-6: what the methods of a query of the official SDK ask for, one test a row.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Options, Query, SDKMessage, SDKUserMessage, SlashCommand } from '@anthropic-ai/claude-agent-sdk'
import { describe, expect, test } from 'vitest'
import { installProgram } from '../support/program.ts'
import { server } from '../support/servers.ts'
import { answerOf, runQuery, removeFoldersAfterEach, sessionFolder, model, PromptStream, use } from './support/sdk.ts'

installProgram()
removeFoldersAfterEach()

const done = { content: 'Done.' }
const uuid = (n: number): `${string}-${string}-${string}-${string}-${string}` =>
  `00000000-0000-4000-8000-00000000000${n}`

/** Runs `work` between the first prompt and the second. */
async function runBetweenPrompts<T>(
  work: (query: Query) => Promise<T>,
  {
    replies = [done, done],
    options = {},
    first = {},
  }: {
    readonly replies?: readonly unknown[]
    readonly options?: Options
    readonly first?: Partial<SDKUserMessage>
  } = {},
) {
  const prompts = new PromptStream()
  prompts.push('first', first)
  let results = 0
  let answer: T | undefined
  const outcome = await runQuery(prompts, replies, {
    options,
    during: async (message, query) => {
      if (message.type !== 'result') return
      results += 1
      if (results > 1) return prompts.end()
      answer = await work(query)
      prompts.push('second')
    },
  })
  return { ...outcome, answer }
}

describe('interrupt', () => {
  const slow = { content: 'A long answer that takes a while. '.repeat(20), pace_ms: 60 }

  test('during a reply keeps the text so far, and the result says why', async () => {
    const prompts = new PromptStream('go')
    let isAsked = false
    const outcome = await runQuery(prompts, [slow, done], {
      options: { includePartialMessages: true },
      during: async (message, query) => {
        if (message.type === 'result') {
          if (message.subtype === 'success') return prompts.end()
          return prompts.push('again')
        }
        if (message.type !== 'stream_event' || message.event.type !== 'content_block_delta' || isAsked) return
        isAsked = true
        expect(await query.interrupt()).toEqual({ still_queued: [] })
      },
    })
    expect(outcome.results).toMatchObject([
      { subtype: 'error_during_execution', terminal_reason: 'aborted_streaming' },
      { subtype: 'success' },
    ])
    const aborted = outcome.messages.filter(
      (message) => message.type === 'assistant' && Reflect.get(message, 'aborted') === true,
    )
    expect([aborted.length, JSON.stringify(outcome.messages).includes('[Request interrupted by user]')]).toEqual([
      1,
      true,
    ])
  })

  test('reports queued messages, which start the next run', async () => {
    const prompts = new PromptStream('go')
    let isAsked = false
    const outcome = await runQuery(prompts, [use('Bash', { command: 'sleep 60' }), done], {
      options: { allowedTools: ['Bash'] },
      during: async (message, query) => {
        if (message.type === 'result' && message.subtype === 'success') return prompts.end()
        if (message.type !== 'assistant' || isAsked) return
        isAsked = true
        prompts.push('meanwhile', { uuid: uuid(1), priority: 'later' })
        // Until the program has received the setting, no call waits for anything.
        await query.getContextUsage()
        expect(await query.interrupt()).toEqual({ still_queued: [uuid(1)] })
      },
    })
    expect([answerOf(outcome), outcome.requests.at(-1)?.text.includes('meanwhile')]).toEqual(['Done.', true])
  })

  test('does nothing while idle', async () => {
    const { answer, results } = await runBetweenPrompts((query) => query.interrupt())
    expect([answer, results.length]).toEqual([{ still_queued: [] }, 2])
  })
})

test('setPermissionMode applies from then on, and is reported', async () => {
  const { messages, cwd } = await runBetweenPrompts((query) => query.setPermissionMode('acceptEdits'), {
    replies: [done, use('Write', { file_path: 'made', content: 'a' }), done],
  })
  const modes = messages.flatMap((message) =>
    message.type === 'system' && message.subtype === 'status' && message.permissionMode !== undefined
      ? [message.permissionMode]
      : [],
  )
  expect([modes, readFileSync(join(cwd, 'made'), 'utf8')]).toEqual([['acceptEdits'], 'a'])
})

test('setPermissionMode rejects a mode that was not allowed', async () => {
  const { answer, results } = await runBetweenPrompts((query) =>
    query.setPermissionMode('bypassPermissions').catch((error: Error) => error.message),
  )
  expect([answer, results.length]).toEqual([expect.stringContaining('allow-dangerously-skip-permissions'), 2])
})

test('setModel applies to the next request; without a model it restores the first one', async () => {
  const { requests } = await runBetweenPrompts((query) => query.setModel('claude-haiku-4-5'))
  expect(requests.map(({ body }) => body['model'])).toEqual([model, 'claude-haiku-4-5'])
  const back = await runBetweenPrompts(async (query) => {
    await query.setModel('claude-haiku-4-5')
    await query.setModel()
  })
  expect(back.requests.map(({ body }) => body['model'])).toEqual([model, model])
})

test('setMaxThinkingTokens', async () => {
  const { requests } = await runBetweenPrompts((query) => query.setMaxThinkingTokens(3_000), {
    options: { model: 'claude-haiku-4-5' },
  })
  expect(requests[1]?.body['thinking']).toEqual({ type: 'enabled', budget_tokens: 3_000 })
})

test('getContextUsage', async () => {
  const { answer } = await runBetweenPrompts((query) => query.getContextUsage())
  expect(answer).toMatchObject({ model, isAutoCompactEnabled: true })
  expect(answer?.agents).toEqual([{ agentType: 'general-purpose', source: 'built-in', tokens: expect.any(Number) }])
  expect(answer?.apiUsage?.output_tokens).toBeGreaterThan(0)
  expect([(answer?.totalTokens ?? 0) > 0, (answer?.maxTokens ?? 0) > 0, (answer?.categories.length ?? 0) > 0]).toEqual([
    true,
    true,
    true,
  ])
})

describe('rewindFiles', () => {
  const replies = [use('Write', { file_path: 'a.txt', content: 'new' }), done, done]
  const rewound = async (work: (query: Query) => Promise<unknown>, options: Options = {}) => {
    const cwd = sessionFolder()
    writeFileSync(join(cwd, 'a.txt'), 'old')
    const read = use('Read', { file_path: 'a.txt' })
    const outcome = await runBetweenPrompts(work, {
      replies: [read, ...replies],
      options: { cwd, permissionMode: 'acceptEdits', enableFileCheckpointing: true, ...options },
      first: { uuid: uuid(2) },
    })
    return [outcome.answer, readFileSync(join(cwd, 'a.txt'), 'utf8')]
  }

  test('previews, and reverts', async () => {
    expect(await rewound((query) => query.rewindFiles(uuid(2), { dryRun: true }))).toEqual([
      { canRewind: true, filesChanged: [expect.stringContaining('a.txt')], insertions: 1, deletions: 1 },
      'new',
    ])
    expect(await rewound((query) => query.rewindFiles(uuid(2)))).toEqual([
      expect.objectContaining({ canRewind: true }),
      'old',
    ])
  })

  test('rejects an unknown message', async () => {
    expect(await rewound((query) => query.rewindFiles(uuid(9)))).toEqual([
      { canRewind: false, error: expect.stringContaining('') },
      'new',
    ])
  })
})

test('stopTask stops a task, and rejects an unknown one', async () => {
  const { answer } = await runBetweenPrompts((query) => query.stopTask('none').then(() => 'fine'))
  expect(answer).toBe('fine')
})

test('ends a background command by its id', async () => {
  let wasStopped = false
  const prompts = new PromptStream('go')
  const outcome = await runQuery(
    prompts,
    [use('Bash', { command: 'sleep 100', run_in_background: true }), done, done],
    {
      options: { allowedTools: ['Bash'] },
      during: async (message, query) => {
        if (message.type === 'system' && message.subtype === 'task_started') {
          await query.stopTask(message.task_id)
          wasStopped = true
        }
        if (message.type === 'result') prompts.end()
      },
    },
  )
  expect([wasStopped, answerOf(outcome)]).toEqual([true, 'Done.'])
})

test('applyFlagSettings', async () => {
  const { requests } = await runBetweenPrompts((query) => query.applyFlagSettings({ model: 'claude-haiku-4-5' }))
  expect(requests[1]?.body['model']).toBe('claude-haiku-4-5')
})

/** Commands that the program answers without the model. */
const own = ['compact', 'context', 'cost', 'goal', 'limits', 'until', 'why']

describe('reloading', () => {
  const writeText = (path: string, text: string): void => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  const skill = (cwd: string, name: string, text: string) =>
    writeText(join(cwd, '.claude/skills', name, 'SKILL.md'), `---\ndescription: For ${name}.\n---\n${text}`)
  const agent = (folder: string, name: string) =>
    writeText(
      join(folder, 'agents', `${name}.md`),
      `---\nname: ${name}\ndescription: Is ${name}.\n---\nYou are ${name}.`,
    )
  const listNames = (list: readonly { readonly name: string }[] | undefined) => list?.map(({ name }) => name)
  const initMessages = (messages: readonly SDKMessage[]) =>
    messages.filter((message) => message.type === 'system' && message.subtype === 'init')
  const toolDescription = ({ body }: { readonly body: Readonly<Record<string, unknown>> }, name: string) =>
    // The program sends requests of the Messages API.
    (body['tools'] as readonly { readonly name: string; readonly description: string }[]).find(
      (tool) => tool.name === name,
    )?.description
  const settingSources: Options['settingSources'] = ['project', 'local']

  test('reloadSkills reads commands, skills and agents, and informs the model', async () => {
    const cwd = sessionFolder()
    skill(cwd, 'old', 'Old.')
    skill(cwd, 'kept', 'Kept.')
    writeText(join(cwd, '.claude/commands/gone.md'), 'Gone.')
    const start = use('Agent', { description: 'works', prompt: 'Work.', subagent_type: 'worker' })
    const outcome = await runBetweenPrompts(
      async (query) => {
        rmSync(join(cwd, '.claude/skills/old'), { recursive: true })
        rmSync(join(cwd, '.claude/commands/gone.md'))
        skill(cwd, 'fresh', 'Fresh text.')
        writeText(join(cwd, '.claude/commands/greet.md'), 'Greet.')
        agent(join(cwd, '.claude'), 'worker')
        return query.reloadSkills()
      },
      {
        options: { cwd, settingSources },
        replies: [done, use('Skill', { skill: 'fresh' }), start, { content: 'Worked.' }, done],
      },
    )
    expect([answerOf(outcome), outcome.stderr]).toEqual(['Done.', ''])
    expect(listNames(outcome.answer?.skills)).toEqual(['greet', 'fresh', 'kept'])
    expect(initMessages(outcome.messages)).toMatchObject([
      { skills: ['kept', 'old'], slash_commands: [...own, 'gone', 'kept', 'old'], agents: ['general-purpose'] },
      {
        skills: ['fresh', 'kept'],
        slash_commands: [...own, 'greet', 'fresh', 'kept'],
        agents: ['general-purpose', 'worker'],
      },
    ])
    const [first, second, third, ofAgent] = outcome.requests
    if (first === undefined || second === undefined) throw new Error('two requests are needed')
    expect(toolDescription(first, 'Skill')).toMatch(/The system prompt lists the skills\.$/)
    expect(toolDescription(second, 'Skill')).toContain('- fresh: For fresh.')
    expect(toolDescription(second, 'Skill')).not.toContain('- old')
    expect(toolDescription(second, 'Agent')).toContain('- worker: Is worker.')
    expect(second.body['system']).toEqual(first.body['system'])
    expect(third?.text).toContain('Fresh text.')
    expect(ofAgent?.text).toContain('You are worker.')
  })

  test('reloadSkills adds and removes the first skills of a session', async () => {
    const cwd = sessionFolder()
    const prompts = new PromptStream('first')
    let results = 0
    const answers: unknown[] = []
    const outcome = await runQuery(prompts, [done, use('Skill', { skill: 'fresh' }), done, done], {
      options: { cwd, settingSources },
      during: async (message, query) => {
        if (message.type !== 'result') return
        results += 1
        if (results === 3) return prompts.end()
        if (results === 1) skill(cwd, 'fresh', 'Fresh text.')
        else rmSync(join(cwd, '.claude'), { recursive: true })
        answers.push(listNames((await query.reloadSkills()).skills))
        prompts.push('next')
      },
    })
    expect(answers).toEqual([['fresh'], []])
    expect(outcome.requests.map((request) => toolDescription(request, 'Skill') !== undefined)).toEqual([
      false,
      true,
      true,
      false,
    ])
    expect(outcome.requests[2]?.text).toContain('Fresh text.')
    expect(initMessages(outcome.messages)).toMatchObject([{ skills: [] }, { skills: ['fresh'] }, { skills: [] }])
  })

  test('reloadPlugins reads what plugins contain, and their state', async () => {
    const cwd = sessionFolder()
    const [good, bad] = [join(cwd, 'good'), join(cwd, 'bad')]
    writeText(join(good, 'commands/greet.md'), 'Greet.')
    writeText(join(bad, '.claude-plugin/plugin.json'), '{')
    const refused = async (query: Query) =>
      query.reloadPlugins({ addPlugins: [{ type: 'local', path: '/more' }] }).catch(String)
    const outcome = await runBetweenPrompts(
      async (query) => {
        writeText(join(good, '.claude-plugin/plugin.json'), '{"name": "good", "version": "2.0.0"}')
        writeText(join(good, 'skills/review/SKILL.md'), 'Review.')
        agent(good, 'judge')
        const first = await query.reloadPlugins()
        writeText(join(bad, '.claude-plugin/plugin.json'), '{"name": "better"}')
        return [first, await query.reloadPlugins(), await refused(query)] as const
      },
      { options: { cwd, plugins: [good, bad].map((path) => ({ type: 'local', path })) } },
    )
    const [first, second, more] = outcome.answer ?? []
    expect(first).toMatchObject({
      commands: [...own.map((name) => ({ name })), { name: 'good:greet' }, { name: 'good:review' }],
      agents: [{ name: 'general-purpose' }, { name: 'good:judge' }],
      plugins: [{ name: 'good', path: good, version: '2.0.0' }],
      mcpServers: [],
      error_count: 1,
    })
    expect(second).toMatchObject({ plugins: [{ name: 'good' }, { name: 'better' }], error_count: 0 })
    expect(more).toContain('Plugins can be added only when')
    expect(initMessages(outcome.messages)).toMatchObject([
      { plugins: [{ name: 'good' }], plugin_errors: [{ path: bad }] },
      { plugins: [{ name: 'good', version: '2.0.0' }, { name: 'better' }], plugin_errors: [] },
    ])
  })
})

test('supportedCommands has those of files, and the prompts of connected servers', async () => {
  const cwd = sessionFolder()
  mkdirSync(join(cwd, '.halting', 'commands'), { recursive: true })
  writeFileSync(
    join(cwd, '.halting', 'commands', 'review.md'),
    '---\ndescription: Reviews a file\nargument-hint: FILE\n---\nReview $1.\n',
  )
  const seen: (readonly SlashCommand[])[] = []
  const prompts = new PromptStream()
  prompts.push('hi')
  await runQuery(prompts, [done], {
    options: {
      cwd,
      settingSources: ['project'],
      mcpServers: { s: { command: process.execPath, args: [server, 'good'] } },
    },
    begun: async (query) => void seen.push(await query.supportedCommands()),
    during: async (message, query) => {
      if (message.type !== 'result') return
      seen.push(await query.supportedCommands())
      prompts.end()
    },
  })
  const review = { name: 'review', description: 'Reviews a file', argumentHint: 'FILE' }
  expect(seen[0]).toContainEqual(review)
  expect(seen.at(-1)).toEqual(
    expect.arrayContaining([review, { name: 'mcp__s__greet', description: '', argumentHint: 'who [rest]' }]),
  )
})

test('initialize is answered with commands, models, agents and account', async () => {
  const { answer } = await runBetweenPrompts(
    async (query) => ({
      commands: await query.supportedCommands(),
      models: await query.supportedModels(),
      agents: await query.supportedAgents(),
      account: await query.accountInfo(),
      whole: await query.initializationResult(),
    }),
    { options: { agents: { reviewer: { description: 'Reviews.', prompt: 'You review.' } } } },
  )
  expect(answer).toMatchObject({
    agents: expect.arrayContaining([{ name: 'reviewer', description: 'Reviews.' }]),
    account: { apiKeySource: 'ANTHROPIC_API_KEY' },
    whole: { output_style: 'default', available_output_styles: ['default'] },
  })
  expect([
    answer?.models[0]?.value,
    answer?.models.some(({ value }) => value === model),
    Array.isArray(answer?.commands),
  ]).toEqual(['default', true, true])
})

test('a second initialize is answered like the first', async () => {
  const { answer, results } = await runBetweenPrompts((query) => query.reinitialize())
  expect([answer?.output_style, results.length]).toEqual(['default', 2])
})

test('an unknown request rejects, and the session continues', async () => {
  const { answer, results } = await runBetweenPrompts((query) =>
    query.seedReadState('/a', 1).then(
      () => 'no error',
      (error: Error) => error.message,
    ),
  )
  expect([answer, results.map(({ subtype }) => subtype)]).toEqual([
    expect.stringContaining('Unsupported control request subtype: seed_read_state'),
    ['success', 'success'],
  ])
})

describe('messages during a run', () => {
  const sleep = use('Bash', { command: 'sleep 0.5' })
  const sendWithPriority = async (priority: NonNullable<SDKUserMessage['priority']>, replies: readonly unknown[]) => {
    const prompts = new PromptStream('go')
    let isSent = false
    return runQuery(prompts, replies, {
      options: { allowedTools: ['Bash'] },
      during(message: SDKMessage) {
        if (message.type === 'assistant' && !isSent) {
          isSent = true
          prompts.push('meanwhile', { priority })
          prompts.end()
        }
      },
    })
  }

  test('next: the run takes it at its next cancellation point', async () => {
    const outcome = await sendWithPriority('next', [sleep, done])
    expect([outcome.results.length, outcome.requests[1]?.text.includes('meanwhile')]).toEqual([1, true])
  })

  test('later: taken when the run would end', async () => {
    const outcome = await sendWithPriority('later', [sleep, done, { content: 'After.' }])
    expect([outcome.requests[1]?.text.includes('meanwhile'), outcome.requests[2]?.text.includes('meanwhile')]).toEqual([
      false,
      true,
    ])
    expect(answerOf(outcome)).toBe('After.')
  })

  test('now: the run is interrupted, and the message starts the next one', async () => {
    const outcome = await sendWithPriority('now', [use('Bash', { command: 'sleep 60' }), done])
    expect(outcome.results.map(({ terminal_reason: reason }) => reason)).toEqual(['aborted_tools', 'completed'])
  })
})

test('images and blocks are sent unchanged', async () => {
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const prompts = new PromptStream()
  prompts.push('', {
    message: {
      role: 'user',
      content: [
        { type: 'text', text: 'What is it?' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
      ],
    },
  })
  prompts.end()
  const outcome = await runQuery(prompts, [done])
  expect([answerOf(outcome), outcome.requests[0]?.text.includes('image/png')]).toEqual(['Done.', true])
})

test('a closed query ends the program', async () => {
  const prompts = new PromptStream('go')
  const outcome = await runQuery(prompts, [use('Bash', { command: 'sleep 60' }), done], {
    options: { allowedTools: ['Bash'] },
    during(message, query) {
      if (message.type === 'assistant') query.close()
    },
  })
  prompts.end()
  expect(outcome.results.length).toBeLessThan(2)
})
