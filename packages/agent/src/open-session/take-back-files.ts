import type { SessionPorts } from './ports.ts'
import { checkpointsOfFile } from '../checkpoints/checkpoints-folder.ts'
import { firstChangeSince } from '../checkpoints/since-message.ts'
import type { LeftFile } from '../checkpoints/revert-plan.ts'
import { readJournal } from '@halting/journal'
import { SessionFiles } from '../checkpoints/session-files.ts'
import type { SessionJournal } from '@halting/journal'
import type { SessionParts } from '@halting/core/session'
import { foldSession } from '@halting/core/steps'
import type { Toolbox } from './toolbox.ts'

// Loaded only when files are restored.

type TakeBack = NonNullable<SessionParts['takeBackFiles']>

// Spec R-UNDO-4.
/**
 * Reverts file changes of the session's calls since a message. Files that another program or a person changed are left
 * unchanged and reported.
 */
export async function takeBackFiles(
  [since, { isDryRun }]: Parameters<TakeBack>,
  journal: SessionJournal,
  { workspace }: Pick<Toolbox, 'workspace'>,
  ports: SessionPorts,
): ReturnType<TakeBack> {
  const files = new SessionFiles(checkpointsOfFile(journal.path))
  // Completing an interrupted restore in a dry run would revert changes that no user requested to revert.
  const before = isDryRun ? undefined : await files.complete()
  await journal.log.flush()
  const { runs } = await readJournal(journal.path)
  const order = runs.map(([first]) => (first?.type === 'start' ? first.start.run.runId : ''))
  const { transcript } = foldSession(runs)
  const first = firstChangeSince(await files.records(), since, { transcript, order })
  const plan = first === undefined ? undefined : await files.plan({ kind: 'rewind', first })
  if (plan === undefined) return { files: [], insertions: 0, deletions: 0, left: (before ?? []).map(unrestoredRow) }
  const { insertions, deletions } = linesOf(await files.diff(plan, ports.cwd))
  const left = [...(before ?? []), ...plan.left, ...(isDryRun ? [] : await files.apply(plan))]
  if (!isDryRun) workspace.checkpoints?.invalidate()
  const stays = new Set(left.map(({ path }) => path))
  const changed = plan.changes.map(({ path }) => path).filter((path) => !stays.has(path))
  return { files: changed, insertions, deletions, left: left.map(unrestoredRow) }
}

function unrestoredRow({ path, why }: LeftFile): { readonly path: string; readonly because: string } {
  return { path, because: why }
}

function linesOf(diff: string): { readonly insertions: number; readonly deletions: number } {
  const count = (form: RegExp): number => diff.match(form)?.length ?? 0
  return { insertions: count(/^\+(?!\+\+ )/gm), deletions: count(/^-(?!-- )/gm) }
}
