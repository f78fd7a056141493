import { statSync } from 'node:fs'

/**
 * Returns why a program could not be started in `folder`. If the folder does not exist, Node reports that the program
 * is missing.
 */
export function whyNotStarted(error: NodeJS.ErrnoException, folder: string): string {
  const isGone = error.code === 'ENOENT' && statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true
  return isGone ? `the folder ${folder} is not there any more` : error.message
}
