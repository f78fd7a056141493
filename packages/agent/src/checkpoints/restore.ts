import { constants } from 'node:fs'
import { lstat, open, rename, rm, rmdir, symlink, unlink } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { codeOf, messageOf } from '@halting/core/adapters'
import { makeFolder } from '@halting/journal/files'
import { type PinnedFolder, pinFolder, errorNaming, PathMovedError } from '@halting/policy/files'
import { copyRights } from '../tools/copy-rights.ts'
import { type ChangeLog, type ChangeRecord, type FileChange } from './change-log.ts'
import type { ContentStore } from './content-store.ts'
import { isSameState, stateInFolder, stateInPlace, type PathState } from './path-state.ts'
import type { LeftFile, RevertPlan } from './revert-plan.ts'

type RestoreStart = Extract<ChangeRecord, { readonly type: 'restore_start' }>

/**
 * Restores files. U1: the current contents are stored first, and the plan is on disk before the first file is changed.
 * A kill in between leaves what `completeRestore` completes, and each file whole: either the old or the new one. U2:
 * each file is checked right before it is changed; one in an unexpected state is left unchanged.
 */
export async function restore(
  kind: RestoreStart['kind'],
  { changes, takes }: Pick<RevertPlan, 'changes' | 'takes'>,
  of: number | undefined,
  { log, contents }: { readonly log: ChangeLog; readonly contents: ContentStore },
): Promise<readonly LeftFile[]> {
  const begun: RestoreStart = { type: 'restore_start', kind, takes, ...(of !== undefined && { of }), changes }
  for (const { path, before } of changes) {
    const { state, content } = stateInPlace(path)
    // A change in the meantime is detected again right before the file is changed.
    if (before.kind === 'file' && content !== undefined && isSameState(state, before))
      await contents.store(before.sha256, content)
  }
  const number = await log.append(begun, 'synced')
  return perform(begun, number, log, contents)
}

/** Returns the last restore if it was interrupted. */
export function interruptedRestore(records: readonly ChangeRecord[]): number | undefined {
  const number = records.findLastIndex(({ type }) => type === 'restore_start')
  const isComplete = records.some((record) => record.type === 'restore_end' && record.of === number)
  return number < 0 || isComplete ? undefined : number
}

/** Completes an interrupted restore. Undefined if there was none. */
export async function completeRestore(
  records: readonly ChangeRecord[],
  log: ChangeLog,
  contents: ContentStore,
): Promise<readonly LeftFile[] | undefined> {
  const number = interruptedRestore(records)
  const begun = records[number ?? -1]
  return number === undefined || begun?.type !== 'restore_start' ? undefined : perform(begun, number, log, contents)
}

async function perform(
  { changes }: RestoreStart,
  number: number,
  log: ChangeLog,
  contents: ContentStore,
): Promise<readonly LeftFile[]> {
  const left: LeftFile[] = []
  const attempt = async (change: FileChange): Promise<void> => {
    const why = await put(change, number, contents).catch((thrown: unknown) => messageOf(thrown))
    if (why !== undefined) left.push({ path: change.path, why })
  }
  // Removals come first, deepest first; then folders come before their contents.
  const gone = changes.filter(({ after }) => after.kind === 'absent')
  for (const change of gone.toReversed()) await attempt(change)
  const folders = new Set(gone.flatMap(({ madeFolders = [] }) => madeFolders))
  // A file that replaces another file creates its own folders.
  for (const { path } of changes) folders.delete(path)
  for (const folder of [...folders].toSorted().toReversed()) await removeIfEmpty(folder)
  for (const change of changes) if (change.after.kind !== 'absent') await attempt(change)
  await log.append({ type: 'restore_end', of: number, left: left.map(({ path }) => path) }, 'synced')
  return left
}

/** Restores one file. Returns why the file could not be restored. */
async function put(change: FileChange, number: number, contents: ContentStore): Promise<string | undefined> {
  const { path, after } = change
  const { state: now } = stateInPlace(path)
  // No temporary file is created for a file that is already in the wanted state.
  const isDone = isSameState(now, after)
  if (isDone && after.kind === 'absent') return undefined
  if (!isDone && !isExpected(now, change)) return changedSince
  if (!isDone && after.kind === 'unkept') return `its earlier content was not saved: it ${after.why}`
  const content = after.kind === 'file' && !isDone ? await contents.read(after.sha256) : undefined
  if (after.kind === 'file' && !isDone && content === undefined) return 'its earlier content is no longer saved'
  try {
    const folder = await pinFolder(dirname(path), { makes: !isDone && after.kind !== 'absent' })
    try {
      return await putIn(folder, change, number, content)
    } finally {
      await folder.close()
    }
  } catch (thrown) {
    if (thrown instanceof PathMovedError) return 'a folder above it is now a symbolic link'
    // The file was removed together with its folder.
    if (after.kind === 'absent' && /^(?:ENOENT|ENOTDIR)$/.test(codeOf(thrown) ?? '')) return undefined
    throw errorNaming(thrown, path)
  }
}

const changedSince = 'it was changed outside of halting since then'

function isExpected(now: PathState, { before, after }: FileChange): boolean {
  // While a folder replaces a file, or the reverse, the path is briefly absent: the process may have been killed at
  // that time.
  const isBetween = now.kind === 'absent' && (before.kind === 'folder' || after.kind === 'folder')
  return isBetween || isSameState(now, before)
}

/** Works in the folder that is open, even if its path is replaced meanwhile. */
async function putIn(
  folder: PinnedFolder,
  change: FileChange,
  number: number,
  content: Uint8Array | undefined,
): Promise<string | undefined> {
  const { path, after } = change
  const name = basename(path)
  const at = folder.pathOf(name)
  const draft = folder.pathOf(`.${name.slice(0, 100)}.undo-${number}.tmp`)
  await folder.check()
  const { state: now } = stateInFolder(at)
  if (isSameState(now, after)) {
    // The process may have been killed just before the temporary file was renamed.
    if (after.kind === 'file' || after.kind === 'link') await rm(draft, { force: true }).catch(() => {})
    return undefined
  }
  if (!isExpected(now, change)) return changedSince
  switch (after.kind) {
    case 'absent':
      return remove(at, now)
    case 'folder':
      if (now.kind !== 'absent') await remove(at, now)
      await makeFolder(at)
      return undefined
    case 'link':
      await rm(draft, { force: true })
      await symlink(after.target, draft)
      return replace(at, draft, now)
    case 'file':
      // The content became necessary after the check.
      if (content === undefined) return changedSince
      await writeDraft(draft, content, after.mode, at)
      await folder.check()
      return replace(at, draft, now)
    case 'unkept':
      return changedSince
  }
}

async function writeDraft(draft: string, content: Uint8Array, mode: number | null, at: string): Promise<void> {
  const there = await lstat(at).catch(() => undefined)
  await rm(draft, { force: true })
  const file = await open(
    draft,
    constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY,
    mode === null ? 0o666 : 0o600,
  )
  try {
    try {
      await file.writeFile(content)
      // Creation is subject to the umask; a restored mode is not.
      if (mode !== null)
        await (there?.isFile() === true ? copyRights(file, { uid: there.uid, gid: there.gid, mode }) : file.chmod(mode))
      await file.sync()
    } finally {
      await file.close()
    }
  } catch (thrown) {
    await rm(draft, { force: true })
    throw thrown
  }
}

async function replace(at: string, draft: string, now: PathState): Promise<undefined> {
  try {
    if (now.kind === 'folder') await rmdir(at)
    await rename(draft, at)
  } catch (thrown) {
    await rm(draft, { force: true })
    throw thrown
  }
}

async function remove(at: string, now: PathState): Promise<string | undefined> {
  if (now.kind !== 'folder') {
    await unlink(at)
    return undefined
  }
  return (await isRemovedEmpty(at)) ? undefined : 'it contains files that halting did not create'
}

/** A folder by its path. */
async function removeIfEmpty(path: string): Promise<void> {
  const folder = await pinFolder(dirname(path)).catch(() => undefined)
  try {
    if (folder !== undefined) await isRemovedEmpty(folder.pathOf(basename(path)))
  } finally {
    await folder?.close()
  }
}

async function isRemovedEmpty(at: string): Promise<boolean> {
  try {
    await rmdir(at)
    return true
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return true
    // The folder contains a file of another program, or is no longer a folder.
    if (['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(codeOf(thrown) ?? '')) return false
    throw thrown
  }
}
