import type { Flags } from '../flags/flags.ts'
import { wantsJson } from '../flags/flags.ts'
import { counted, told } from '../io/figures.ts'
import { shellQuoted } from '../io/shell-quote.ts'
import type { Program } from '../program.ts'
import { momentOf } from '../report/period.ts'
import { sessionTable } from './list-text.ts'
import { pageOfCluster, type PageRequest, type SessionPage } from './session-pages.ts'

const usualPage = 50

/** `halting sessions --cluster URL`: a page of the sessions of a cluster. */
export async function listOfCluster(flags: Flags, program: Program): Promise<number> {
  const { output } = program
  const now = Date.now()
  const page = await pageOfCluster(flags, requestOf(flags, now))
  const { sessions, nextCursor } = page
  if (wantsJson(flags)) {
    output.out(`${JSON.stringify({ sessions, total: page.total, ...(nextCursor !== undefined && { nextCursor }) })}\n`)
    return 0
  }
  if (sessions.length > 0) output.out(sessionTable(sessions, now, output.width))
  const says = pageText(page, flags, program)
  if (says !== '') output.err(told(says))
  return 0
}

function requestOf({ limit = usualPage, cursor, state, tenant, olderThan }: Flags, now: number): PageRequest {
  return {
    limit,
    ...(cursor !== undefined && { cursor }),
    ...(state !== undefined && { state }),
    ...(tenant !== undefined && { tenant }),
    ...(olderThan !== undefined && { changedBefore: momentOf(olderThan, now) }),
  }
}

/** What there is beyond the page. */
function pageText({ sessions, total, nextCursor }: SessionPage, flags: Flags, { argv }: Program): string {
  const { state, tenant, olderThan, cursor, cluster } = flags
  const isNarrowed = [state, tenant, olderThan, cursor].some((each) => each !== undefined)
  if (sessions.length === 0)
    return isNarrowed
      ? `no ${cursor === undefined ? '' : 'more '}session of the cluster ${cluster} matches.`
      : `the cluster ${cluster} has no session.`
  if (nextCursor === undefined) return ''
  return `${counted(sessions.length)} of ${counted(total)} sessions. Next page: halting ${shellQuoted(withCursor(argv, nextCursor))}`
}

/** The same call, for the next page. */
function withCursor(argv: readonly string[], next: string): readonly string[] {
  const kept = argv.filter((word, at) => !word.startsWith('--cursor') && argv[at - 1] !== '--cursor')
  return [...kept, '--cursor', next]
}
