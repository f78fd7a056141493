import type { PrecheckContext } from '@halting/core/adapters'
import { isInsideAny } from '@halting/policy/files'
import { realPath } from '@halting/journal/files'
import { tellingFailures } from './telling-failures.ts'
import type { Workspace } from './workspace.ts'

/** For whom a change of a file is planned. */
export interface Planning {
  readonly workspace: Workspace
  readonly context: PrecheckContext
}

/** A change that cannot be made, with the reason in words for a model. */
export interface Refused {
  readonly kind: 'refused'
  readonly why: string
}

export function refused(why: string): Refused {
  return { kind: 'refused', why }
}

/** What is asked of the file, and the answer where the file may not be looked at. */
interface Question {
  /** Why the change cannot be made to the file at a real path. */
  readonly whyNot: (real: string) => Promise<string | undefined>
  /** The answer for a file that the model has not seen and may not read: true whether the file is there or not. */
  readonly unseen: string | undefined
}

// Spec R-HAND-10.
/**
 * Why a change of a file cannot be made, before a person is asked about it. The disk is looked at only where the caller may read the file
 * without a question, or has read it: else the reason would tell what rules hide.
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
  const { content } = await tellingFailures({ path, doing: 'written' }, async () => ({
    content: (await whyNot(real)) ?? '',
  }))
  return typeof content === 'string' && content !== '' ? content : undefined
}
