import { basename } from 'node:path'
import { HaltingError } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import type { ForeignRun } from './foreign-run.ts'
import { subagentFiles } from './agent-files.ts'
import { ClaudeCodeReader } from './claude-code.ts'
import { CodexReader } from './codex.ts'
import { eachLine } from './lines.ts'
import { eachParsedLine } from './parsed-lines.ts'
import { ReadTogether } from './read-together.ts'
import { SkipCount, type ForeignPart, type ForeignProgram, type ForeignSession } from './session.ts'
import type { Fields } from './parse-values.ts'

/** The program that recorded a session file. */
export type SessionKind = 'halting' | ForeignProgram

const maxHeadLines = 200

/**
 * The program that recorded a session file, detected from its first lines; undefined for any other file.
 * @throws HaltingError for one that cannot be read.
 */
export async function kindOfSession(path: string): Promise<SessionKind | undefined> {
  let kind: SessionKind | undefined
  let lines = 0
  await eachParsedLine(path, (line) => {
    if (line !== undefined && isGeminiLine(line)) throw new HaltingError('driver', geminiCli(path))
    kind = line === undefined ? undefined : kindOfLine(line)
    return kind === undefined && ++lines < maxHeadLines
  })
  if (kind === undefined && (await isGeminiDocument(path))) throw new HaltingError('driver', geminiCli(path))
  return kind
}

const geminiCli = (path: string): string =>
  `The file ${path} is a session of Gemini CLI. Only sessions of Halting, Claude Code and Codex can be read.`

/** Sessions of Gemini CLI name a project by its hash, and mark replies with `gemini`. */
function isGeminiLine({ type, projectHash, content }: Fields): boolean {
  return typeof projectHash === 'string' || (type === 'gemini' && content !== undefined)
}

/** Older sessions of Gemini CLI are one JSON document over many lines. */
async function isGeminiDocument(path: string): Promise<boolean> {
  let head = ''
  await eachLine(path, (text) => {
    head += `${text.slice(0, 1_000)}\n`
    return head.length < 4_000
  })
  return head.startsWith('{') && /"sessionId"\s*:/.test(head) && /"projectHash"\s*:/.test(head)
}

function kindOfLine(line: Fields): SessionKind | undefined {
  const { type, payload, uuid, sessionId, session_id: streamedId, timestamp, instructions, id, leafUuid } = line
  if (type === 'halting') return 'halting'
  if (isJsonObject(payload) && typeof type === 'string') return 'codex'
  if (line['record_type'] !== undefined) return 'codex'
  if (type === undefined && typeof id === 'string' && typeof timestamp === 'string' && instructions !== undefined)
    return 'codex'
  if (typeof type !== 'string') return undefined
  const isStreamed = typeof streamedId === 'string'
  return isStreamed || typeof sessionId === 'string' || typeof uuid === 'string' || typeof leafUuid === 'string'
    ? 'claude-code'
    : undefined
}

/**
 * Reads a session of another program. Never writes. Damaged or unknown lines are skipped and counted. When several files are read `together`, a line
 * that appears in several counts once, and copied runs of Codex are marked as copies.
 * @throws HaltingError `driver` for a file that cannot be read, and for one without such a session.
 */
export async function readForeignSession(
  path: string,
  which: ForeignPart = 'all',
  together: ReadTogether = new ReadTogether(),
): Promise<ForeignSession> {
  const kind = await kindOfSession(path)
  if (kind === undefined || kind === 'halting')
    throw new HaltingError('driver', `The file ${path} is not a session of Claude Code or Codex.`)
  const skipped = new SkipCount()
  const counts = which === 'all' ? (uuid: string) => together.countsLine(uuid, path) : undefined
  const reader = kind === 'codex' ? new CodexReader(skipped, which) : new ClaudeCodeReader(skipped, counts)
  const { tooLong } = await eachParsedLine(path, (line) => {
    if (line === undefined) skipped.damaged()
    else reader.line(line)
  })
  skipped.tooLong(path, tooLong)
  const sessionId = idIn(path) ?? reader.sessionId ?? basename(path, extension)
  if (reader instanceof ClaudeCodeReader && which === 'all') {
    for (const file of await subagentFiles(path, sessionId, together)) {
      const side = await eachParsedLine(file, (line) => {
        if (line === undefined) skipped.damaged()
        else reader.sideLine(line)
      })
      skipped.tooLong(file, side.tooLong)
    }
  }
  const session = reader.session(path, sessionId, which)
  if (kind !== 'codex' || which !== 'all') return session
  // Lines of Codex have no ids, so runs are compared by their beginning.
  return {
    ...session,
    runs: session.runs.map((run) => (together.countsRun(beginningOf(run), path) ? run : copyOf(run))),
  }
}

function beginningOf({ run, beganAt, prompts, turns: [first] }: ForeignRun): unknown {
  return [run, beganAt, prompts, first?.message]
}

function copyOf(run: ForeignRun): ForeignRun {
  return { ...run, run: { ...run.run, isCopy: true } }
}

const extension = '.jsonl'

/** The id in a file name. Other programs name files by session, and a session that continues in another file gets a new id. */
export function idIn(path: string): string | undefined {
  return /([\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12})\.jsonl$/i.exec(path)?.[1]
}
