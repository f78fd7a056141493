import { expect } from 'vitest'
import { startRun, type RunResult } from '../../src/index.ts'
import { transcriptProblems } from '../../src/testing/index.ts'
import { begin, type RunTestOptions, type RunningRun, type Run, type Script } from './harness.ts'

/** A run with the invariants of every end: one run result, and a transcript that the next run can begin with. */
export function beginChecked(script: Script, overrides: RunTestOptions = {}): RunningRun {
  const runResults: RunResult[] = []
  const going = begin(script, { ...overrides, onResult: (terminal) => runResults.push(terminal) })
  return {
    ...going,
    async end() {
      const result = await going.end()
      expect(runResults).toEqual([result.terminal])
      const next = startRun({ transcript: result.state.transcript, prompt: 'again', runId: 'run2' })
      expect(transcriptProblems(next.transcript.messages())).toEqual([])
      return result
    },
  }
}

export const runChecked = (script: Script, overrides: RunTestOptions = {}): Promise<Run> =>
  beginChecked(script, overrides).end()
