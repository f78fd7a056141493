import type { FlagFor } from './flag-kinds.ts'
import type { Flags } from './flags.ts'
import { type Reading, wholeNumber } from './values.ts'

type AgentFlag = 'agents' | 'maxSubagents' | 'maxSubagentDepth'

/** Flags about subagents: rows of the one table. */
export const agentFlags: { readonly [Name in AgentFlag]-?: FlagFor<NonNullable<Flags[Name]>> } = {
  agents: {
    names: ['--agents'],
    group: 'tools',
    kind: 'value',
    value: 'JSON',
    read: jsonObject,
    meaning: 'Subagents by name: {"reviewer": {"description": "…", "prompt": "…", "tools": ["Read"]}}',
  },
  maxSubagents: {
    names: ['--max-subagents'],
    group: 'limits',
    kind: 'value',
    value: 'N',
    read: count,
    meaning: 'Subagents of a run, those of subagents with them; 50 unless said otherwise, 0 for none',
  },
  maxSubagentDepth: {
    names: ['--max-subagent-depth'],
    group: 'limits',
    kind: 'value',
    value: 'N',
    read: wholeNumber,
    meaning: 'Levels of subagents: with 1 they start none themselves; 3 unless said otherwise',
  },
}

function count(given: string): Reading<number> {
  return given === '0' ? { value: 0 } : wholeNumber(given)
}

/** Whether it is right in itself is looked at when it is read. */
function jsonObject(given: string): Reading<string> {
  const expected = 'JSON: {"name": {"description": "…", "prompt": "…"}}'
  try {
    const value: unknown = JSON.parse(given)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { value: given } : { expected }
  } catch {
    return { expected }
  }
}
