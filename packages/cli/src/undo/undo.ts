import { lockSession, readJournal, type StoredSessionFile } from '@halting/journal'
import type { LeftFile, RestorePlan, SessionFiles } from '@halting/agent'
import { messageOf } from '@halting/core/adapters'
import type { Flags } from '../flags/flags.ts'
import { many, printable, programMessage } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { findSession, newestSession } from '../stored-sessions/find-session.ts'
import { UsageError } from '../usage-error.ts'
import { sessionFiles, leftText, planText, refusalText, printRestore, unknownText } from './restore-text.ts'
import { pathFormatter } from './path-formatter.ts'

/**
 * `halting undo [SESSION]`: reverts the file changes of the last run (spec R-UNDO-5); `--redo` reverses that. A second
 * undo reverts the run before. Makes no request, and needs neither a key nor git.
 */
export async function undo(flags: Flags, [session]: readonly string[], program: Program): Promise<number> {
  const file = session === undefined ? await newestSession(program) : await findSession(session, program)
  await readJournal(file.path).catch((thrown: unknown) => {
    throw new UsageError(messageOf(thrown))
  })
  const files = sessionFiles(file)
  const what = { kind: flags.redo === true ? 'redo' : 'undo' } as const
  if (flags.dryRun === true) {
    const rest = await files.cutOff()
    if (rest === undefined)
      return printDryRun({ plan: await requirePlan(files, what, file), files, file, flags, program })
    program.output.err(
      programMessage('an earlier undo was interrupted. The next undo completes it and reverts nothing else:'),
    )
    const diff = await files.diff(rest, program.cwd)
    const more = { cut_off: true }
    printRestore(flags, file, { plan: rest, isDone: false, diff, more }, displayDiff(diff, program), program)
    return 0
  }
  return withSessionLock(file, async () => {
    // The interrupted undo is only completed: undoing the previous run too would revert more than the user requested.
    const left = await completeInterruptedUndo(files, program)
    if (left !== undefined) {
      printRestore(flags, file, { plan: { changes: [] }, isDone: true, left, more: { cut_off: true } }, '', program)
      return left.length === 0 ? 0 : 1
    }
    return applyPlan(await requirePlan(files, what, file), files, flags, file, program)
  })
}

/** Runs `work` while no other process can write the session. @throws UsageError if another process writes it */
export async function withSessionLock<T>({ path, sessionId }: StoredSessionFile, work: () => Promise<T>): Promise<T> {
  const lock = await lockSession(path, sessionId).catch((thrown: unknown) => {
    throw new UsageError(messageOf(thrown))
  })
  try {
    return await work()
  } finally {
    await lock.release()
  }
}

/** Completes an interrupted undo. Returns the files that it left unchanged; undefined if none was interrupted. */
export async function completeInterruptedUndo(
  files: SessionFiles,
  program: Program,
): Promise<readonly LeftFile[] | undefined> {
  const left = await files.complete()
  if (left === undefined) return undefined
  program.output.err(programMessage('an earlier undo was interrupted; it is complete now.'))
  if (left.length > 0) program.output.err(leftText(left, pathFormatter(program)))
  return left
}

async function requirePlan(
  files: SessionFiles,
  what: { readonly kind: 'undo' | 'redo' },
  { sessionId }: StoredSessionFile,
): Promise<RestorePlan> {
  const plan = await files.plan(what)
  if (plan !== undefined) return plan
  throw new UsageError(
    what.kind === 'redo'
      ? `Session ${sessionId} has no undone changes to redo.`
      : `Session ${sessionId} has no file changes to revert. halting sessions lists other sessions.`,
  )
}

/** A preview of changes, and their session. */
export interface DryRun {
  readonly plan: RestorePlan
  readonly files: SessionFiles
  readonly file: StoredSessionFile
  readonly flags: Flags
  readonly program: Program
  /** See `RestoreFacts`. */
  readonly more?: { readonly [field: string]: unknown }
}

export async function printDryRun({ plan, files, file, flags, program, more = {} }: DryRun): Promise<number> {
  const { output, cwd } = program
  const diff = await files.diff(plan, cwd)
  printRestore(flags, file, { plan, isDone: false, diff, more }, displayDiff(diff, program), program)
  output.err(unknownText(plan))
  if (plan.left.length === 0) return 0
  output.err(`Would not be reverted:\n${leftText(plan.left, pathFormatter(program))}`)
  return 1
}

/** The unchanged diff for programs; on a terminal, without control characters. */
function displayDiff(diff: string, { output }: Program): string {
  return output.isTerminal.stdout ? printable(diff) : diff
}

/** Restores the files. Returns 1 if a file was skipped. */
async function applyPlan(
  plan: RestorePlan,
  files: SessionFiles,
  flags: Flags,
  file: StoredSessionFile,
  program: Program,
): Promise<number> {
  const { output } = program
  const { yes, skipChanged } = flags
  const displayPath = pathFormatter(program)
  output.err(unknownText(plan))
  if (plan.left.length > 0 && skipChanged !== true) {
    printRestore(flags, file, { plan, isDone: false }, '', program)
    output.err(refusalText(plan.left, displayPath))
    return 1
  }
  if (yes !== true) {
    printRestore(flags, file, { plan, isDone: false }, planText(plan, 'ahead', displayPath), program)
    throw new UsageError(
      `This changes ${many(plan.changes.length, 'file')}. Add --yes to apply, or --dry-run to preview.`,
    )
  }
  const left = [...plan.left, ...(await files.apply(plan))]
  const leftPaths = new Set(left.map(({ path }) => path))
  const done = { ...plan, changes: plan.changes.filter(({ path }) => !leftPaths.has(path)) }
  // Nothing was reverted, because every file failed (spec R-UNDO-4b).
  const isInVain = done.changes.length === 0 && left.length > 0
  printRestore(
    flags,
    file,
    { plan: done, isDone: !isInVain, left },
    doneText(done, isInVain, flags, file, displayPath),
    program,
  )
  if (left.length === 0) return 0
  output.err(`Not reverted:\n${leftText(left, displayPath)}`)
  return 1
}

function doneText(
  plan: RestorePlan,
  isInVain: boolean,
  { redo }: Flags,
  { sessionId }: StoredSessionFile,
  displayPath: (path: string) => string,
): string {
  const ofRun = plan.run === undefined || plan.run === '' ? '' : ` of ${plan.run}`
  if (isInVain) return `Nothing was ${redo === true ? 'redone' : 'reverted'}${ofRun}. You can try again later.\n`
  const back = redo === true ? `halting undo ${sessionId}` : `halting undo ${sessionId} --redo`
  const what = `${redo === true ? 'Redone' : 'Reverted'}: ${many(plan.changes.length, 'file')}${ofRun}`
  return `${what}\n${planText(plan, 'done', displayPath)}${back} --yes reverses this.\n`
}
