// Spec R-HOST-3, R-HOST-5, R-HOST-6: what the methods of a query of the official SDK ask for, one test a row.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Options, Query, SDKMessage, SDKUserMessage } from '@anthropic-ai/claude-agent-sdk'
import { describe, expect, test } from 'vitest'
import { installProgram } from '../support/program.ts'
import { answerOf, asking, endFolders, folderOfSession, model, Said, use } from './support/sdk.ts'

installProgram()
endFolders()

const done = { content: 'Done.' }
const uuid = (n: number): `${string}-${string}-${string}-${string}-${string}` =>
  `00000000-0000-4000-8000-00000000000${n}`

/** Asks between the first prompt and the second. */
async function between<T>(
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
  const said = new Said()
  said.say('first', first)
  let results = 0
  let answer: T | undefined
  const told = await asking(said, replies, {
    options,
    during: async (message, query) => {
      if (message.type !== 'result') return
      results += 1
      if (results > 1) return said.end()
      answer = await work(query)
      said.say('second')
    },
  })
  return { ...told, answer }
}

describe('interrupt', () => {
  const slow = { content: 'A long answer that takes a while. '.repeat(20), pace_ms: 60 }

  test('while the model answers: what it said is kept, and the result says why', async () => {
    const said = new Said('go')
    let isAsked = false
    const told = await asking(said, [slow, done], {
      options: { includePartialMessages: true },
      during: async (message, query) => {
        if (message.type === 'result') {
          if (message.subtype === 'success') return said.end()
          return said.say('again')
        }
        if (message.type !== 'stream_event' || message.event.type !== 'content_block_delta' || isAsked) return
        isAsked = true
        expect(await query.interrupt()).toEqual({ still_queued: [] })
      },
    })
    expect(told.results).toMatchObject([
      { subtype: 'error_during_execution', terminal_reason: 'aborted_streaming' },
      { subtype: 'success' },
    ])
    const aborted = told.messages.filter(
      (message) => message.type === 'assistant' && Reflect.get(message, 'aborted') === true,
    )
    expect([aborted.length, JSON.stringify(told.messages).includes('[Request interrupted by user]')]).toEqual([1, true])
  })

  test('names what waits, which is the next run', async () => {
    const said = new Said('go')
    let isAsked = false
    const told = await asking(said, [use('Bash', { command: 'sleep 60' }), done], {
      options: { allowedTools: ['Bash'] },
      during: async (message, query) => {
        if (message.type === 'result' && message.subtype === 'success') return said.end()
        if (message.type !== 'assistant' || isAsked) return
        isAsked = true
        said.say('meanwhile', { uuid: uuid(1), priority: 'later' })
        // Until the program has it, it waits for nothing.
        await query.getContextUsage()
        expect(await query.interrupt()).toEqual({ still_queued: [uuid(1)] })
      },
    })
    expect([answerOf(told), told.requests.at(-1)?.text.includes('meanwhile')]).toEqual(['Done.', true])
  })

  test('while nothing goes on: nothing happens', async () => {
    const { answer, results } = await between((query) => query.interrupt())
    expect([answer, results.length]).toEqual([{ still_queued: [] }, 2])
  })
})

test('setPermissionMode holds for what comes next, and is told', async () => {
  const { messages, cwd } = await between((query) => query.setPermissionMode('acceptEdits'), {
    replies: [done, use('Write', { file_path: 'made', content: 'a' }), done],
  })
  const modes = messages.flatMap((message) =>
    message.type === 'system' && message.subtype === 'status' && message.permissionMode !== undefined
      ? [message.permissionMode]
      : [],
  )
  expect([modes, readFileSync(join(cwd, 'made'), 'utf8')]).toEqual([['acceptEdits'], 'a'])
})

test('setPermissionMode to what nobody allowed is refused', async () => {
  const { answer, results } = await between((query) =>
    query.setPermissionMode('bypassPermissions').catch((error: Error) => error.message),
  )
  expect([answer, results.length]).toEqual([expect.stringContaining('allow-dangerously-skip-permissions'), 2])
})

test('setModel holds for the next request; without one it is that of the start again', async () => {
  const { requests } = await between((query) => query.setModel('claude-haiku-4-5'))
  expect(requests.map(({ body }) => body['model'])).toEqual([model, 'claude-haiku-4-5'])
  const back = await between(async (query) => {
    await query.setModel('claude-haiku-4-5')
    await query.setModel()
  })
  expect(back.requests.map(({ body }) => body['model'])).toEqual([model, model])
})

test('setMaxThinkingTokens', async () => {
  const { requests } = await between((query) => query.setMaxThinkingTokens(3_000), {
    options: { model: 'claude-haiku-4-5' },
  })
  expect(requests[1]?.body['thinking']).toEqual({ type: 'enabled', budget_tokens: 3_000 })
})

test('getContextUsage', async () => {
  const { answer } = await between((query) => query.getContextUsage())
  expect(answer).toMatchObject({ model, isAutoCompactEnabled: true })
  expect([(answer?.totalTokens ?? 0) > 0, (answer?.maxTokens ?? 0) > 0, (answer?.categories.length ?? 0) > 0]).toEqual([
    true,
    true,
    true,
  ])
})

describe('rewindFiles', () => {
  const replies = [use('Write', { file_path: 'a.txt', content: 'new' }), done, done]
  const rewound = async (work: (query: Query) => Promise<unknown>, options: Options = {}) => {
    const cwd = folderOfSession()
    writeFileSync(join(cwd, 'a.txt'), 'old')
    const read = use('Read', { file_path: 'a.txt' })
    const told = await between(work, {
      replies: [read, ...replies],
      options: { cwd, permissionMode: 'acceptEdits', enableFileCheckpointing: true, ...options },
      first: { uuid: uuid(2) },
    })
    return [told.answer, readFileSync(join(cwd, 'a.txt'), 'utf8')]
  }

  test('tells what it would do, and does it', async () => {
    expect(await rewound((query) => query.rewindFiles(uuid(2), { dryRun: true }))).toEqual([
      { canRewind: true, filesChanged: [expect.stringContaining('a.txt')], insertions: 1, deletions: 1 },
      'new',
    ])
    expect(await rewound((query) => query.rewindFiles(uuid(2)))).toEqual([
      expect.objectContaining({ canRewind: true }),
      'old',
    ])
  })

  test('a message that there is not', async () => {
    expect(await rewound((query) => query.rewindFiles(uuid(9)))).toEqual([
      { canRewind: false, error: expect.stringContaining('') },
      'new',
    ])
  })
})

test('stopTask: also of what is not there', async () => {
  const { answer } = await between((query) => query.stopTask('none').then(() => 'fine'))
  expect(answer).toBe('fine')
})

test('a command in the background is ended by its id', async () => {
  let wasStopped = false
  const said = new Said('go')
  const told = await asking(said, [use('Bash', { command: 'sleep 100', run_in_background: true }), done, done], {
    options: { allowedTools: ['Bash'] },
    during: async (message, query) => {
      if (message.type === 'system' && message.subtype === 'task_started') {
        await query.stopTask(message.task_id)
        wasStopped = true
      }
      if (message.type === 'result') said.end()
    },
  })
  expect([wasStopped, answerOf(told)]).toEqual([true, 'Done.'])
})

test('applyFlagSettings', async () => {
  const { requests } = await between((query) => query.applyFlagSettings({ model: 'claude-haiku-4-5' }))
  expect(requests[1]?.body['model']).toBe('claude-haiku-4-5')
})

test('reloadSkills', async () => {
  const { answer } = await between((query) => query.reloadSkills())
  expect(answer).toMatchObject({ skills: expect.any(Array) })
})

test('what initialize is answered with: commands, models, agents, account', async () => {
  const { answer } = await between(
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

test('a second initialize is answered as the first', async () => {
  const { answer, results } = await between((query) => query.reinitialize())
  expect([answer?.output_style, results.length]).toEqual(['default', 2])
})

test('a request that nobody knows rejects, and the session goes on', async () => {
  const { answer, results } = await between((query) =>
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

describe('messages while a run goes on', () => {
  const sleep = use('Bash', { command: 'sleep 0.5' })
  const handedIn = async (priority: NonNullable<SDKUserMessage['priority']>, replies: readonly unknown[]) => {
    const said = new Said('go')
    let wasSaid = false
    return asking(said, replies, {
      options: { allowedTools: ['Bash'] },
      during(message: SDKMessage) {
        if (message.type === 'assistant' && !wasSaid) {
          wasSaid = true
          said.say('meanwhile', { priority })
          said.end()
        }
      },
    })
  }

  test('next: the run takes it at its next checkpoint', async () => {
    const told = await handedIn('next', [sleep, done])
    expect([told.results.length, told.requests[1]?.text.includes('meanwhile')]).toEqual([1, true])
  })

  test('later: taken when the run would end', async () => {
    const told = await handedIn('later', [sleep, done, { content: 'After.' }])
    expect([told.requests[1]?.text.includes('meanwhile'), told.requests[2]?.text.includes('meanwhile')]).toEqual([
      false,
      true,
    ])
    expect(answerOf(told)).toBe('After.')
  })

  test('now: the run is interrupted, and the message begins the next', async () => {
    const told = await handedIn('now', [use('Bash', { command: 'sleep 60' }), done])
    expect(told.results.map(({ terminal_reason: reason }) => reason)).toEqual(['aborted_tools', 'completed'])
  })
})

test('images and blocks go as they are', async () => {
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
  const said = new Said()
  said.say('', {
    message: {
      role: 'user',
      content: [
        { type: 'text', text: 'What is it?' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
      ],
    },
  })
  said.end()
  const told = await asking(said, [done])
  expect([answerOf(told), told.requests[0]?.text.includes('image/png')]).toEqual(['Done.', true])
})

test('a query that is closed ends the program', async () => {
  const said = new Said('go')
  const told = await asking(said, [use('Bash', { command: 'sleep 60' }), done], {
    options: { allowedTools: ['Bash'] },
    during(message, query) {
      if (message.type === 'assistant') query.close()
    },
  })
  said.end()
  expect(told.results.length).toBeLessThan(2)
})
