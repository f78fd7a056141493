import type { FileWork, Verification } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import { calls, json, run, tool } from '../../../core/test/support/harness.ts'

/** A step of the model: a call that changed files like this, or an answer. */
export type Work = FileWork | string

/** A run whose model takes these steps, and its records as a session file stores them. */
export async function checkedRun(
  works: readonly Work[],
  verification: Verification | undefined = { mode: 'tell' },
  more: object = {},
) {
  const done = works.filter((work) => typeof work !== 'string')
  const { terminal, steps, transitions } = await run(
    works.map((work) => (typeof work === 'string' ? { text: work } : calls('Work'))),
    {
      tools: [tool('Work', () => ({ content: 'ok', fileWork: done.shift() }))],
      ...(verification !== undefined && { verification }),
      ...more,
    },
  )
  return { terminal, transitions, records: json(steps.records) as never as readonly StepRecord[] }
}

export const change: FileWork = { changedLines: 4 }
export const passing: FileWork = { check: { command: 'npm test', passed: true } }
export const failing: FileWork = { check: { command: 'npm test', passed: false } }
