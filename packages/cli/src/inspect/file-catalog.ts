import { resolve } from 'node:path'
import { SessionIndex, sessionsOf, storedSessions } from '@halting/journal'
import { FileCatalog } from '@halting/analysis/sessions'
import type { Flags } from '../flags/flags.ts'
import { filesOfAllFolders } from '../foreign/all-session-files.ts'
import { foreignFolders } from '../foreign/find-foreign.ts'
import { priceFlags, pricesFor } from '../foreign/session-prices.ts'
import { watchedGradingSources } from '../grade/grading-sources.ts'
import { shellQuoted } from '../io/shell-quote.ts'
import type { Program } from '../program.ts'
import { findSessionFiles } from '../stored-sessions/find-session.ts'
import { sessionScope } from '@halting/agent/session-settings'
import { resumeHint } from '../why/resume-hint.ts'
import { plainWhyText } from './plain-why-text.ts'

/** Opens the session files that the flags and words name. @throws UsageError for a name without sessions */
export async function openFileCatalog(flags: Flags, words: readonly string[], program: Program): Promise<FileCatalog> {
  const named = flags.all === true ? [] : [...words, ...foreignFolders(flags, program)]
  // Flags with which another command finds the same prices. Sessions of halting have their prices on record.
  const ofPrices = priceFlags(flags, program)
  const find = filesToShow(named, flags, program)
  let found: FoundFiles | undefined = { paths: await find(), at: performance.now() }
  return new FileCatalog({
    title: catalogTitle(named, flags, program),
    // Reuses a result that is not older than two seconds, since searching takes half of the start with many sessions.
    find: () => {
      const previous = found
      found = undefined
      return previous !== undefined && performance.now() - previous.at < freshMs
        ? Promise.resolve(previous.paths)
        : find()
    },
    prices: pricesFor(flags, program),
    shellArguments: ({ foreign }, path) =>
      shellQuoted([...(foreign === undefined ? [] : ofPrices), resolve(program.cwd, path)]),
    nextStep: (session, path) => resumeHint(session, path, program),
    grading: watchedGradingSources(program),
    index: new SessionIndex(sessionsOf(sessionScope(program)).base),
    whyText: plainWhyText,
  })
}

/** Files, and when they were found. */
interface FoundFiles {
  readonly paths: readonly string[]
  readonly at: number
}

const freshMs = 2_000

function filesToShow(named: readonly string[], flags: Flags, program: Program): () => Promise<readonly string[]> {
  if (flags.all === true) return () => filesOfAllFolders(flags, program)
  if (named.length > 0) return () => findSessionFiles(named, program)
  return async () => (await storedSessions(sessionScope(program), 'of this folder')).map(({ path }) => path)
}

function catalogTitle(named: readonly string[], { all, claudeCode, codex }: Flags, { cwd }: Program): string {
  if (all === true) {
    const programs = [claudeCode === true ? ['Claude Code'] : [], codex === true ? ['Codex'] : []].flat()
    return programs.length === 0 ? 'All sessions' : `All sessions, and those of ${programs.join(' and ')}`
  }
  if (named.length === 0) return `Sessions of ${cwd}`
  return named.map((name) => (/[/\\]/.test(name) ? resolve(cwd, name) : name)).join(', ')
}
