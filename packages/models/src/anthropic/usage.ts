import { isJsonObject, noUsage } from '@halting/core/adapters'
import type { Json, JsonObject, Usage } from '@halting/core'
import { listOf } from '../json-fields.ts'
import { highest, isAbsent, numberOf, totalOf } from '../usage-counts.ts'

/**
 * Merges usage reports: the first one in `message_start`, totals in `message_delta`. Missing and null counts are
 * unchanged.
 *
 * U1: of repeated counts the highest applies, unless a list of passes explains the sum.
 * U2: invalid counts are passed on, because core validates them.
 */
export function mergeUsage(before: Usage, reported: Json | undefined): Usage {
  if (isAbsent(reported)) return before
  const known: JsonObject = { ...before }
  const report: JsonObject = isJsonObject(reported) ? reported : { output_tokens: JSON.stringify(reported) }
  const iterations = fullerList(known.iterations, report.iterations)
  const passes = iterations === report.iterations ? listOf(iterations) : []
  const merged: { [count: string]: Json | undefined } = {}
  for (const name of counts) {
    const isExplained = passes.length > 0 && totalOf(passes.filter(isOwn), name) >= numberOf(known[name])
    merged[name] = highest(isExplained ? totalOf(passes.filter(isOfReply), name) : known[name], report[name])
  }
  const cacheWrites = writtenParts(known, report, merged.cache_creation_input_tokens)
  const searches = highest(inner(known.server_tool_use, searchCount), inner(report.server_tool_use, searchCount))
  // The service may send a value of another type; core validates it.
  return {
    ...merged,
    ...(cacheWrites !== undefined && { cache_creation: cacheWrites }),
    ...(!isAbsent(searches) && { server_tool_use: { [searchCount]: searches } }),
    ...(!isAbsent(iterations) && { iterations }),
  } as unknown as Usage
}

export function readUsage(reported: Json | undefined): Usage {
  return mergeUsage(noUsage, reported)
}

const counts = ['input_tokens', 'output_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'] as const
const hourCount = 'ephemeral_1h_input_tokens'
const searchCount = 'web_search_requests'

/** Returns the tokens written to the cache for an hour, and for five minutes: all others. */
function writtenParts(before: JsonObject, reported: JsonObject, written: Json | undefined): JsonObject | undefined {
  const hour = highest(inner(before.cache_creation, hourCount), inner(reported.cache_creation, hourCount))
  if (isAbsent(hour)) return undefined
  if (typeof hour !== 'number' || typeof written !== 'number' || !(hour >= 0)) {
    return { ephemeral_5m_input_tokens: 0, [hourCount]: hour }
  }
  return { ephemeral_5m_input_tokens: Math.max(0, written - hour), [hourCount]: Math.min(hour, written) }
}

/** Returns a count within a part; an invalid part is passed on in its place. */
function inner(part: Json | undefined, name: string): Json | undefined {
  return isJsonObject(part) ? part[name] : part
}

function isOfReply(entry: Json): boolean {
  return isJsonObject(entry) && (entry.type === 'message' || entry.type === 'fallback_message')
}

/** Whether the answering model made the pass. */
function isOwn(entry: Json): boolean {
  return isOfReply(entry) || (isJsonObject(entry) && (entry.type === 'compaction' || isAbsent(entry.model)))
}

/** Returns the longer list of passes: lists only grow, so one with fewer tokens is ignored. */
function fullerList(before: Json | undefined, reported: Json | undefined): Json | undefined {
  if (isAbsent(reported) || (Array.isArray(reported) && reported.length === 0)) return before
  if (isAbsent(before) || !Array.isArray(reported)) return reported
  const all = (list: Json | undefined): number => counts.reduce((sum, name) => sum + totalOf(list, name), 0)
  return all(reported) >= all(before) ? reported : before
}
