import { codeOf } from '@halting/core/adapters'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { ToolContext } from '@halting/core'
import { type OpenedInPlace, openInPlace, PathMovedError } from '@halting/policy/files'
import { missingRoot, specialRoot } from './search-texts.ts'
import type { Workspace } from './workspace.ts'

export interface Root {
  readonly kind: 'root'
  /** The path as shown to the model. */
  readonly path: string
  readonly real: string
  readonly isDirectory: boolean
}

export type SearchRoot = Root | { readonly kind: 'refused'; readonly why: string }

/** The root of a search: the requested path, or the working directory of the session. */
export async function searchRoot(
  path: string | undefined,
  workspace: Workspace,
  context: ToolContext,
): Promise<SearchRoot> {
  const root = path === undefined ? workspace.cwd : workspace.pathOf(path)
  const real = workspace.realPathOf(root, context)
  const kind = await kindOf(real)
  if (kind === 'none') {
    // Loaded on demand.
    const { nameHints } = await import('./name-hints.ts')
    return { kind: 'refused', why: missingRoot(root, workspace.cwd, await nameHints(real, workspace, context.rights)) }
  }
  // Reading a pipe would block forever.
  if (kind === 'special') return { kind: 'refused', why: specialRoot(root) }
  return { kind: 'root', path: root, real, isDirectory: kind === 'folder' }
}

async function kindOf(real: string): Promise<OpenedInPlace['kind'] | 'none'> {
  try {
    const found = await openInPlace(real)
    if (found.kind === 'file') await found.file.close()
    return found.kind
  } catch (thrown) {
    // A cycle of links was not moved: its own error explains it.
    if (thrown instanceof PathMovedError) await stat(real)
    if (codeOf(thrown) === 'ENOENT' || codeOf(thrown) === 'ENOTDIR') return 'none'
    throw thrown
  }
}

/** Whether a rule hides a found name; the name is checked as shown and relative to the root of the search. */
export function isHidden(
  name: string,
  { path, real, isDirectory }: Root,
  workspace: Workspace,
  rights: ToolContext['rights'],
): boolean {
  const places = isDirectory ? [resolve(real, name), resolve(path, name)] : [real, path]
  return [...new Set(places)].some((place) => workspace.hides(place, rights))
}
