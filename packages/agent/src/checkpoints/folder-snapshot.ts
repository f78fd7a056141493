import { join } from 'node:path'
import { setImmediate as pause } from 'node:timers/promises'
import { firstEntries, type FirstEntries } from '@halting/policy/files'
import {
  changesAt,
  isNonUtf8Name,
  longestBusyMs,
  nonUtf8NamesSkipped,
  type FileSnapshots,
  type SnapshotLimits,
  type WorktreeSnapshot,
} from './worktree-snapshot.ts'
import { absent, type PathState } from './path-state.ts'

/** Folders that other programs fill repeatedly. */
export const skippedFolders: ReadonlySet<string> = new Set([
  '.git',
  '.hg',
  '.svn',
  'node_modules',
  '.venv',
  '__pycache__',
  '.tox',
  '.cache',
])

interface FolderListing {
  readonly paths: readonly string[]
  /** Why the snapshot is incomplete. */
  readonly cut: string | undefined
  readonly hasNoText: boolean
}

/** Snapshots a folder without git: every file and folder, up to the limits. Links are recorded, not followed. */
export async function snapshotFolder(
  root: string,
  files: FileSnapshots,
  limits: SnapshotLimits,
): Promise<WorktreeSnapshot> {
  const before = await walk(root, files, limits)
  const states = await files.take(before.paths)
  return {
    async changes() {
      const now = await walk(root, files, limits)
      const cut = before.cut ?? now.cut
      // If the first snapshot was incomplete, an unknown file may already have existed.
      const isNew = (path: string): boolean => before.cut === undefined || states.has(path)
      const paths = new Set([...states.keys(), ...now.paths.filter(isNew)])
      const beforeOf = (): PathState => absent
      const noText = before.hasNoText || now.hasNoText ? [nonUtf8NamesSkipped] : []
      return {
        changes: await changesAt(paths, states, beforeOf),
        unseen: [...(cut === undefined ? [] : [cut]), ...noText],
      }
    },
  }
}

export async function walk(root: string, files: FileSnapshots, limits: SnapshotLimits): Promise<FolderListing> {
  const paths: string[] = []
  const folders = [root]
  let hasNoText = false
  const began = performance.now()
  let busySince = began
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const { entries, isAll } = entriesOf(folder, limits.files + 1 - paths.length)
    for (const entry of entries) {
      const path = join(folder, entry.name)
      if (files.isHidden(path)) continue
      if (entry.isDirectory() && skippedFolders.has(entry.name)) continue
      if (isNonUtf8Name(path)) {
        hasNoText = true
        continue
      }
      paths.push(path)
      if (entry.isDirectory()) folders.push(path)
    }
    if (!isAll || paths.length > limits.files)
      return { paths, hasNoText, cut: `more than ${limits.files} files are in ${root}` }
    const now = performance.now()
    if (now - began > limits.ms) return { paths, hasNoText, cut: `scanning ${root} takes more than ${limits.ms} ms` }
    if (now - busySince > longestBusyMs) {
      await pause()
      busySince = performance.now()
    }
  }
  return { paths, hasNoText, cut: undefined }
}

function entriesOf(folder: string, most: number): FirstEntries {
  try {
    return firstEntries(folder, most)
  } catch {
    // The folder was removed or cannot be read: commands cannot change it either.
    return { entries: [], isAll: true }
  }
}
