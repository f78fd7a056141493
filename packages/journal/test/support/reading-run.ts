import { streamRun, startRun } from '@halting/core'
import { scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { createMemorySteps, type StepRecord } from '@halting/core/steps'

export const place = { sessionId: '11111111-2222-4333-8444-555555555555', cwd: '/project', version: '0.1.0' }

/** The records of a run whose only tool, Look, returned characters of two and four bytes. */
export async function recordsOfLooking(replies: readonly ScriptedReply[]): Promise<readonly StepRecord[]> {
  const steps = createMemorySteps()
  const Look = {
    name: 'Look',
    description: '',
    inputSchema: { type: 'object' },
    readOnly: true,
    execute: () => ({ content: 'seen ä😀' }),
  } as const
  const model = scriptedModel(replies, { contextWindow: 1_000_000 })
  await streamRun(startRun({ prompt: 'Go.', sessionId: place.sessionId }), { model, tools: [Look], steps }).result
  return steps.records
}
