import { readFileSync } from 'node:fs'
import type { Program } from './program.ts'

/** Of the program, as its package says. */
export function versionOf({ home }: Pick<Program, 'home'>): string {
  // JSON.parse knows no types; package.json is ours and has a version.
  const { version } = JSON.parse(readFileSync(new URL('package.json', home), 'utf8')) as { readonly version: string }
  return version
}
