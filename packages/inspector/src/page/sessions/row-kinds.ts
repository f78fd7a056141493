import type { SessionRow } from '@halting/analysis/view'

/** How a session stands, coarsely: by the exit code of its last run, or what it is without one. */
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

/** In the order in which they are shown, with their words. */
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

/** How this session stands. */
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
    // 130, 143, and none: whoever listened went away.
    default:
      return 'interrupted'
  }
}

/** How many of its runs count here. */
export function ownRuns({ runs, copiedRuns }: SessionRow): number {
  return runs - copiedRuns
}

/** Whether nothing was run in it yet: all of it counts in the session of which it is a copy. */
export function isOnlyCopy(row: SessionRow): boolean {
  return row.copiedRuns > 0 && ownRuns(row) === 0
}

/** Why its last run ended; `running`, `open` or `unread` where it did not. */
export function endingOf(row: SessionRow): string {
  return row.problem === undefined && row.ending !== null ? row.ending : standingOf(row)
}

/** Figures of a session that are compared, drawn and limited to a range. */
export type FigureName = 'costUsd' | 'turns' | 'tokens' | 'activeMs' | 'calls' | 'failedCalls'

/** Their names, as words. */
export const figureNames: { readonly [figure in FigureName]: string } = {
  costUsd: 'dollars',
  turns: 'turns',
  tokens: 'tokens',
  activeMs: 'time',
  calls: 'calls',
  failedCalls: 'failed calls',
}

// The keys of an object typed by this union are this union.
export const figures = Object.keys(figureNames) as readonly FigureName[]
