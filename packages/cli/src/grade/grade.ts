import { gradeOf, isCopiedRun, runOutcomes, type RunGrade } from '@halting/analysis'
import { writerOf, type AnySession } from '@halting/analysis/sessions'
import { firstPrompt } from '@halting/analysis/view'
import { sessionScope } from '@halting/agent/session-settings'
import { noteGrade, readGrades, type NewGrade } from '@halting/journal'
import { wantsJson, type Flags } from '../flags/flags.ts'
import { nearest } from '../flags/nearest.ts'
import { pricesFor, readNamedSession } from '../foreign/session-prices.ts'
import { oneLine, many } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { findSessionFile } from '../stored-sessions/find-session.ts'
import { UsageError } from '../usage-error.ts'
import { endingName } from '@halting/analysis/report'
import { gradeText } from '@halting/analysis/words'
import { tableLines } from '../io/table.ts'

const gradeWords = ['good', 'bad', 'none'] as const

/** `halting grade [SESSION] [good|bad|none]`: stores the user's grade of a run; without a grade, lists the grades of all runs. Makes no request. */
export async function grade(flags: Flags, words: readonly string[], program: Program): Promise<number> {
  const request = parseWords(words)
  const path = await sessionPath(request, flags, program)
  const session = await readNamedSession(path, pricesFor(flags, program))
  const index = runIndex(session, flags)
  let hadGrade = false
  if (request.grade !== undefined) {
    checkGradable(session, index, path)
    const { sessionId } = session
    const runId = runOutcomes(session.runs)[index]?.runId ?? ''
    hadGrade = readGrades(sessionScope(program)).of(sessionId, runId) !== undefined
    await noteGrade(sessionScope(program), { sessionId, runId, grade: request.grade })
  }
  const allGrades = listGrades(session, path, program)
  const grades = flags.run === undefined ? allGrades : { ...allGrades, runs: allGrades.runs.slice(index, index + 1) }
  const { output } = program
  if (wantsJson(flags)) output.out(`${JSON.stringify(grades)}\n`)
  else if (request.grade === undefined) output.out(gradesText(grades, output.width))
  else output.out(`${confirmationText(request.grade, hadGrade, `run ${index + 1} of session ${session.sessionId}`)}\n`)
  return 0
}

interface GradeRequest {
  readonly session?: string
  readonly grade?: NewGrade['grade']
}

function parseWords(words: readonly string[]): GradeRequest {
  const [first, second, ...more] = words
  if (more.length > 0) throw new UsageError('halting grade takes a session and a grade: halting grade SESSION good.')
  if (first === undefined) return {}
  const alone = gradeWords.find((word) => word === first)
  if (second === undefined) return alone === undefined ? { session: first } : { grade: alone }
  const secondGrade = gradeWords.find((word) => word === second)
  if (secondGrade !== undefined) return { session: first, grade: secondGrade }
  const meant = nearest(second.toLowerCase(), gradeWords)
  throw new UsageError(
    `"${oneLine(second, 40)}" is not a grade.${meant === undefined ? '' : ` Did you mean ${meant}?`} Grades: ${gradeWords.join(', ')}.`,
  )
}

/** If a single word is neither a session nor a grade, the error lists the grades. */
async function sessionPath({ session, grade: given }: GradeRequest, flags: Flags, program: Program): Promise<string> {
  try {
    return await findGradedFile(session, flags, program)
  } catch (error) {
    if (!(error instanceof UsageError) || session === undefined || given !== undefined) throw error
    throw new UsageError(`${error.message} Grades: ${gradeWords.join(', ')}.`)
  }
}

async function findGradedFile(session: string | undefined, flags: Flags, program: Program): Promise<string> {
  const { claudeCode = false, codex = false } = flags
  if (!claudeCode && !codex) return findSessionFile(session, 'grade', program)
  if (claudeCode && codex) throw new UsageError('Name one program: --claude-code or --codex.')
  if (session === undefined)
    throw new UsageError(`Name the session: halting grade SESSION good ${claudeCode ? '--claude-code' : '--codex'}.`)
  const { findForeignSession } = await import('../foreign/find-foreign.ts')
  const found = await findForeignSession(session, program, claudeCode ? 'claude-code' : 'codex')
  if (found !== undefined) return found.path
  throw new UsageError(
    `No session of ${claudeCode ? 'Claude Code' : 'Codex'} has an ID that begins with ${oneLine(session, 100)}.`,
  )
}

/** The index of the run to grade (default: the newest). */
function runIndex({ runs, sessionId }: AnySession, { run = runs.length }: Flags): number {
  if (runs.length === 0) throw new UsageError(`Session ${sessionId} has no runs yet.`)
  if (run > runs.length) throw new UsageError(`Session ${sessionId} has no run ${run}. Its runs: 1 to ${runs.length}.`)
  return run - 1
}

function checkGradable({ runs, foreign }: AnySession, index: number, path: string): void {
  const records = runs[index] ?? []
  if (isCopiedRun(records))
    throw new UsageError(`Run ${index + 1} is a copy: it counts in the session in which it was made. Grade it there.`)
  const isOpen = foreign === undefined && index === runs.length - 1 && runOutcomes([records])[0]?.reason === null
  const writer = isOpen ? writerOf(path) : undefined
  if (writer !== undefined)
    throw new UsageError(`Run ${index + 1} is still running, in process ${writer}. Grade it when it has ended.`)
}

function listGrades({ sessionId, runs, foreign }: AnySession, file: string, program: Program): ListedGrades {
  const grades = readGrades(sessionScope(program))
  return {
    sessionId,
    program: foreign?.program ?? 'halting',
    file,
    runs: runOutcomes(runs).map((outcome, index) => ({
      run: index + 1,
      runId: outcome.runId,
      prompt: firstPrompt(runs[index] ?? []).slice(0, 200),
      ending: outcome.reason,
      isCopy: isCopiedRun(runs[index] ?? []),
      grade: gradeOf(outcome, grades.of(sessionId, outcome.runId)?.grade),
    })),
  }
}

function confirmationText(noted: NewGrade['grade'], hadGrade: boolean, run: string): string {
  if (noted !== 'none') return `Graded ${noted}: ${run}`
  return hadGrade ? `Removed the grade of ${run}` : `There was no grade to remove: ${run}`
}

/** A run of a session and its grade. JSON. */
interface ListedRun {
  /** Number of the run, counted from 1. */
  readonly run: number
  readonly runId: string
  readonly prompt: string
  /** Null if the run has not ended. */
  readonly ending: string | null
  /** Whether the run was copied from another session, where it counts. */
  readonly isCopy: boolean
  readonly grade: RunGrade | null
}

/** The grades of a session. JSON. */
interface ListedGrades {
  readonly sessionId: string
  readonly program: string
  readonly file: string
  readonly runs: readonly ListedRun[]
}

/** One line per run: its grade and who gave it, how it ended, and its prompt. */
function gradesText({ sessionId, runs }: ListedGrades, width: number): string {
  const rows = runs.map(({ run, grade, isCopy, ending, prompt }) => {
    const says = isCopy ? 'a copy, graded where it was made' : gradeText(grade)
    return [`run ${run}`, says, endingName(ending), oneLine(prompt, 200)]
  })
  const lines = tableLines(rows, { columns: [{}, {}, {}, { rest: 'cut' }], width })
  return `Session ${oneLine(sessionId, 100)}, ${many(runs.length, 'run')}\n${lines.join('\n')}\n`
}
