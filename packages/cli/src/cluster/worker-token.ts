import type { Program } from '../program.ts'

/** What readers of live events have to give, where others than the machine of the worker can reach it. */
export const workerTokenVariable = 'HALTING_WORKER_TOKEN'

export function workerToken(env: Program['env']): string | undefined {
  return env[workerTokenVariable]?.trim() || undefined
}
