import { configFolder, homeFolder } from '@halting/agent'
import type { Program } from '../program.ts'

/** The folder of the person's own files: `~/.halting`, or `HALTING_CONFIG_DIR`. */
export function ownFolder({ cwd, env }: Pick<Program, 'cwd' | 'env'>): string {
  return configFolder('halting', { cwd, home: homeFolder(env), env })
}

/** `ENOENT` and its like. */
export function codeOfThrown(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : 'unknown'
}
