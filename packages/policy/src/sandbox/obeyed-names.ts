import { obeyedAt, obeyedGroups, readOnlyInSandbox } from '../obeyed-places.ts'

/** Read-only as a whole for confined commands: half of a change there is a broken repository. */
export const versionControlFolders: readonly string[] = ['.git', '.hg', '.jj', '.sl', '.svn', '.bzr']

const wholeFolders: ReadonlySet<string> = new Set(versionControlFolders)

/** Of folders that are obeyed in part, such as `.github/workflows`, the part; of folders of version control, all. */
const obeyed: ReadonlySet<string> = new Set(
  [...versionControlFolders, ...readOnlyInSandbox.filter((name) => !wholeFolders.has(name.split('/')[0] ?? ''))].map(
    (name) => name.toLowerCase(),
  ),
)

/** Obeyed at the root of a repository alone. */
const rootOnly: ReadonlySet<string> = new Set(
  [obeyedGroups.folders, obeyedGroups.files].flatMap((groups) => (groups['CI'] ?? '').toLowerCase().split(' ')),
)

/**
 * Whether something with this name, in a folder with that name, is obeyed later.
 *
 * @param depth How deep the folder lies below a directory of the session, which is 0: what only services for building obey counts at its root alone.
 */
export function isObeyedName(name: string, folder: string, depth: number): boolean {
  const lower = name.toLowerCase()
  if (!/^[\w.~@+ -]*$/.test(lower)) return obeyedAt([name]).length > 0
  const below = `${folder.toLowerCase()}/${lower}`
  if (obeyed.has(below) && (depth <= 1 || !rootOnly.has(below))) return true
  return obeyed.has(lower) && (depth === 0 || !rootOnly.has(lower))
}
