// Holds rules of docs/spec: R-VERI-4, for what `/copy` copies.
import { expect, test } from 'vitest'
import type { ScriptedReply } from '@halting/core/testing'
import { calls, run, tool } from '../../../core/test/support/harness.ts'
import { lastAnswerIn } from '../../src/terminal/app/transcript-entries.ts'

const edit = tool('Edit', () => ({ content: 'done', fileWork: { changedLines: 9 } }))
const verification = { mode: 'ask', checks: () => ['npm test'] } as const

test('the last answer is the one before a request to verify it, unless the model called a tool', async () => {
  const answerOf = async (...laterReplies: readonly ScriptedReply[]) => {
    const { state, transitions } = await run([calls('Edit'), 'Fixed.', ...laterReplies], {
      tools: [edit],
      verification,
    })
    expect(transitions).toContain('unverified_change')
    return lastAnswerIn([...state.transcript])
  }
  expect(await answerOf('No check is needed.')).toBe('Fixed.')
  expect(await answerOf(calls('Edit'), 'Fixed it better.')).toBe('Fixed it better.')
})
