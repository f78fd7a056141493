import { statSync } from 'node:fs'
import type { ToolContext } from '@halting/core'
import type { Workspace } from './workspace.ts'

export interface Root {
  readonly kind: 'root'
  /** As it is shown. */
  readonly path: string
  readonly real: string
  readonly isDirectory: boolean
}

export type SearchRoot = Root | { readonly kind: 'refused'; readonly why: string }

/** Where a search starts: the path that was asked for, or the working directory of the session. */
export function searchRoot(path: string | undefined, workspace: Workspace, context: ToolContext): SearchRoot {
  const root = path === undefined ? workspace.cwd : workspace.pathOf(path)
  const real = workspace.realPathOf(root, context)
  const stats = statSync(root, { throwIfNoEntry: false })
  if (stats === undefined) {
    return { kind: 'refused', why: `There is nothing at ${root}. The working directory is ${workspace.cwd}.` }
  }
  // Reading a pipe would wait for ever.
  if (!stats.isDirectory() && !stats.isFile())
    return { kind: 'refused', why: `${root} is neither a file nor a directory.` }
  return { kind: 'root', path: root, real, isDirectory: stats.isDirectory() }
}
