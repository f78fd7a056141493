import type { Program } from '../program.ts'

/** The token that readers of live events must send if other machines can reach the worker. */
export const workerTokenVariable = 'HALTING_WORKER_TOKEN'

export function workerToken(env: Program['env']): string | undefined {
  return env[workerTokenVariable]?.trim() || undefined
}
