import { readFileSync } from 'node:fs'
import type { Program } from './program.ts'

/** The version in the package.json of the program. */
export function versionOf({ home }: Pick<Program, 'home'>): string {
  // This cast is safe: package.json belongs to this package and has a version.
  const { version } = JSON.parse(readFileSync(new URL('package.json', home), 'utf8')) as { readonly version: string }
  return version
}
