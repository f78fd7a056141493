import { resolve } from 'node:path'
import { redactedValue } from '@halting/core/redact'
import { wholeLines, type ReadJournal } from '@halting/journal'
import type { Flags } from '../flags/flags.ts'
import { gradingSourcesForDisplay } from '../grade/grading-sources.ts'
import { oneLine, programMessage } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { findSessionFile, readSession } from '../stored-sessions/find-session.ts'
import { asUsageError } from '../stored-sessions/as-usage-error.ts'
import { UsageError } from '../usage-error.ts'
import { resumeCommand } from '../why/resume-command.ts'
import { recordedResumeContext } from '../why/recorded-resume-context.ts'
import { terminalOf } from '@halting/analysis/why'
import { plainText, sessionTranscript, type SessionTranscript } from '@halting/analysis/view'
import { createKeyRedactor } from '@halting/models'
import { writeNewFile } from './write-new.ts'

/** `halting sessions export ID --format jsonl|markdown|html [--output FILE]` (spec R-SESS-9). */
export async function exportSession(flags: Flags, sessionName: string, program: Program): Promise<number> {
  const { format = 'html', output: file, force } = flags
  if (format === 'text')
    throw new UsageError('sessions export writes html, markdown or jsonl; text is only for halting report.')
  const { output, cwd } = program
  const source = await exportSource(flags, sessionName, program)
  const redact = createKeyRedactor(program.env)
  const chunks = redactedChunks(await exportChunks(source, format, redact, program), redact)
  if (file === undefined) {
    for (const chunk of chunks) output.out(chunk)
    return 0
  }
  await writeNewFile(resolve(cwd, file), chunks, { displayName: file, isForced: force === true, sources: source.files })
  output.err(programMessage(`wrote ${file}`))
  return 0
}

/** Where the session is stored. */
interface ExportSource {
  /** Files that must not be overwritten. */
  readonly files: readonly string[]
  readonly read: () => Promise<Pick<ReadJournal, 'sessionId' | 'cwd' | 'runs'>>
  /** The lines of its session file. */
  readonly lines: () => Promise<Iterable<string>>
  readonly cluster?: string
}

async function exportSource(flags: Flags, sessionName: string, program: Program): Promise<ExportSource> {
  const { cluster } = flags
  if (cluster !== undefined) {
    const { folderOnWorker, readClusterSession } = await import('../cluster/cluster-client.ts')
    const read = await readClusterSession(flags, sessionName, program)
    const session = { ...read, cwd: await folderOnWorker(flags, sessionName, program) }
    const { sessionFileLines } = await import('../cluster/session-lines.ts')
    return { files: [], read: async () => session, lines: () => sessionFileLines(session, program), cluster }
  }
  const path = await findSessionFile(sessionName, 'sessions export', program)
  return { files: [path], read: () => readSession(path), lines: () => asUsageError(wholeLines(path)) }
}

/** Sessions of earlier versions may contain keys of the program. */
function* redactedChunks(chunks: Iterable<string>, redact: (text: string) => string): Iterable<string> {
  for (const chunk of chunks) yield redact(chunk)
}

async function exportChunks(
  { read, lines, cluster }: ExportSource,
  format: 'html' | 'markdown' | 'jsonl',
  redact: (text: string) => string,
  program: Program,
): Promise<Iterable<string>> {
  if (format === 'jsonl') return lines()
  const whole = await read()
  // Redacts before titles are truncated, since a part of a key would not be recognized.
  const journal = { ...whole, runs: redactedValue(whole.runs, redact) }
  const session = withGrades(sessionTranscript(journal), program)
  const title = sessionTitle(session)
  if (format === 'markdown') {
    const { markdownOf } = await import('@halting/analysis/export')
    return markdownOf(session, title)
  }
  const { htmlOf } = await import('@halting/analysis/export')
  const last = journal.runs.at(-1)
  const where = {
    sessionId: journal.sessionId,
    sessionCwd: journal.cwd,
    cwd: journal.cwd,
    ...recordedResumeContext(journal.runs),
    ...(cluster !== undefined && { cluster }),
  }
  return htmlOf(session, title, last === undefined ? { says: '' } : resumeCommand(terminalOf(last), where))
}

/** Adds the user's grades to the runs. */
function withGrades(session: SessionTranscript, program: Program): SessionTranscript {
  const { grades } = gradingSourcesForDisplay(program)
  const runs = session.runs.map((run) => {
    const sessionName = grades.of(session.sessionId, run.account.run.runId)
    return sessionName === undefined ? run : { ...run, grade: sessionName.grade }
  })
  return { ...session, runs }
}

/** The first prompt. */
function sessionTitle({ runs, sessionId }: SessionTranscript): string {
  for (const { parts } of runs)
    for (const part of parts) if (part.kind === 'person') return oneLine(plainText(part.content), 100)
  return `Session ${sessionId}`
}
