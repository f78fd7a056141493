import { HaltingError } from '@halting/core'
import { isJsonObject, messageOf } from '@halting/core/adapters'
import { eachLine, type ReadLines } from './lines.ts'
import type { Fields } from './values.ts'

/** Gives each line of a file of another program, undefined for one that is no object. `take` answers false when it has seen enough. @throws HaltingError for a file that cannot be read. */
export async function eachParsedLine(
  path: string,
  take: (line: Fields | undefined) => boolean | void,
): Promise<ReadLines> {
  try {
    return await eachLine(path, (text) => take(parsed(text)))
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
  // What a subagent's result says of its figures stands there alone.
  if (end < 0 || text.includes('"totalTokens":', end)) return undefined
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
