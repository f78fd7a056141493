import { spawn } from 'node:child_process'
import type { Environment } from './limits.ts'

export interface GitOutput {
  readonly text: string
  /** Whether git was stopped because of too much output. */
  readonly isCut: boolean
}

/** Returns the output of git, truncated after `maxBytes`; undefined if git fails or exceeds its time limit. */
export function gitOutput(
  cwd: string,
  args: readonly string[],
  env: Environment,
  { timeoutMs, maxBytes = Infinity }: { readonly timeoutMs: number; readonly maxBytes?: number },
): Promise<GitOutput | undefined> {
  return new Promise((resolve) => {
    const git = spawn('git', args, {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    })
    const chunks: Buffer[] = []
    let size = 0
    git.stdout.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= maxBytes) chunks.push(chunk)
      else git.kill('SIGKILL')
    })
    git.once('error', () => resolve(undefined))
    git.once('close', (code) => {
      const isCut = size > maxBytes
      resolve(code === 0 || isCut ? { text: Buffer.concat(chunks).toString(), isCut } : undefined)
    })
  })
}

/** Lists the names of filter settings: each is `filter.NAME.KEY`. */
export const askForFilters = ['config', '-z', '--name-only', '--get-regexp', '^filter\\.'] as const

/** The filters in the output of that command, without duplicates: `filter.NAME`. */
export function filtersIn(output: string): readonly string[] {
  const sections = output.split('\0').map((name) => name.slice(0, Math.max(0, name.lastIndexOf('.'))))
  return [...new Set(sections)].filter((section) => section !== '')
}

/** Settings that leave filters without a command. */
export function settingsWithout(filters: readonly string[]): readonly (readonly [key: string, value: string])[] {
  return filters.flatMap((section) => [
    ...['clean', 'smudge', 'process'].map((part) => [`${section}.${part}`, ''] as const),
    [`${section}.required`, 'false'] as const,
  ])
}
