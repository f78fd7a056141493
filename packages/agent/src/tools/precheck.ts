import type { PrecheckContext } from '@halting/core/adapters'
import { isInsideAny } from '@halting/policy/files'
import { realPath } from '@halting/journal/files'
import { withErrorResults } from './error-results.ts'
import type { Workspace } from './workspace.ts'

/** The caller for whom a change of a file is planned. */
export interface Planning {
  readonly workspace: Workspace
  readonly context: PrecheckContext
}

/** A change that is not possible, with the reason for the model. */
export interface RefusedChange {
  readonly kind: 'refused'
  readonly why: string
}

export function refusedChange(why: string): RefusedChange {
  return { kind: 'refused', why }
}

/** The check of a change, and the answer if the file must not be inspected. */
interface Question {
  /** Returns why the file at a real path cannot be changed. */
  readonly whyNot: (real: string) => Promise<string | undefined>
  /**
   * The answer for a file that the model has not seen and may not read: it is valid whether or not the file exists.
   */
  readonly unseen: string | undefined
}

// Spec R-HAND-10.
/**
 * Returns why a change of a file is not possible, before the user is asked about the change. Accesses the disk only if
 * the caller may read the file without asking, or has read it: otherwise the reason would reveal what rules hide.
 */
export async function whyNotChanged(
  path: string,
  { workspace, context }: Planning,
  { whyNot, unseen }: Question,
): Promise<string | undefined> {
  const real = realPath(path)
  const isSeen = workspace.filesOf(context).hasSeen(real)
  const isHidden = [path, real].some((place) => workspace.hides(place, context.rights))
  if (!isSeen && (isHidden || !isInsideAny(path, workspace.directories))) return unseen
  if (isHidden) return undefined
  const { content } = await withErrorResults({ path, doing: 'written' }, async () => ({
    content: (await whyNot(real)) ?? '',
  }))
  return typeof content === 'string' && content !== '' ? content : undefined
}
