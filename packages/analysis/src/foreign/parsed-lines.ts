import { HaltingError } from '@halting/core'
import { isJsonObject, messageOf } from '@halting/core/adapters'
import { eachLine, type ReadLines } from './lines.ts'
import type { Fields } from './parse-values.ts'

/**
 * Passes each line of another program's file, parsed, to `take`; undefined for a line that is not an object. Reading stops when `take` returns false.
 * @throws HaltingError for a file that cannot be read.
 */
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
  // Rejects most other lines by their first character, without the cost of an exception.
  if (!text.startsWith('{')) return undefined
  return parsedWithoutDisplay(text) ?? parsedWhole(text)
}

/**
 * Claude Code writes each result a second time for its own display, which is half of most files. If everything else comes before it, the line is
 * parsed only up to there. Inside a text these quotes would be escaped, and in the input of a call the first part would not be a complete object.
 */
function parsedWithoutDisplay(text: string): Fields | undefined {
  const end = text.indexOf(',"toolUseResult":')
  // The figures of a subagent's result are only in that second copy.
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
