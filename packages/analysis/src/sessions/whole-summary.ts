import type { Transcript } from '@halting/core'
import { textOf } from '@halting/core/adapters'
import { countedRuns, foldRun, foldSession } from '@halting/core/steps'
import { readJournal } from '@halting/journal'
import { recordedProgress } from '../account/recorded-progress.ts'

interface WholeSummary {
  readonly cwd: string
  readonly title?: string
  readonly firstPrompt: string
  readonly runs: number
  readonly turns: number
  readonly costUsd: number
  readonly ended: string
}

/**
 * Reads the summary of a session from its whole file. Loaded on demand, because few sessions need it.
 * @throws HaltingError for a file that cannot be read.
 */
export async function readWholeSummary(path: string): Promise<WholeSummary> {
  const { runs, cwd, title } = await readJournal(path)
  const folded = foldSession(runs)
  const counted = countedRuns(folded)
  let turns = counted.reduce((sum, { spent }) => sum + spent.turns, 0)
  const ofStages = (folded.stages ?? []).reduce((sum, { ended }) => sum + (ended?.costUsd ?? 0), 0)
  let costUsd = counted.reduce((sum, { terminal }) => sum + terminal.costUsd, ofStages)
  let { transcript } = folded
  if (folded.open !== undefined) {
    const open = foldRun(folded.open, transcript)
    if (open.kind === 'open') transcript = open.state.transcript
    const { totals } = recordedProgress(folded.open)
    turns += totals.turns
    costUsd += totals.costUsd
  }
  const last = folded.ended.at(-1)?.terminal.reason ?? 'empty'
  const ended = folded.open === undefined ? last : 'open'
  const named = title === undefined ? {} : { title }
  return { cwd, ...named, firstPrompt: firstPromptOf(transcript), runs: runs.length, turns, costUsd, ended }
}

function firstPromptOf(transcript: Transcript): string {
  for (const entry of transcript)
    if (entry.kind === 'user' && entry.origin === 'prompt') return textOf(entry.message.content)
  return ''
}
