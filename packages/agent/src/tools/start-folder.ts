import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { homeFolder } from '@halting/policy/files'
import type { Environment } from './limits.ts'
import {
  allDirectoriesGone,
  beginWithCd,
  directoryGone,
  directoryNow,
  notRunGone,
  targetMissing,
} from './shell-texts.ts'

/** Where a command starts, or why it does not start. */
export type StartFolder =
  | { readonly kind: 'there'; readonly directory: string }
  | { readonly kind: 'gone'; readonly why: string }

/** An object with a working directory; a `Workspace` implements this interface. */
export interface ShellPosition {
  readonly cwd: string
  readonly shellDirectory: string
  readonly env: Environment
  /** Sets the shell's directory back to `cwd`. */
  resetShell(): void
}

// Spec R-HAND-9.
/**
 * Determines where a command starts. The command was judged and written for the working directory. If that directory
 * no longer exists, the command does not start, unless it begins by changing to a folder by its full path.
 */
export function startFolder(command: string, position: ShellPosition): StartFolder {
  const { cwd, shellDirectory } = position
  if (isFolder(shellDirectory)) return { kind: 'there', directory: shellDirectory }
  const target = firstFolder(command, position.env)
  if (target !== undefined && isFolder(target)) return { kind: 'there', directory: target }
  const gone = notRunGone(shellDirectory)
  if (shellDirectory !== cwd && isFolder(cwd)) {
    position.resetShell()
    return { kind: 'gone', why: gone + directoryNow(cwd) }
  }
  const missing = target === undefined ? '' : targetMissing(target)
  return { kind: 'gone', why: gone + missing + beginWithCd(shellWord(nearestFolder(cwd))) }
}

/**
 * Returns the note for a command after which the working directory no longer exists; the next command is then written
 * for another one.
 */
export function goneNote(position: Omit<ShellPosition, 'env'>): string | undefined {
  const { cwd, shellDirectory } = position
  if (isFolder(shellDirectory)) return undefined
  if (!isFolder(cwd)) return allDirectoriesGone(cwd)
  position.resetShell()
  return directoryGone(shellDirectory, cwd)
}

/** Quotes a path for bash if needed. */
function shellWord(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`
}

/**
 * Returns the folder to which a command changes first. Accepts only forms that need no shell: a full path without
 * `..`, as one word. The rest of the command runs in that folder even if `cd` fails, because the command starts there.
 */
function firstFolder(command: string, env: Environment): string | undefined {
  const found = /^\s*cd\s+(?:--\s+)?(?:'([^']*)'|"([^"$`\\!]*)"|(~?[\w@%+=:,./-]+))[ \t]*(?:&&|;|\n|$)/.exec(command)
  const [, single, double, plain] = found ?? []
  const home = plain === '~' || plain?.startsWith('~/') === true
  const path = home ? (env['HOME'] || homeFolder()) + (plain?.slice(1) ?? '') : (single ?? double ?? plain)
  if (path === undefined || !path.startsWith('/') || path.split('/').includes('..')) return undefined
  return path
}

function nearestFolder(path: string): string {
  const above = dirname(path)
  return isFolder(above) || above === path ? above : nearestFolder(above)
}

function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
  } catch {
    // The path is below a file, or in a cycle of links.
    return false
  }
}
