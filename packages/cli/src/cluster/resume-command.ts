import { shellQuoted } from '../io/shell-quote.ts'

/** The command with which a user returns to a session of a cluster. */
export function clusterResumeCommand(sessionId: string, cluster: string, isPrint = false): string {
  return `halting ${shellQuoted([...(isPrint ? ['-p'] : []), '--cluster', cluster, '--resume', sessionId])}`
}
