import { expect } from 'vitest'
import { startRun, type RunResult } from '../../src/index.ts'
import { transcriptProblems } from '../../src/testing/index.ts'
import { begin, type Given, type Going, type Run, type Script } from './harness.ts'

/** A run with what holds at every end: one terminal, and a transcript that the next run can begin with. */
export function watched(script: Script, given: Given = {}): Going {
  const told: RunResult[] = []
  const going = begin(script, { ...given, onResult: (terminal) => told.push(terminal) })
  return {
    ...going,
    async end() {
      const result = await going.end()
      expect(told).toEqual([result.terminal])
      const next = startRun({ transcript: result.state.transcript, prompt: 'again', runId: 'run2' })
      expect(transcriptProblems(next.transcript.messages())).toEqual([])
      return result
    },
  }
}

export const ended = (script: Script, given: Given = {}): Promise<Run> => watched(script, given).end()
