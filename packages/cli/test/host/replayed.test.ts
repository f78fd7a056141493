// Spec R-HOST-5b, R-SDK-3e: a message is replayed once when it is on disk, with the uuid that its sender gave it.
import { setTimeout } from 'node:timers/promises'
import type { HookCallback } from '@anthropic-ai/claude-agent-sdk'
import { expect, test } from 'vitest'
import { runOnHost } from '../support/ending-frontends.ts'
import { endingRuns } from '../support/ending-runs.ts'
import { installProgram } from '../support/program.ts'
import { answerOf, runQuery, removeFoldersAfterEach, PromptStream, use } from './support/sdk.ts'

installProgram()
removeFoldersAfterEach()

const replays = (written: string) => written.split('\n').filter((line) => line.includes('"isReplay":true')).length

test('--replay-user-messages replays a message once, after it is stored', async () => {
  const seen: number[] = []
  const { written } = await runOnHost(endingRuns.completed, '/work', {
    flags: { replayUserMessages: true },
    flush: async (content) => void seen.push(replays(content)),
  })
  expect([seen, replays(written)]).toEqual([[0], 1])
})

test('a message is not replayed if the disk rejects it', async () => {
  const { written, result } = await runOnHost(endingRuns.completed, '/work', {
    flags: { replayUserMessages: true },
    flush: () => Promise.reject(new Error('no space left')),
  })
  expect([replays(written), result?.subtype]).toEqual([0, 'success'])
})

const ids = ['11111111-2222-4333-8444-00000000000A', '11111111-2222-4333-8444-00000000000b'] as const

/**
 * Sends a prompt, and a second message while a call of the run is running. Returns the user lines, by uuid and whether they are replays.
 * The call waits for a hook of the host, which returns after the SDK has written the message, so the program reads both in that order.
 */
const runSteered = async (extraArgs: Record<string, null>) => {
  const prompts = new PromptStream()
  prompts.push('Look.', { uuid: ids[0] })
  const sendBeforeCall: HookCallback = async () => {
    prompts.push('left', { uuid: ids[1] })
    prompts.end()
    await setTimeout(20)
    return {}
  }
  const outcome = await runQuery(prompts, [use('Glob', { pattern: '*' }), { expect: 'left', content: 'Left, then.' }], {
    options: { extraArgs, hooks: { PreToolUse: [{ hooks: [sendBeforeCall] }] } },
  })
  const lines = outcome.messages.flatMap((message) =>
    message.type === 'user' && message.tool_use_result === undefined
      ? [[message.uuid, 'isReplay' in message && message.isReplay]]
      : [],
  )
  return { lines, answer: answerOf(outcome), outcome }
}

test('a message that an active run receives is not replayed, and later events refer to it by its uuid', async () => {
  const { lines, answer, outcome } = await runSteered({})
  expect([lines, answer]).toEqual([[], 'Left, then.'])
  const { cwd, results } = outcome
  const [{ session_id: resume } = { session_id: '' }] = results
  const again = await runQuery('go', [{ content: 'Done.' }], { options: { cwd, resume, resumeSessionAt: ids[1] } })
  expect(again.requests[0]?.text).toContain('left')
  expect(again.requests[0]?.text).not.toContain('Left, then.')
})

test('--replay-user-messages replays each message once, under its uuid', async () => {
  const { lines, answer } = await runSteered({ 'replay-user-messages': null })
  expect([lines, answer]).toEqual([
    [
      [ids[0], true],
      [ids[1], true],
    ],
    'Left, then.',
  ])
})
