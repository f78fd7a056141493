import { summaryOf, type SessionSummary } from '@halting/analysis/sessions'
import { lineWith, readDisplayTranscript } from '@halting/analysis/transcript'
import { HaltingError, type Transcript } from '@halting/core'
import { createKeyRedactor } from '@halting/models'
import type { Flags } from '../flags/flags.ts'
import { oneLine, programMessage } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { findSession } from '../stored-sessions/find-session.ts'
import { asUsageError } from '../stored-sessions/as-usage-error.ts'
import { UsageError } from '../usage-error.ts'
import { sessionJson, sessionLines } from './session-text.ts'
import { transcriptLines } from './transcript-lines.ts'

/** Prints a session and its conversation. */
export async function showSession({ json }: Flags, id: string, program: Program): Promise<number> {
  const { output } = program
  const file = await findSession(id, program)
  const summary = await summaryOf(file)
  if (summary.problem !== undefined) throw new UsageError(summary.problem)
  const transcript = await asUsageError(transcriptOf(file.path))
  output.out(
    json === true
      ? `${JSON.stringify({ ...sessionJson(summary), messages: transcript.messages() })}\n`
      : `${sessionLines([summary], output.width)}\n${transcriptLines(transcript, output.width).join('\n')}\n`,
  )
  return 0
}

/** Prints the sessions whose conversation contains a text. */
export async function searchSessions(
  flags: Flags,
  text: string,
  summaries: readonly SessionSummary[],
  { output }: Program,
): Promise<number> {
  const found: { readonly summary: SessionSummary; readonly line: string }[] = []
  for (const summary of summaries) {
    const searched = summary.problem ?? (await findLine(summary.path, text))
    if (typeof searched === 'string') output.err(programMessage(`not searched: ${oneLine(searched, Infinity)}`))
    else if (searched.line !== undefined) found.push({ summary, line: searched.line })
  }
  if (flags.json === true)
    output.out(
      `${JSON.stringify({ sessions: found.map(({ summary, line }) => ({ ...sessionJson(summary), line })) })}\n`,
    )
  else
    for (const { summary, line } of found)
      output.out(`${sessionLines([summary], output.width)}  ${oneLine(line, output.width - 2)}\n`)
  if (found.length === 0) output.err(programMessage(`no session contains "${oneLine(text, 60)}".`))
  return found.length === 0 ? 1 : 0
}

/** Finds the first match. Some damage is found only when the whole file is read. */
async function findLine(path: string, text: string): Promise<{ readonly line: string | undefined } | string> {
  try {
    return { line: lineWith(await transcriptOf(path), text) }
  } catch (error) {
    if (error instanceof HaltingError) return error.message
    throw error
  }
}

function transcriptOf(path: string): Promise<Transcript> {
  return readDisplayTranscript(path, createKeyRedactor(process.env))
}
