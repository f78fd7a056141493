import { isJsonObject } from '../values/json.ts'
import { inputTokensOf, type Usage } from './messages.ts'

/** A usage that a service reported: either countable, or the reason why it is not. */
export type ReportedUsage =
  | { readonly isUsable: true; readonly usage: Usage }
  | { readonly isUsable: false; readonly problem: string }

const counts = ['input_tokens', 'output_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'] as const
/** Parts that a service may omit or set to null. */
const optionalParts = ['cache_creation', 'server_tool_use'] as const

/** No request has this many tokens: a higher count is invalid. */
const maxCount = 100_000_000
/** Maximum number of passes of a valid usage. */
const maxIterations = 1_000

// Spec R-BUD-11.
/** Validates a reported usage. Every count must be a plausible integer. Otherwise a sum would be NaN, or less than what was spent. */
export function checkReportedUsage(reported: object): ReportedUsage {
  // A reported value may not have this type: it is checked here.
  const usage = reported as Usage
  for (const name of counts) {
    if (!isCount(usage[name])) return invalidUsage(name, usage[name])
  }
  // Some adapters compute counts as differences of reported totals.
  if (inputTokensOf(usage) > maxCount) return invalidUsage('the prompt', inputTokensOf(usage))
  let isPlain = true
  for (const part of optionalParts) {
    const inner: unknown = usage[part]
    if (inner === undefined) continue
    isPlain = isPlain && inner !== null
    for (const [name, value] of Object.entries(inner ?? {})) {
      if (!isCount(value)) return invalidUsage(`${part}.${name}`, value)
    }
  }
  const iterations: unknown = usage.iterations
  if (iterations !== undefined) {
    const problem = problemOfIterations(iterations)
    if (problem !== undefined) return { isUsable: false, problem }
    isPlain = isPlain && Array.isArray(iterations) && iterations.length > 0
  }
  return { isUsable: true, usage: isPlain ? usage : withoutNulls(usage) }
}

/** The problem of the passes; the list may be missing. */
function problemOfIterations(passes: unknown): string | undefined {
  if (passes === null) return undefined
  if (!Array.isArray(passes) || passes.length > maxIterations) return describeProblem('iterations', passes)
  for (const [index, entry] of passes.entries()) {
    const problem = problemOfIteration(entry)
    if (problem !== undefined) return `iterations[${index}]${problem}`
  }
  return undefined
}

function problemOfIteration(entry: unknown): string | undefined {
  if (!isJsonObject(entry)) return describeProblem('', entry)
  const { type, model, cache_creation: cacheWrites } = entry
  if (typeof type !== 'string') return describeProblem('.type', type)
  if (typeof (model ?? '') !== 'string') return describeProblem('.model', model)
  for (const name of counts) {
    // The cache counts are optional: many requests use no cache.
    const isExpected = name === 'input_tokens' || name === 'output_tokens' || (entry[name] ?? null) !== null
    if (isExpected && !isCount(entry[name])) return describeProblem(`.${name}`, entry[name])
  }
  if ((cacheWrites ?? null) === null) return undefined
  if (!isJsonObject(cacheWrites)) return describeProblem('.cache_creation', cacheWrites)
  const invalidEntry = Object.entries(cacheWrites).find(([, value]) => !isCount(value))
  return invalidEntry && describeProblem(`.cache_creation.${invalidEntry[0]}`, invalidEntry[1])
}

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= maxCount
}

function invalidUsage(name: string, value: unknown): ReportedUsage {
  return { isUsable: false, problem: describeProblem(name, value) }
}

function describeProblem(name: string, value: unknown): string {
  if (value === undefined) return `${name} is missing`
  const text = typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? typeof value)
  return `${name} is ${text.length > 60 ? `${text.slice(0, 60)}…` : text}`
}

/** Also drops an empty list of passes, which contains no information. */
function withoutNulls({ cache_creation, server_tool_use, iterations, ...usage }: Usage): Usage {
  return {
    ...usage,
    ...(cache_creation && { cache_creation }),
    ...(server_tool_use && { server_tool_use }),
    ...(iterations && iterations.length > 0 && { iterations }),
  }
}
