import { accessSync, constants } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { isInside, realPath } from '../files/paths.ts'
import { SandboxError } from './sandbox-error.ts'

/**
 * Finds bwrap. The path is resolved once, and never in a folder that commands can write: a command could replace bwrap for the next command. `npx` and npm
 * scripts add a folder of the project to the search path.
 * @throws SandboxError
 */
export function findBubblewrap(path: string, writable: readonly string[]): string {
  const outside = findProgram('bwrap', path, writable)
  if (outside !== undefined) return outside
  const [inside] = candidatesFor('bwrap', path)
  if (inside !== undefined)
    throw new SandboxError(
      `The bwrap on the path is ${inside}, in a folder that commands can write, so it is not trusted. Install bubblewrap for the system (apt install bubblewrap), or leave --sandbox and sandbox.enabled out.`,
    )
  throw new SandboxError(
    'The sandbox needs bubblewrap, and bwrap was not found. Install it (apt install bubblewrap, dnf install bubblewrap, pacman -S bubblewrap, apk add bubblewrap), or leave --sandbox and sandbox.enabled out.',
  )
}

/** Finds a program in the same way; undefined if it does not exist, or only where commands can write. */
export function findProgram(name: string, path: string, writable: readonly string[]): string | undefined {
  const file = candidatesFor(name, path).find((found) =>
    [found, realPath(found)].every((end) => !isWithin(end, writable)),
  )
  return file === undefined ? undefined : realPath(file)
}

function candidatesFor(name: string, path: string): readonly string[] {
  return path
    .split(':')
    .filter((folder) => isAbsolute(folder))
    .map((folder) => join(folder, name))
    .filter(canRun)
}

function isWithin(file: string, folders: readonly string[]): boolean {
  return folders.some((folder) => isInside(file, realPath(folder)) || isInside(file, folder))
}

function canRun(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
