// Spec R-HOST-5b, R-SDK-3e: a message is told again when it is on disk, once, and under the uuid of whoever handed it in.
import { setTimeout } from 'node:timers/promises'
import type { HookCallback } from '@anthropic-ai/claude-agent-sdk'
import { expect, test } from 'vitest'
import { runOnHost } from '../support/ending-frontends.ts'
import { endingRuns } from '../support/ending-runs.ts'
import { installProgram } from '../support/program.ts'
import { answerOf, asking, endFolders, Said, use } from './support/sdk.ts'

installProgram()
endFolders()

const replays = (written: string) => written.split('\n').filter((line) => line.includes('"isReplay":true')).length

test('with --replay-user-messages it is told behind what keeps it, and once', async () => {
  const seen: number[] = []
  const { written } = await runOnHost(endingRuns.completed, '/work', {
    flags: { replayUserMessages: true },
    flush: async (told) => void seen.push(replays(told)),
  })
  expect([seen, replays(written)]).toEqual([[0], 1])
})

test('what the disk refuses is not told to be there', async () => {
  const { written, result } = await runOnHost(endingRuns.completed, '/work', {
    flags: { replayUserMessages: true },
    flush: () => Promise.reject(new Error('no space left')),
  })
  expect([replays(written), result?.subtype]).toEqual([0, 'success'])
})

const ids = ['11111111-2222-4333-8444-00000000000A', '11111111-2222-4333-8444-00000000000b'] as const

/**
 * Sends a prompt, and a second message while a call of the run is under way: lines of the person, by uuid and whether they repeat one.
 * The call waits for a hook of the host, which returns after the SDK has written the message: the program reads both in that order.
 */
const steered = async (extraArgs: Record<string, null>) => {
  const said = new Said()
  said.say('Look.', { uuid: ids[0] })
  const sendBeforeCall: HookCallback = async () => {
    said.say('left', { uuid: ids[1] })
    said.end()
    await setTimeout(20)
    return {}
  }
  const told = await asking(said, [use('Glob', { pattern: '*' }), { expect: 'left', content: 'Left, then.' }], {
    options: { extraArgs, hooks: { PreToolUse: [{ hooks: [sendBeforeCall] }] } },
  })
  const lines = told.messages.flatMap((message) =>
    message.type === 'user' && message.tool_use_result === undefined
      ? [[message.uuid, 'isReplay' in message && message.isReplay]]
      : [],
  )
  return { lines, answer: answerOf(told), told }
}

test('a message that a run takes is not sent back; its uuid names it later', async () => {
  const { lines, answer, told } = await steered({})
  expect([lines, answer]).toEqual([[], 'Left, then.'])
  const { cwd, results } = told
  const [{ session_id: resume } = { session_id: '' }] = results
  const again = await asking('go', [{ content: 'Done.' }], { options: { cwd, resume, resumeSessionAt: ids[1] } })
  expect(again.requests[0]?.text).toContain('left')
  expect(again.requests[0]?.text).not.toContain('Left, then.')
})

test('with --replay-user-messages each message is told once, under that uuid', async () => {
  const { lines, answer } = await steered({ 'replay-user-messages': null })
  expect([lines, answer]).toEqual([
    [
      [ids[0], true],
      [ids[1], true],
    ],
    'Left, then.',
  ])
})
