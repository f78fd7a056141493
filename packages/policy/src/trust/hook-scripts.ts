import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { isInside } from '../files/paths.ts'
import { realPath } from '@halting/journal/files'
import { resolve } from 'node:path'

/** A script of the project that a command names. */
export interface NamedScript {
  /** Relative to the project. */
  readonly path: string
  /** Hash of its content. */
  readonly content: string
}

const mostScripts = 50
const largestBytes = 4 * 1024 * 1024

/**
 * The files inside a project that the words of a command name: what they hold is what runs. What these scripts run in
 * turn is not looked at.
 */
export function namedScripts(command: string, projectDirectory: string): readonly NamedScript[] {
  const root = realPath(projectDirectory)
  const found = new Map<string, NamedScript>()
  for (const word of wordsOf(command, projectDirectory).slice(0, 1_000)) {
    if (found.size >= mostScripts) break
    const real = realPath(resolve(projectDirectory, word))
    if (real === root || !isInside(real, root)) continue
    const content = hashOf(real)
    const path = real.slice(root.length + 1)
    if (content !== undefined) found.set(path, { path, content })
  }
  return [...found.values()]
}

function wordsOf(command: string, projectDirectory: string): readonly string[] {
  const filled = command.replaceAll(
    /\$(?:(?:CLAUDE|HALTING)_PROJECT_DIR\b|\{(?:CLAUDE|HALTING)_PROJECT_DIR\}|PWD\b|\{PWD\})/g,
    () => projectDirectory.replaceAll(' ', '\u0000'),
  )
  return filled
    .replaceAll(/["']/g, '')
    .split(/[\s;&|()<>=`]+/)
    .map((word) => word.replaceAll('\u0000', ' '))
    .filter((word) => word !== '' && !word.startsWith('~'))
}

/** Undefined for what is no file. One that cannot be read, or is too large to be a script, is told apart by what is known of it. */
function hashOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isFile() !== true) return undefined
  if (found.size > largestBytes) return `size ${found.size} at ${found.mtimeMs}`
  try {
    return createHash('sha256').update(readFileSync(path)).digest('hex').slice(0, 32)
  } catch {
    return 'unreadable'
  }
}
