import { realPath } from '../files/paths.ts'

/**
 * The packages in which files lie that this program runs outside the sandbox: its own, and that of ripgrep. Where it is
 * installed in the project they could be written by a command. None for files that lie in no package.
 */
export function packagesOf(files: readonly string[]): readonly string[] {
  const found = files.flatMap((file) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(realPath(file)) ?? [])
  return [...new Set(found)]
}
