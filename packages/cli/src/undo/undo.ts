import { lockSession, readJournal, type StoredSessionFile } from '@halting/journal'
import type { LeftFile, RestorePlan, SessionFiles } from '@halting/agent'
import { messageOf } from '@halting/core/adapters'
import type { Flags } from '../flags/flags.ts'
import { many, printable, told } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { findSession, newestSession } from '../stored-sessions/find-session.ts'
import { UsageError } from '../usage-error.ts'
import { filesOf, leftText, planText, refusalText, tellRestore, unknownText } from './restore.ts'
import { shownFrom } from './shown.ts'

/**
 * `halting undo [SESSION]`: reverts what the last run changed in files (spec R-UNDO-5); `--redo` reverses that. A second undo reverts the run before it.
 * Asks no model, needs no key and no git.
 */
export async function undo(flags: Flags, [session]: readonly string[], program: Program): Promise<number> {
  const file = session === undefined ? await newestSession(program) : await findSession(session, program)
  await readJournal(file.path).catch((thrown: unknown) => {
    throw new UsageError(messageOf(thrown))
  })
  const files = filesOf(file)
  const what = { kind: flags.redo === true ? 'redo' : 'undo' } as const
  if (flags.dryRun === true) {
    const rest = await files.cutOff()
    if (rest === undefined) return dryRun({ plan: await planOf(files, what, file), files, file, flags, program })
    program.output.err(told('an earlier undo was interrupted. The next undo completes it and reverts nothing else:'))
    const diff = await files.diff(rest, program.cwd)
    const more = { cut_off: true }
    tellRestore(flags, file, { plan: rest, isDone: false, diff, more }, asShown(diff, program), program)
    return 0
  }
  return holding(file, async () => {
    // Continuing with the run before would revert what nobody asked for.
    const left = await completed(files, program)
    if (left !== undefined) {
      tellRestore(flags, file, { plan: { changes: [] }, isDone: true, left, more: { cut_off: true } }, '', program)
      return left.length === 0 ? 0 : 1
    }
    return carryOut(await planOf(files, what, file), files, flags, file, program)
  })
}

/** Does something with a session that no other process writes meanwhile. @throws UsageError for one that another does. */
export async function holding<T>({ path, sessionId }: StoredSessionFile, work: () => Promise<T>): Promise<T> {
  const held = await lockSession(path, sessionId).catch((thrown: unknown) => {
    throw new UsageError(messageOf(thrown))
  })
  try {
    return await work()
  } finally {
    await held.release()
  }
}

/** Completes an interrupted undo. Returns the files that it left unchanged; undefined if none was interrupted. */
export async function completed(files: SessionFiles, program: Program): Promise<readonly LeftFile[] | undefined> {
  const left = await files.complete()
  if (left === undefined) return undefined
  program.output.err(told('an earlier undo was interrupted; it is complete now.'))
  if (left.length > 0) program.output.err(leftText(left, shownFrom(program)))
  return left
}

async function planOf(
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

/** The changes to preview, and their session. */
export interface DryRun {
  readonly plan: RestorePlan
  readonly files: SessionFiles
  readonly file: StoredSessionFile
  readonly flags: Flags
  readonly program: Program
  /** See `RestoreFacts`. */
  readonly more?: { readonly [field: string]: unknown }
}

export async function dryRun({ plan, files, file, flags, program, more = {} }: DryRun): Promise<number> {
  const { output, cwd } = program
  const diff = await files.diff(plan, cwd)
  tellRestore(flags, file, { plan, isDone: false, diff, more }, asShown(diff, program), program)
  output.err(unknownText(plan))
  if (plan.left.length === 0) return 0
  output.err(`Would not be reverted:\n${leftText(plan.left, shownFrom(program))}`)
  return 1
}

/** As it is, for other programs; on a terminal without what would steer it. */
function asShown(diff: string, { output }: Program): string {
  return output.isTerminal.stdout ? printable(diff) : diff
}

/** Exit code 1 when a file was left as it is. */
async function carryOut(
  plan: RestorePlan,
  files: SessionFiles,
  flags: Flags,
  file: StoredSessionFile,
  program: Program,
): Promise<number> {
  const { output } = program
  const { yes, skipChanged } = flags
  const shown = shownFrom(program)
  output.err(unknownText(plan))
  if (plan.left.length > 0 && skipChanged !== true) {
    tellRestore(flags, file, { plan, isDone: false }, '', program)
    output.err(refusalText(plan.left, shown))
    return 1
  }
  if (yes !== true) {
    tellRestore(flags, file, { plan, isDone: false }, planText(plan, 'ahead', shown), program)
    throw new UsageError(
      `This changes ${many(plan.changes.length, 'file')}. Add --yes to apply, or --dry-run to preview.`,
    )
  }
  const left = [...plan.left, ...(await files.apply(plan))]
  const leftPaths = new Set(left.map(({ path }) => path))
  const done = { ...plan, changes: plan.changes.filter(({ path }) => !leftPaths.has(path)) }
  // Nothing was reverted (spec R-UNDO-4b).
  const isInVain = done.changes.length === 0 && left.length > 0
  tellRestore(
    flags,
    file,
    { plan: done, isDone: !isInVain, left },
    doneText(done, isInVain, flags, file, shown),
    program,
  )
  if (left.length === 0) return 0
  output.err(`Not reverted:\n${leftText(left, shown)}`)
  return 1
}

function doneText(
  plan: RestorePlan,
  isInVain: boolean,
  { redo }: Flags,
  { sessionId }: StoredSessionFile,
  shown: (path: string) => string,
): string {
  const whose = plan.run === undefined || plan.run === '' ? '' : ` of ${plan.run}`
  if (isInVain) return `Nothing was ${redo === true ? 'redone' : 'reverted'}${whose}. You can try again later.\n`
  const back = redo === true ? `halting undo ${sessionId}` : `halting undo ${sessionId} --redo`
  const what = `${redo === true ? 'Redone' : 'Reverted'}: ${many(plan.changes.length, 'file')}${whose}`
  return `${what}\n${planText(plan, 'done', shown)}${back} --yes reverses this.\n`
}
