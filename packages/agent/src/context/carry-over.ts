import type { AnyTool, Permissions } from '@halting/core'
import { codeOf, isPdf, type PinnedText, type PinContext } from '@halting/core/adapters'
import { realPath } from '@halting/journal/files'
import { displayPath, type OpenedInPlace, openInPlace } from '@halting/policy/files'
import { type FileStates, seenFile, type LastSeen } from '../tools/file-state.ts'
import { isImage } from '../tools/image.ts'
import { bytesOfFile, readLines } from '../tools/line-reader.ts'
import { numberedLines } from '../tools/numbered-lines.ts'
import { createReadTool, isBinary, startOf } from '../tools/read.ts'
import type { Workspace } from '../tools/workspace.ts'
import { taskListOf } from '../tools/task-list/task-list.ts'
import { taskLines, taskListTitle } from '../tools/task-list/task-list-texts.ts'
import * as texts from './carry-over-texts.ts'

/** Number of files that are pinned across a compaction, or reported as deleted. */
const maxFiles = 5
/** Maximum tokens of one file. */
const fileTokens = 5_000
/** Code with line numbers has fewer characters per token than prose. */
const charactersPerToken = 3

// Spec R-CARRY-1.
/**
 * The coding agent's pinned context: after a compaction, shows the task list and the current contents of the files
 * last read or written. Includes only files that the permissions let Read access without asking.
 */
export function createCarryOver(workspace: Workspace, permissions: Permissions): PinContext {
  const tool: AnyTool = createReadTool(workspace)
  return async ({ signal, transcript, maxTokens, agentId }) => {
    const files = workspace.filesOfAgent(agentId)
    const tasks = taskLines(taskListOf(transcript))
    const carried: PinnedText[] = tasks === '' ? [] : [{ title: taskListTitle, text: tasks }]
    const listCount = carried.length
    let left = maxTokens * charactersPerToken - tasks.length
    for (const seen of files.newestFirst) {
      if (carried.length - listCount >= maxFiles || left < leastCharacters) break
      signal.throwIfAborted()
      if (!(await mayRead(seen.realPath, permissions, tool))) continue
      // Half of the remaining room, so that one long file leaves room for the next.
      const room = Math.min(fileTokens * charactersPerToken, Math.max(left / 2, leastCharacters))
      const file = await carriedFile(seen, workspace, { room, signal, files })
      if (file === undefined) continue
      left -= file.text.length
      carried.push(file)
    }
    return carried
  }
}

/** With less room than this, showing a file is not useful. */
const leastCharacters = 300

async function mayRead(path: string, permissions: Permissions, tool: AnyTool): Promise<boolean> {
  const call = { type: 'tool_use', id: 'carry_over', name: 'Read', input: { file_path: path } } as const
  const request = { call, tool, readOnly: true }
  if (permissions.denies(request) !== undefined) return false
  const decision = await permissions.decide(request)
  return 'behavior' in decision && decision.behavior === 'allow'
}

interface Room {
  /** Number of characters. */
  readonly room: number
  readonly signal: AbortSignal
  /** The files of the conversation to compact. */
  readonly files: FileStates
}

/** Returns the current file; undefined if it is not text or cannot be read. */
async function carriedFile(
  seen: LastSeen,
  workspace: Workspace,
  { room, signal, files }: Room,
): Promise<PinnedText | undefined> {
  const path = seen.realPath
  const name = displayPath(path, realPath(workspace.cwd))
  const found = await openFound(path)
  if (found === 'gone') return { title: texts.fileTitle(name, { hasChanged: false }), text: texts.deletedFile }
  if (found?.kind !== 'file') return undefined
  try {
    return await carriedText(seen, name, found, workspace, { room, signal, files })
  } finally {
    await found.file.close()
  }
}

async function carriedText(
  seen: LastSeen,
  name: string,
  { file, stats }: Extract<OpenedInPlace, { readonly kind: 'file' }>,
  workspace: Workspace,
  { room, signal, files }: Room,
): Promise<PinnedText | undefined> {
  const path = seen.realPath
  const start = await startOf(file)
  if (isBinary(start) || isPdf(start) || isImage(path, start)) return undefined
  const { editBytes, lineCharacters } = workspace.limits
  const firstLine = stats.size <= room ? 1 : seen.firstLine
  const range = { firstLine, maxLines: Infinity, lineCharacters, maxCharacters: room }
  const read = await readLines(bytesOfFile(file), range, { hashes: stats.size <= editBytes, signal })
  const { lines, lineCount, hasMore } = read
  const now = seenFile(stats, read.hash)
  const hasChanged = files.freshness(path, now, () => false) === 'changed'
  const last = firstLine + lines.length - 1
  const part = { first: firstLine, last, ...(lineCount !== undefined && { total: lineCount }) }
  const isPart = firstLine > 1 || hasMore
  const { redact = (shown: string) => shown } = workspace
  const text = redact(lines.length === 0 ? emptyText(lineCount) : numberedLines(lines, firstLine, Infinity))
  if (hasChanged) files.recordCarried(path, now, text)
  return { title: texts.fileTitle(name, { ...(isPart && { part }), hasChanged }), text }
}

function emptyText(lineCount: number | undefined): string {
  return lineCount === 0 ? texts.emptyFile : texts.shortenedFile(lineCount)
}

async function openFound(path: string): Promise<OpenedInPlace | 'gone' | undefined> {
  try {
    return await openInPlace(path)
  } catch (thrown) {
    const code = codeOf(thrown)
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'gone' : undefined
  }
}
