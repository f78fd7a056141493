import { isJsonObject } from '@halting/core/adapters'
import { patchToolName } from '@halting/policy/files'
import { runInNewContext } from 'node:vm'

/** Only letters, digits and `_- ,|`: a list of names. */
const isList = /^[\w\- ,|]*$/

/** Why a matcher is invalid; undefined if it is valid. */
export function problemOfMatcher(matcher: string): string | undefined {
  if (matcher === '*' || isList.test(matcher)) return undefined
  try {
    void new RegExp(matcher)
    return undefined
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown)
  }
}

/**
 * Absent, "" or "*": everything. Only letters, digits and `_- ,|`: one of these names. Anything else is a regular
 * expression that may match anywhere.
 */
export function matches(matcher: string, name: string): boolean {
  if (matcher === '' || matcher === '*') return true
  // The tool that starts agents had the name Task before.
  const names = name === 'Agent' ? [name, 'Task'] : [name]
  if (!isList.test(matcher)) return names.some((one) => finds(matcher, one))
  const listed = matcher.split(/[|,]/).map((one) => one.trim())
  return names.some((one) => listed.includes(one))
}

/**
 * Returns the names that matchers are compared with for a call. A command of Wait also counts as Bash, so that guards
 * of commands cannot be bypassed. Without an input, returns the names for any call of the tool. A patch also matches
 * hooks for Edit and Write.
 */
export function matchedNames(tool: string, input?: unknown): readonly string[] {
  const mayRunCommand = tool === 'Wait' && (input === undefined || (isJsonObject(input) && 'command' in input))
  if (tool === patchToolName) return [tool, 'Edit', 'Write']
  return mayRunCommand ? [tool, 'Bash'] : [tool]
}

const patternMs = 100
const found = new Map<string, boolean>()

/**
 * Evaluates an untrusted expression on an untrusted name. An expression that takes too long, or is invalid, counts as
 * a match.
 */
function finds(pattern: string, name: string): boolean {
  if (isQuick(pattern)) return problemOfMatcher(pattern) !== undefined || new RegExp(pattern).test(name)
  const key = JSON.stringify([pattern, name])
  const known = found.get(key)
  if (known !== undefined) return known
  if (found.size > 1_000) found.clear()
  const fits = inTime(pattern, name)
  found.set(key, fits)
  return fits
}

/**
 * Whether the pattern has at most two repetitions, none of them of a group: then backtracking takes only a few steps.
 */
function isQuick(pattern: string): boolean {
  return (pattern.match(/[*+{?]/g) ?? []).length <= 2 && !/\)[*+{?]/.test(pattern)
}

function inTime(pattern: string, name: string): boolean {
  try {
    // Only a separate context can be interrupted.
    return runInNewContext('new RegExp(pattern).test(name)', { pattern, name }, { timeout: patternMs }) === true
  } catch {
    return true
  }
}
