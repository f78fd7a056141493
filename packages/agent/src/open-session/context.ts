import { ConfigurationError, type RunOptions, type Model } from '@halting/core'
import type { AutoCompact, SessionChoices } from './choices.ts'
import type { SessionPorts } from './ports.ts'
import { createCarryOver } from '../context/carry-over.ts'
import { contextLayers } from '@halting/core/adapters'
import { isShare, leastWindowTokens } from './choices.ts'
import { countFrom } from './limits.ts'
import type { Toolbox } from './toolbox.ts'

/**
 * Determines what happens when the context window fills up: the choices, then the environment, then the window's size.
 * @throws ConfigurationError for an invalid variable.
 */
export function contextOf(
  choices: Pick<SessionChoices, 'autocompact' | 'contextWindow'>,
  env: SessionPorts['env'],
  { workspace, permissions }: Pick<Toolbox, 'workspace' | 'permissions'>,
  compactModel: Model | undefined,
): Pick<RunOptions, 'context' | 'contextWindow'> {
  const when = choices.autocompact ?? autoCompactFrom(env)
  const contextWindow = choices.contextWindow ?? countFrom(env, 'CLAUDE_CODE_MAX_CONTEXT_TOKENS', leastWindowTokens)
  const context = contextLayers({
    // `off` disables compaction completely: a run then ends at the blocking limit (spec R-CTX-3).
    autoCompact: when !== 'off',
    ...(when !== 'auto' && when !== 'off' && { compactAt: when }),
    ...(compactModel !== undefined && { compactModel }),
    carryOver: createCarryOver(workspace, permissions),
  })
  return { context, ...(contextWindow !== undefined && { contextWindow }) }
}

function autoCompactFrom(env: SessionPorts['env']): AutoCompact {
  if (isSet(env, 'DISABLE_AUTO_COMPACT')) return 'off'
  const name = 'CLAUDE_AUTOCOMPACT_PCT_OVERRIDE'
  const value = env[name]?.trim() ?? ''
  if (value === '') return 'auto'
  const percent = /^\d+(\.\d+)?$/.test(value) ? Number(value) : Number.NaN
  if (isShare(percent)) return `${percent}%`
  throw new ConfigurationError(`${name} must be a percentage from 1 to 100, not "${value}".`)
}

function isSet(env: SessionPorts['env'], name: string): boolean {
  const value = env[name]?.trim().toLowerCase() ?? ''
  if (['1', 'true', 'yes', 'on'].includes(value)) return true
  if (['', '0', 'false', 'no', 'off'].includes(value)) return false
  throw new ConfigurationError(`${name} must be 1 or 0, not "${value}".`)
}
