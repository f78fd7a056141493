import { fileURLToPath } from 'node:url'
import { ripgrepPath } from '../tools/ripgrep.ts'
import { openSandbox as open, type Sandbox, type SandboxOptions } from '@halting/policy/sandbox'

/**
 * Opens a sandbox in which commands cannot change the files of this package and of ripgrep, which run outside it.
 * @throws SandboxError if commands cannot be confined: what is missing, and what to install.
 */
export async function openSandbox(options: SandboxOptions): Promise<Sandbox> {
  const own = [fileURLToPath(import.meta.url), (await ripgrepPath()) ?? '']
  return open({ ...options, programFiles: [...own, ...(options.programFiles ?? [])] })
}
