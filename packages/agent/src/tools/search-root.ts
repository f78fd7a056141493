import { statSync } from 'node:fs'
import type { Workspace } from './workspace.ts'

export type SearchRoot =
  | { readonly kind: 'root'; readonly path: string; readonly isDirectory: boolean }
  | { readonly kind: 'refused'; readonly why: string }

/** Where a search starts: the path that was asked for, or the working directory of the session. */
export function searchRoot(path: string | undefined, workspace: Workspace): SearchRoot {
  const root = path === undefined ? workspace.cwd : workspace.pathOf(path)
  const stats = statSync(root, { throwIfNoEntry: false })
  if (stats === undefined) {
    return { kind: 'refused', why: `There is nothing at ${root}. The working directory is ${workspace.cwd}.` }
  }
  // Reading a pipe would wait for ever.
  if (!stats.isDirectory() && !stats.isFile())
    return { kind: 'refused', why: `${root} is neither a file nor a directory.` }
  return { kind: 'root', path: root, isDirectory: stats.isDirectory() }
}
