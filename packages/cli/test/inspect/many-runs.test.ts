// The cost of showing a session grows linearly with its runs. Counts reads of its records, and characters of the output.
import { streamRun, startRun } from '@halting/core'
import { createMemorySteps, type StepRecord } from '@halting/core/steps'
import { scriptedModel } from '@halting/core/testing'
import { viewOf } from '@halting/analysis/view'
import { expect, test } from 'vitest'
import { type AnySession, inspectedSession } from '@halting/analysis/sessions'
import { plainWhyText } from '../../src/inspect/plain-why-text.ts'
import { textReply } from '../support/store-session.ts'

const found = { key: 's', sessionId: 's', path: null, changedAt: null, isLive: false, signature: '' }
const nextStep = { says: 'Continue with:', command: 'halting -p --resume s' }

/** The records of one run of a conversation, with a stage after it and a rewind to before its answer. */
async function recordsOf(run: number): Promise<readonly StepRecord[]> {
  const steps = createMemorySteps()
  const model = scriptedModel([textReply('hello')], { maxOutputTokens: 1_000 })
  await streamRun(startRun({ prompt: 'go', sessionId: 's', runId: `run${run}` }), { model, steps }).result
  const name = { id: `run${run}/after/memory`, runId: `run${run}`, name: 'memory' }
  const most = { tokens: 10, nanos: 0 }
  const taken: StepRecord = { type: 'rewind', entries: run, after: null }
  return [...steps.records, { type: 'stage', stage: { ...name, phase: 'began', most } }, taken]
}

/** How much of the records is read, and how much output is made of them. */
async function costOf(
  count: number,
  program: 'ours' | 'foreign',
): Promise<{ readonly reads: number; readonly outputSize: number }> {
  let reads = 0
  const counted = (record: StepRecord): StepRecord =>
    new Proxy(record, {
      get(target, name, receiver) {
        if (name === 'type') reads++
        return Reflect.get(target, name, receiver) as unknown
      },
    })
  const runs: (readonly StepRecord[])[] = []
  for (let run = 1; run <= count; run++) runs.push((await recordsOf(run)).map(counted))
  const session: AnySession = {
    sessionId: 's',
    cwd: '/work',
    runs,
    began: runs.map(() => null),
    unpriced: runs.map(() => []),
    ...(program === 'foreign' && { foreign }),
  }
  const view = viewOf(inspectedSession(session, { found, nextStep, shellArguments: 's', whyText: plainWhyText }))
  return { reads, outputSize: JSON.stringify(view).length }
}

const foreign: NonNullable<AnySession['foreign']> = {
  program: 'codex',
  sessionId: 's',
  cwd: '/work',
  path: '/s.jsonl',
  runs: [],
  recordedUsd: undefined,
  skipped: { unknown: 0, kinds: [], damaged: 0, tooLong: [], copied: 0, strayResults: 0, withoutFigures: 0 },
}

test.each(['ours', 'foreign'] as const)('%s: costs ten times as much for ten times as many runs', async (program) => {
  const [few, many] = [await costOf(30, program), await costOf(300, program)]
  expect(many.reads).toBeLessThan(11 * few.reads)
  expect(many.outputSize).toBeLessThan(11 * few.outputSize)
})
