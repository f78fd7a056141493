import type { SessionRow } from '@halting/analysis/view'

/** The status of a session, from the exit code of its last run, or from what is known if there is none. */
export type Standing =
  | 'done'
  | 'limit'
  | 'stopped'
  | 'waiting'
  | 'failed'
  | 'interrupted'
  | 'running'
  | 'open'
  | 'unread'

/** Statuses in display order, in words. */
export const standings: { readonly [standing in Standing]: string } = {
  done: 'done',
  limit: 'ended by a limit',
  stopped: 'stopped by a hook',
  waiting: 'waiting for approval',
  failed: 'failed',
  interrupted: 'interrupted',
  running: 'running',
  open: 'open, but no process works on it',
  unread: 'could not be read',
}

/** The status of a session. */
export function standingOf(row: SessionRow): Standing {
  if (row.problem !== undefined) return 'unread'
  if (row.ending === null) return row.isLive ? 'running' : 'open'
  switch (row.exitCode) {
    case 0:
      return 'done'
    case 3:
      return 'limit'
    case 4:
      return 'stopped'
    case 5:
      return 'waiting'
    case 1:
      return 'failed'
    // 130, 143, or none because the reader went away.
    default:
      return 'interrupted'
  }
}

/** The number of runs that are not copies. */
export function ownRuns({ runs, copiedRuns }: SessionRow): number {
  return runs - copiedRuns
}

/** Whether all of its runs are copies, which count in their original session. */
export function isOnlyCopy(row: SessionRow): boolean {
  return row.copiedRuns > 0 && ownRuns(row) === 0
}

/** The ending of its last run, or `running`, `open` or `unread`. */
export function endingOf(row: SessionRow): string {
  return row.problem === undefined && row.ending !== null ? row.ending : standingOf(row)
}

/** Figures that can be compared, plotted and filtered. */
export type FigureName = 'costUsd' | 'turns' | 'tokens' | 'activeMs' | 'calls' | 'failedCalls'

/** Their names in words. */
export const figureNames: { readonly [figure in FigureName]: string } = {
  costUsd: 'dollars',
  turns: 'turns',
  tokens: 'tokens',
  activeMs: 'time',
  calls: 'calls',
  failedCalls: 'failed calls',
}

// This cast is safe: the type of this object guarantees that its keys are this union.
export const figures = Object.keys(figureNames) as readonly FigureName[]
