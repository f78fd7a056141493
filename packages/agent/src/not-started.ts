import { statSync } from 'node:fs'

/** Why a program could not be started in `folder`. Node says of a folder that is gone that the program is not there. */
export function whyNotStarted(error: NodeJS.ErrnoException, folder: string): string {
  const isGone = error.code === 'ENOENT' && statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true
  return isGone ? `the folder ${folder} is not there any more` : error.message
}
