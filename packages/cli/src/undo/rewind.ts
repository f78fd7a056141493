import { entryOfLine, openJournal, readJournal, type StoredSessionFile } from '@halting/journal'
import { firstChangeSince, type RestorePlan, type SessionFiles } from '@halting/agent'
import { messageOf, textOf } from '@halting/core/adapters'
import { foldSession, personsMessages, messageIndex, type PersonsMessage } from '@halting/core/steps'
import { type Flags, wantsJson } from '../flags/flags.ts'
import { many, oneLine, programMessage } from '../io/figures.ts'
import { tableLines } from '../io/table.ts'
import type { Program } from '../program.ts'
import { findSession } from '../stored-sessions/find-session.ts'
import { recordedTranscript } from '@halting/analysis/transcript'
import { UsageError } from '../usage-error.ts'
import { versionOf } from '../version.ts'
import { sessionFiles, leftText, planText, refusalText, printRestore, unknownText } from './restore-text.ts'
import { pathFormatter } from './path-formatter.ts'
import { completeInterruptedUndo, printDryRun, withSessionLock } from './undo.ts'

/**
 * `halting rewind SESSION [MESSAGE]`: rewinds the conversation, and the files with it, to before a user message (spec
 * R-REW-1 to R-REW-4). Without a message, lists them, the newest last. Makes no request.
 */
export async function rewind(
  flags: Flags,
  [session, message, ...more]: readonly string[],
  program: Program,
): Promise<number> {
  if (session === undefined || more.length > 0)
    throw new UsageError('Name the session and the message to rewind to: halting rewind SESSION [MESSAGE].')
  const file = await findSession(session, program)
  const journal = await readJournal(file.path).catch((thrown: unknown) => {
    throw new UsageError(messageOf(thrown))
  })
  const folded = foldSession(journal.runs)
  const messages = personsMessages(recordedTranscript(folded))
  if (message === undefined) return listMessages(messages, file, flags, program)
  if (folded.open !== undefined) {
    // If a process is running the session, the lock reports that instead.
    await withSessionLock(file, async () => {})
    throw new UsageError(
      `The last run of the session ${file.sessionId} did not end. Finish it first with halting -p --resume ${file.sessionId}, or start a new run with a prompt.`,
    )
  }
  const place = messageIndex(folded.transcript, entryOfLine(journal, message), [file.sessionId])
  const found = messages.find(({ index }, number) => index === place || String(number + 1) === message)
  if (found === undefined) throw unknownMessage(message, messages, file)
  const files = sessionFiles(file)
  const makePlan = async (): Promise<RestorePlan | undefined> => {
    if (flags.conversationOnly === true) return undefined
    const order = journal.runs.map(([first]) => (first?.type === 'start' ? first.start.run.runId : ''))
    const first = firstChangeSince(await files.records(), found, { transcript: folded.transcript, order })
    return first === undefined ? undefined : files.plan({ kind: 'rewind', first })
  }
  if (flags.dryRun === true) {
    if (flags.filesOnly !== true) program.output.err(`Rewinds to before: ${oneLine(textOf(found.content), 200)}\n`)
    const plan = await makePlan()
    const more = { before: { id: found.id, text: textOf(found.content) }, conversation: flags.filesOnly !== true }
    if (plan !== undefined) return printDryRun({ plan, files, file, flags, program, more })
    printRestore(flags, file, { plan: { changes: [] }, isDone: false, diff: '', more }, '', program)
    return 0
  }
  return applyRewind({ file, cwd: journal.cwd, found, files, planned: makePlan, flags, program })
}

interface RewindRequest {
  readonly file: StoredSessionFile
  readonly cwd: string
  readonly found: PersonsMessage
  readonly files: SessionFiles
  readonly planned: () => Promise<RestorePlan | undefined>
  readonly flags: Flags
  readonly program: Program
}

/** Restores the files first: after a kill in between, the conversation can still be rewound. */
async function applyRewind({
  file,
  cwd,
  found,
  files,
  planned: makePlan,
  flags,
  program,
}: RewindRequest): Promise<number> {
  const { output } = program
  const displayPath = pathFormatter(program)
  const { sessionId, path } = file
  const journal = await openJournal({ path, sessionId, cwd, version: versionOf(program) }).catch((thrown: unknown) => {
    throw new UsageError(messageOf(thrown))
  })
  try {
    await completeInterruptedUndo(files, program)
    const plan = await makePlan()
    const left = [...(plan?.left ?? [])]
    const changes = plan?.changes ?? []
    const more = { before: { id: found.id, text: textOf(found.content) }, conversation: flags.filesOnly !== true }
    const facts = { plan: plan ?? { changes }, left, more }
    if (plan !== undefined) output.err(unknownText(plan))
    if (left.length > 0 && flags.skipChanged !== true) {
      printRestore(flags, file, { ...facts, isDone: false }, '', program)
      output.err(refusalText(left, displayPath))
      return 1
    }
    if (flags.yes !== true) {
      printRestore(flags, file, { ...facts, isDone: false }, planText({ changes }, 'ahead', displayPath), program)
      throw new UsageError(
        `This ${flags.filesOnly === true ? '' : 'rewinds the conversation and '}changes ${many(changes.length, 'file')}. Add --yes to apply, or --dry-run to preview.`,
      )
    }
    if (plan !== undefined && changes.length > 0) left.push(...(await files.apply(plan)))
    if (flags.filesOnly !== true) await journal.rewind(found.id)
    const text = `Rewound to before: ${oneLine(textOf(found.content), 200)}\n${planText({ changes }, 'done', displayPath)}Resume: halting --resume ${sessionId} -p "PROMPT"\n`
    printRestore(flags, file, { ...facts, isDone: true }, text, program)
    if (left.length === 0) return 0
    output.err(`Not reverted:\n${leftText(left, displayPath)}`)
    return 1
  } finally {
    await journal.close()
  }
}

function listMessages(
  messages: readonly PersonsMessage[],
  { sessionId }: StoredSessionFile,
  flags: Flags,
  { output }: Program,
): number {
  if (wantsJson(flags)) {
    const listed = messages.map(({ id, content }, number) => ({ number: number + 1, id, text: textOf(content) }))
    output.out(`${JSON.stringify({ session_id: sessionId, messages: listed })}\n`)
    return 0
  }
  if (messages.length === 0) {
    output.err(programMessage(`session ${sessionId} has no messages yet.`))
    return 0
  }
  const rows = messages.map(({ content }, number) => [String(number + 1), oneLine(textOf(content), Infinity)])
  const columns = [{ align: 'right', min: 4 }, { rest: 'cut' }] as const
  for (const line of tableLines(rows, { columns, width: output.width, indent: 0 })) output.out(`${line}\n`)
  output.err(programMessage(`halting rewind ${sessionId} NUMBER rewinds to before that message.`))
  return 0
}

function unknownMessage(
  message: string,
  messages: readonly PersonsMessage[],
  { sessionId }: StoredSessionFile,
): UsageError {
  const most = messages.length === 0 ? 'It has none' : `Numbers: 1 to ${messages.length}`
  return new UsageError(
    `Session ${sessionId} has no user message ${oneLine(message, 60)}. ${most}; halting rewind ${sessionId} lists them.`,
  )
}
