import {
  deleteSession,
  headOfKept,
  SessionIndex,
  sessionsOf,
  type StoredSessionFile,
  storedSessions,
} from '@halting/journal'
import { summariesOf, summaryOf, type SessionSummary } from '@halting/analysis/sessions'
import { memoriesOfProject, memoryPlace, type MemoryPlace } from '@halting/agent'
import { HaltingError, type Transcript } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import { createKeyRedactor } from '@halting/models'
import type { Flags } from '../flags/flags.ts'
import { nearest } from '../flags/nearest.ts'
import { many, oneLine, told } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { findSession } from '../stored-sessions/find-session.ts'
import { lineWith, readDisplayTranscript } from '@halting/analysis/transcript'
import { whose } from '@halting/agent/session-settings'
import { usable } from '../stored-sessions/usable.ts'
import { UsageError } from '../usage-error.ts'
import { refuseOf } from './flag-owners.ts'
import { factsOf, linesOf } from './session-text.ts'
import { toldLines } from './told-lines.ts'

const doings = ['list', 'show', 'search', 'delete', 'export', 'copy', 'release'] as const

/** `halting sessions`: what is kept. Asks no model, needs no key. */
export async function sessions(
  flags: Flags,
  [doing = 'list', about, ...more]: readonly string[],
  program: Program,
): Promise<number> {
  if (flags.cluster !== undefined) {
    const { sessionsOnCluster } = await import('../cluster/sessions.ts')
    return sessionsOnCluster(flags, [doing, ...(about === undefined ? [] : [about]), ...more], program)
  }
  refuseWithoutCluster(flags)
  if (more.length > 0)
    throw new UsageError(`halting sessions ${doing} takes one argument; put a text with spaces in quotes.`)
  if (doing !== 'export')
    refuseOf('export', { '--format': flags.format, '--output': flags.output, '--force': flags.force })
  if (doing !== 'copy') refuseOf('copy', { '--to': flags.to })
  switch (doings.find((known) => known === doing)) {
    case 'list':
      if (about !== undefined)
        throw new UsageError(
          'halting sessions list takes no argument. To find a text in sessions: halting sessions search TEXT',
        )
      return list(flags, program)
    case 'show':
      return show(flags, needed(about, 'show ID'), program)
    case 'search':
      return search(flags, needed(about, 'search TEXT'), program)
    case 'delete':
      return remove(flags, needed(about, 'delete ID --yes'), program)
    case 'export': {
      const { exportSession } = await import('../export/export.ts')
      return exportSession(flags, needed(about, 'export SESSION'), program)
    }
    case 'copy': {
      const { copySessions } = await import('./copy.ts')
      return copySessions(flags, about, program)
    }
    case 'release':
      throw new UsageError(
        'halting sessions release needs the address of the cluster: --cluster http://127.0.0.1:8080. Sessions on this machine are never set aside.',
      )
    case undefined: {
      const meant = nearest(doing, doings)
      throw new UsageError(
        `halting sessions ${oneLine(doing, 40)} is not a command.${meant === undefined ? '' : ` Did you mean ${meant}?`} Commands: ${doings.join(', ')}.`,
      )
    }
  }
}

/** `--resume` without an id: which there are, and what to type. It runs nothing, so its exit code is 2. */
export async function tellWhatToResume(program: Program): Promise<number> {
  const found = await summaries({}, program)
  program.output.out(linesOf(found, program.output.width))
  const [newest] = found
  program.output.err(
    told(
      newest === undefined
        ? 'This folder has no sessions; halting -p starts one.'
        : `Name a session: halting --resume ${newest.sessionId} -p "PROMPT"; --continue resumes the newest.`,
    ),
  )
  return 2
}

/** @throws UsageError for a flag of lists of a cluster. */
function refuseWithoutCluster({ limit, cursor, state, olderThan, tenant }: Flags): void {
  const given = {
    '--limit': limit,
    '--cursor': cursor,
    '--state': state,
    '--older-than': olderThan,
    '--tenant': tenant,
  }
  const [flag] = Object.entries(given).find(([, value]) => value !== undefined) ?? []
  if (flag !== undefined) throw new UsageError(`${flag} needs --cluster URL: it is about sessions of a cluster.`)
}

function needed(about: string | undefined, usage: string): string {
  if (about !== undefined && about.trim() !== '') return about
  throw new UsageError(`halting sessions ${usage} needs a value.`)
}

async function summaries({ all }: Flags, program: Program): Promise<readonly SessionSummary[]> {
  const files = await storedSessions(whose(program), all === true ? 'all' : 'of this folder')
  return summariesOf(files, new SessionIndex(sessionsOf(whose(program)).base))
}

async function list(flags: Flags, program: Program): Promise<number> {
  const found = await summaries(flags, program)
  const { output } = program
  if (flags.json === true) output.out(`${JSON.stringify({ sessions: found.map(factsOf) })}\n`)
  else if (found.length > 0) output.out(linesOf(found, output.width))
  else output.err(told(flags.all === true ? 'no sessions found.' : 'no sessions found in this folder.'))
  return 0
}

async function show({ json }: Flags, id: string, program: Program): Promise<number> {
  const { output } = program
  const file = await findSession(id, program)
  const summary = await summaryOf(file)
  if (summary.problem !== undefined) throw new UsageError(summary.problem)
  const transcript = await usable(transcriptOf(file.path))
  output.out(
    json === true
      ? `${JSON.stringify({ ...factsOf(summary), messages: transcript.messages() })}\n`
      : `${linesOf([summary], output.width)}\n${toldLines(transcript, output.width).join('\n')}\n`,
  )
  return 0
}

async function search(flags: Flags, text: string, program: Program): Promise<number> {
  const { output } = program
  const found: { readonly summary: SessionSummary; readonly line: string }[] = []
  for (const summary of await summaries(flags, program)) {
    const searched = summary.problem ?? (await lineIn(summary.path, text))
    if (typeof searched === 'string') output.err(told(`not searched: ${oneLine(searched, Infinity)}`))
    else if (searched.line !== undefined) found.push({ summary, line: searched.line })
  }
  if (flags.json === true)
    output.out(`${JSON.stringify({ sessions: found.map(({ summary, line }) => ({ ...factsOf(summary), line })) })}\n`)
  else
    for (const { summary, line } of found)
      output.out(`${linesOf([summary], output.width)}  ${oneLine(line, output.width - 2)}\n`)
  if (found.length === 0) output.err(told(`no session contains "${oneLine(text, 60)}".`))
  return found.length === 0 ? 1 : 0
}

/** What is wrong with a session whose ends are whole is found only when all of it is read. */
async function lineIn(path: string, text: string): Promise<{ readonly line: string | undefined } | string> {
  try {
    return { line: lineWith(await transcriptOf(path), text) }
  } catch (error) {
    if (error instanceof HaltingError) return error.message
    throw error
  }
}

async function remove({ yes }: Flags, id: string, program: Program): Promise<number> {
  const file = await findSession(id, program)
  if (yes !== true)
    throw new UsageError(`This deletes the session ${file.sessionId} permanently. Add --yes to confirm.`)
  const memories = await memoriesFor(file, program)
  await deleteSession(file).catch((thrown: unknown) => {
    throw new UsageError(messageOf(thrown))
  })
  program.output.out(`Deleted: ${file.sessionId}\n`)
  const notes = await notesOfSession(file, memories)
  if (notes.length > 0)
    program.output.err(
      told(
        `${many(notes.length, 'note')} from this session remain in the memory of its folder. To delete: halting memory forget ${notes.join(' ')}`,
      ),
    )
  return 0
}

/** Where notes of the session may be: beside it, and where its folder has them now. */
async function memoriesFor({ path, project }: StoredSessionFile, program: Program): Promise<readonly MemoryPlace[]> {
  const owner = whose(program)
  const beside = await memoriesOfProject(owner, project)
  try {
    const own = memoryPlace({ ...owner, cwd: headOfKept(path).cwd })
    return beside.some((place) => place.path === own.path) ? beside : [...beside, own]
  } catch {
    // A damaged file may be deleted, too.
    return beside
  }
}

/** Ids of notes that come from it alone. They stay: what a person wanted to be known does not go with where they said it. */
async function notesOfSession(
  { sessionId }: StoredSessionFile,
  places: readonly MemoryPlace[],
): Promise<readonly string[]> {
  const { placedNotes, readMemory } = await import('@halting/agent/memory')
  const memories = await Promise.all(places.map((place) => readMemory(place)))
  return memories
    .flatMap((memory) => placedNotes(memory))
    .filter(({ note }) => note.sources.every((source) => source.sessionId === sessionId))
    .map(({ note }) => note.id)
}

function transcriptOf(path: string): Promise<Transcript> {
  return readDisplayTranscript(path, createKeyRedactor(process.env))
}
