import type { RunGrade } from '@halting/analysis'
import { endingName } from '@halting/analysis/report'
import { gradeText } from '@halting/analysis/words'
import { fitted } from '../io/columns.ts'
import { many, oneLine } from '../io/figures.ts'

/** A run of a session, and how it came out. JSON. */
interface ListedRun {
  /** Counts from 1. */
  readonly run: number
  readonly runId: string
  readonly prompt: string
  /** Null for one that did not end. */
  readonly ending: string | null
  /** It was made in another session, where it counts. */
  readonly isCopy: boolean
  readonly grade: RunGrade | null
}

/** The grades of a session. JSON. */
export interface ListedGrades {
  readonly sessionId: string
  readonly program: string
  readonly file: string
  readonly runs: readonly ListedRun[]
}

/** A line for each run: its grade and who gave it, how it ended, and what was asked. */
export function gradesText({ sessionId, runs }: ListedGrades, width: number): string {
  const rows = runs.map(({ run, grade, isCopy, ending, prompt }) => {
    const says = isCopy ? 'a copy, graded where it was made' : gradeText(grade)
    return [`run ${run}`, says, endingName(ending), oneLine(prompt, 200)]
  })
  const columns = [0, 1, 2].map((at) => Math.max(...rows.map((cells) => cells[at]?.length ?? 0)))
  const lines = rows.map((cells) =>
    fitted(`  ${cells.map((cell, at) => cell.padEnd(columns[at] ?? 0)).join('  ')}`.trimEnd(), width),
  )
  return `Session ${oneLine(sessionId, 100)}, ${many(runs.length, 'run')}\n${lines.join('\n')}\n`
}
