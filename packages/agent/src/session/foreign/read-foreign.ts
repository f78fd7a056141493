import { basename, dirname, join } from 'node:path'
import { readdir } from 'node:fs/promises'
import { HaltingError } from '@halting/core'
import { isJsonObject, messageOf } from '@halting/core/adapters'
import { ClaudeCodeReader } from './claude-code.ts'
import { CodexReader } from './codex.ts'
import { eachLine } from './lines.ts'
import type { SharedLines } from './shared-lines.ts'
import { SkipCount, type ForeignPart, type ForeignProgram, type ForeignSession } from './session.ts'
import { textIn, type Fields } from './values.ts'

/** Whose session a file holds. */
export type SessionKind = 'halting' | ForeignProgram

const longestHead = 200

/** What files that are read together share. */
export class ReadTogether {
  /** Lines that count in the first file that holds them. */
  readonly lines: SharedLines = new Set<string>()
  /** The sessions that files of subagents are of: each is looked at once. */
  readonly parents: Map<string, string | undefined> = new Map()
  /** Files of subagents in a folder: of a great many sessions in it each would list all of it. */
  readonly agents: Map<string, Promise<readonly string[]>> = new Map()
}

/** Whose session a file holds, by what stands in its first lines; undefined for any other file. @throws HaltingError for one that cannot be read. */
export async function kindOfSession(path: string): Promise<SessionKind | undefined> {
  let kind: SessionKind | undefined
  let lines = 0
  await read(path, (text) => {
    const line = parsed(text)
    kind = line === undefined ? undefined : kindOfLine(line)
    return kind === undefined && ++lines < longestHead
  })
  return kind
}

function kindOfLine(line: Fields): SessionKind | undefined {
  const { type, payload, uuid, sessionId, timestamp, instructions, id, leafUuid } = line
  if (type === 'halting') return 'halting'
  if (isJsonObject(payload) && typeof type === 'string') return 'codex'
  if (line['record_type'] !== undefined) return 'codex'
  if (type === undefined && typeof id === 'string' && typeof timestamp === 'string' && instructions !== undefined)
    return 'codex'
  if (typeof type !== 'string') return undefined
  return typeof sessionId === 'string' || typeof uuid === 'string' || typeof leafUuid === 'string'
    ? 'claude-code'
    : undefined
}

/**
 * Reads a session of another program. Never writes. What is damaged or unknown is passed over and counted. Of lines that stand in several files
 * those that are read `together` give them once.
 * @throws HaltingError `driver` for a file that cannot be read, and for one that holds no such session.
 */
export async function readForeignSession(
  path: string,
  which: ForeignPart = 'all',
  together: ReadTogether = new ReadTogether(),
): Promise<ForeignSession> {
  const kind = await kindOfSession(path)
  if (kind === undefined || kind === 'halting')
    throw new HaltingError('driver', `The file ${path} holds no session of Claude Code or Codex.`)
  const skipped = new SkipCount()
  const reader =
    kind === 'codex'
      ? new CodexReader(skipped, which)
      : new ClaudeCodeReader(skipped, which === 'all' ? together.lines : undefined)
  const { tooLong } = await read(path, (text) => {
    const line = parsed(text)
    if (line === undefined) skipped.damaged()
    else reader.line(line)
  })
  skipped.tooLong(path, tooLong)
  const named = idIn(path) ?? reader.sessionId ?? basename(path, extension)
  if (reader instanceof ClaudeCodeReader && which === 'all') {
    for (const file of await subagentFiles(path, named, together)) {
      const side = await read(file, (text) => {
        const line = parsed(text)
        if (line === undefined) skipped.damaged()
        else reader.sideLine(line)
      })
      skipped.tooLong(file, side.tooLong)
    }
  }
  return reader.session(path, named, which)
}

const extension = '.jsonl'

/** The id in the name of a file: other programs name it so, and a session that goes on in another file has a new one. */
export function idIn(path: string): string | undefined {
  return /([\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12})\.jsonl$/i.exec(path)?.[1]
}

async function read(path: string, take: (line: string) => boolean | void): ReturnType<typeof eachLine> {
  try {
    return await eachLine(path, take)
  } catch (error) {
    throw new HaltingError('driver', `The session ${path} cannot be read: ${messageOf(error)}.`, { cause: error })
  }
}

function parsed(text: string): Fields | undefined {
  // Most of what is no JSON object is told by its first character, without an error that costs time.
  if (!text.startsWith('{')) return undefined
  return withoutDetails(text) ?? parsedWhole(text)
}

/**
 * Claude Code writes each result a second time, for its own display: half of most files. The line is parsed up to there, where all else that is
 * needed stands before. Inside a text these quotes would be escaped; in the input of a call the part before is no whole object.
 */
function withoutDetails(text: string): Fields | undefined {
  const end = text.indexOf(',"toolUseResult":')
  if (end < 0) return undefined
  const line = parsedWhole(`${text.slice(0, end)}}`)
  return line !== undefined && 'uuid' in line && 'timestamp' in line ? line : undefined
}

function parsedWhole(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

const agentName = /^agent-[^/]*\.jsonl$/

/** Files of the subagents of a session: in a folder of its own, or beside it with its id inside. */
async function subagentFiles(path: string, sessionId: string, together: ReadTogether): Promise<readonly string[]> {
  const folder = dirname(path)
  const own = join(folder, sessionId, 'subagents')
  const inOwn = await agentFilesIn(own)
  let besides = together.agents.get(folder)
  if (besides === undefined) together.agents.set(folder, (besides = agentFilesIn(folder)))
  const beside: string[] = []
  for (const file of await besides)
    if (file !== path && (await parentOf(file, together)) === sessionId) beside.push(file)
  return [...inOwn, ...beside]
}

async function agentFilesIn(folder: string): Promise<readonly string[]> {
  return (await namesIn(folder)).filter((name) => agentName.test(name)).map((name) => join(folder, name))
}

/** Without files of subagents that are counted with their session, which is among these. */
export async function withoutSubagents(
  paths: readonly string[],
  together: ReadTogether = new ReadTogether(),
): Promise<readonly string[]> {
  const agents = paths.filter((path) => agentName.test(basename(path)))
  if (agents.length === 0) return paths
  const given = new Set(paths)
  const counted = new Set<string>()
  for (const path of agents) {
    const id = await parentOf(path, together)
    if (id === undefined) continue
    const folder = dirname(path)
    const sessions = [join(folder, `${id}${extension}`), join(folder, '..', '..', `${id}${extension}`)]
    if (sessions.some((session) => given.has(session))) counted.add(path)
  }
  return paths.filter((path) => !counted.has(path))
}

/** The session that a subagent's file is of. */
async function parentOf(path: string, { parents }: ReadTogether): Promise<string | undefined> {
  if (parents.has(path)) return parents.get(path)
  let id: string | undefined
  let lines = 0
  await read(path, (text) => {
    id = textIn(parsed(text)?.['sessionId'])
    return id === undefined && ++lines < longestHead
  }).catch(() => undefined)
  parents.set(path, id)
  return id
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return await readdir(folder).catch(() => [])
}
