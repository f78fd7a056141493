import { configFolder } from '@halting/agent'
import { homeFolder } from '@halting/policy/files'
import type { Program } from '../program.ts'

/** The user's folder for files of the program: `~/.halting`, or `HALTING_CONFIG_DIR`. */
export function userFolder({ cwd, env }: Pick<Program, 'cwd' | 'env'>): string {
  return configFolder('halting', { cwd, home: homeFolder(env), env })
}
