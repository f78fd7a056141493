import { shellQuoted } from '../io/shell-quote.ts'

/** How a person returns to a session of a cluster, whose run nobody here follows any more. */
export function clusterResumeCommand(sessionId: string, cluster: string, isPrint = false): string {
  return `halting ${shellQuoted([...(isPrint ? ['-p'] : []), '--cluster', cluster, '--resume', sessionId])}`
}
