import { codeOf } from '@halting/core/adapters'
import type { ToolOutput } from '@halting/core'
import { NotWrittenError, PathMovedError } from '@halting/policy/files'
import { noPermission, systemRefused } from './path-texts.ts'
import { errorResult } from './result.ts'

/** Turns errors of the operating system into results for the model. `doing`: what was attempted, such as `written`. */
export async function withErrorResults(
  { path, doing }: { readonly path: string; readonly doing: 'read' | 'written' | 'searched' },
  work: () => Promise<ToolOutput>,
): Promise<ToolOutput> {
  try {
    return await work()
  } catch (thrown) {
    if (thrown instanceof PathMovedError || thrown instanceof NotWrittenError) return errorResult(thrown.message)
    const code = codeOf(thrown)
    if (code === undefined || !/^E[A-Z0-9]+$/.test(code)) throw thrown
    const isForbidden = code === 'EACCES' || code === 'EPERM'
    return errorResult((isForbidden ? noPermission : systemRefused)(shortPath(path), doing, code))
  }
}

const longestPath = 500

function shortPath(path: string): string {
  return path.length <= longestPath ? path : `${path.slice(0, 200)}[...]${path.slice(-200)}`
}
