import { openInPlace } from '@halting/policy/files'
import { type FileStates, hashOf, seenFile } from '../tools/file-state.ts'
import { readAtMost } from '../tools/read-at-most.ts'
import { decodedText } from '../tools/text-encoding.ts'
import type { ChangedByCheck } from './goal-files.ts'
import type { Workspace } from '../tools/workspace.ts'

/** The model must read larger files again before it edits them. */
const maxBytes = 4 * 1024 * 1024

/**
 * Updates the file state of a session's tools after checks changed files, for example by a formatter. Notifies the
 * model, so that its next Edit does not fail as "changed since it was read". Files that another program changed before
 * the check still count as changed.
 */
export async function acceptCheckChanges(workspace: Workspace, changes: readonly ChangedByCheck[]): Promise<void> {
  for (const { path, sha256Before } of changes) {
    if (sha256Before === undefined) continue
    const seenIn = workspace.allFiles.filter((files) => isAsSeen(files, path, sha256Before))
    if (seenIn.length === 0) continue
    // oxlint-disable-next-line no-await-in-loop -- one file at a time is open
    await seeAgain(seenIn, path)
  }
}

/**
 * Whether the model saw the file as it was before the check. Hashes of checkpoints are hexadecimal, those of tools are
 * not.
 */
function isAsSeen(files: FileStates, path: string, sha256: string): boolean {
  const seen = files.seenAt(path)
  return seen?.file.hash !== undefined && seen.file.hash === Buffer.from(sha256, 'hex').toString('base64')
}

async function seeAgain(seenIn: readonly FileStates[], path: string): Promise<void> {
  const found = await openInPlace(path).catch(() => undefined)
  if (found?.kind !== 'file') return
  try {
    const content = found.stats.size > maxBytes ? undefined : await readAtMost(found.file, found.stats.size, maxBytes)
    if (content === undefined) return
    for (const files of seenIn) {
      const line = files.seenAt(path)?.firstLine
      files.recordSeen(path, seenFile(found.stats, hashOf(content)), line, decodedText(content)?.text)
    }
  } finally {
    await found.file.close()
  }
}
