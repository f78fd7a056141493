import { homeFolder } from '@halting/journal/files'
import type { Program } from '../program.ts'

/** Whose sessions are looked at. */
export function whose({ cwd, env }: Pick<Program, 'cwd' | 'env'>): {
  readonly cwd: string
  readonly env: Program['env']
  readonly home: string
} {
  return { cwd, env, home: homeFolder(env) }
}
