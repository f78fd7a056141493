import { realPath } from '../files/paths.ts'

/**
 * The packages that contain these files, which this program runs outside the sandbox: its own package and that of
 * ripgrep. If these packages are installed in the project, a command could otherwise write them. Files outside of
 * packages are ignored.
 */
export function packagesOf(files: readonly string[]): readonly string[] {
  const found = files.flatMap((file) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(realPath(file)) ?? [])
  return [...new Set(found)]
}
