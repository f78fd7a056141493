import type { SessionPorts } from './ports.ts'
import { checkpointsBeside } from '../checkpoints/checkpoints-folder.ts'
import { firstChangeSince } from '../checkpoints/since-message.ts'
import type { LeftFile } from '../checkpoints/take-back.ts'
import { readJournal } from '@halting/journal'
import { SessionFiles } from '../checkpoints/session-files.ts'
import type { SessionJournal } from '@halting/journal'
import type { SessionParts } from '@halting/core/session'
import { foldSession } from '@halting/core/steps'
import type { Toolbox } from './toolbox.ts'

// Loaded where files go back, and only there.

type TakeBack = NonNullable<SessionParts['takeBackFiles']>

// Spec R-UNDO-4.
/** Puts back what the calls of a session changed since a message: what somebody else changed stays as it is, and is named. */
export async function takeBackFiles(
  [since, { isDryRun }]: Parameters<TakeBack>,
  journal: SessionJournal,
  { workspace }: Pick<Toolbox, 'workspace'>,
  ports: SessionPorts,
): ReturnType<TakeBack> {
  const files = new SessionFiles(checkpointsBeside(journal.path))
  // To go on from one that a kill cut off would take back what nobody asked for.
  const before = isDryRun ? undefined : await files.complete()
  await journal.log.flush()
  const { runs } = await readJournal(journal.path)
  const order = runs.map(([first]) => (first?.type === 'start' ? first.start.run.runId : ''))
  const { transcript } = foldSession(runs)
  const first = firstChangeSince(await files.records(), since, { transcript, order })
  const plan = first === undefined ? undefined : await files.plan({ kind: 'rewind', first })
  if (plan === undefined) return { files: [], insertions: 0, deletions: 0, left: (before ?? []).map(told) }
  const { insertions, deletions } = linesOf(await files.diff(plan, ports.cwd))
  const left = [...(before ?? []), ...plan.left, ...(isDryRun ? [] : await files.apply(plan))]
  if (!isDryRun) workspace.checkpoints?.lookAnew()
  const stays = new Set(left.map(({ path }) => path))
  const changed = plan.changes.map(({ path }) => path).filter((path) => !stays.has(path))
  return { files: changed, insertions, deletions, left: left.map(told) }
}

function told({ path, why }: LeftFile): { readonly path: string; readonly because: string } {
  return { path, because: why }
}

function linesOf(diff: string): { readonly insertions: number; readonly deletions: number } {
  const count = (form: RegExp): number => diff.match(form)?.length ?? 0
  return { insertions: count(/^\+(?!\+\+ )/gm), deletions: count(/^-(?!-- )/gm) }
}
