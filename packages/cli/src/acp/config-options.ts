import type { SessionConfigOption, SessionConfigSelectOption, SessionModeState } from '@agentclientprotocol/sdk'
import type { SessionSnapshot } from '@halting/core/session'
import type { SettingsChange, Thinking } from '@halting/core'
import { modeWords } from '../frontends/mode-words.ts'
import { limitChangeOf, limitIds, limitOptions } from './limit-options.ts'

/** The ids of the options that a person sets in the editor. */
const ids = {
  mode: 'mode',
  model: 'model',
  thinking: 'thinking',
} as const

/** Maximum number of models in the list; longer lists are truncated. */
const maxModels = 100

type OptionsSnapshot = Pick<
  SessionSnapshot,
  'model' | 'models' | 'permissionMode' | 'permissionModes' | 'thinking' | 'limits' | 'figures' | 'goal'
>

export function modeState({ permissionMode, permissionModes }: OptionsSnapshot): SessionModeState {
  return {
    currentModeId: permissionMode,
    availableModes: withCurrent(permissionModes, permissionMode).map((id) => {
      const { name, description: does } = modeWords(id)
      return { id, name, ...(does !== '' && { description: does }) }
    }),
  }
}

/** All options with their current values. Every response contains all of them. */
export function configOptions(snapshot: OptionsSnapshot, moreModels: readonly string[]): SessionConfigOption[] {
  const models = [...new Set([...withCurrent(snapshot.models, snapshot.model), ...moreModels])].slice(0, maxModels)
  return [
    select(
      ids.mode,
      'Mode',
      'mode',
      snapshot.permissionMode,
      modeState(snapshot).availableModes.map(({ id, name, description }) => ({
        value: id,
        name,
        description: description ?? null,
      })),
    ),
    select(ids.model, 'Model', 'model', snapshot.model, models.map(plainOption)),
    select(
      ids.thinking,
      'Thinking',
      'thought_level',
      thinkingValue(snapshot.thinking),
      thinkingOptions(snapshot.thinking),
    ),
    ...limitOptions(snapshot),
  ]
}

/** The change that an option makes; a string describes a problem. */
export function parseOption(configId: string, value: unknown, snapshot: OptionsSnapshot): SettingsChange | string {
  const asText = typeof value === 'string' ? value : String(value)
  switch (configId) {
    case ids.mode:
      return { permissionMode: asText }
    case ids.model:
      return { model: asText }
    case ids.thinking: {
      const option = thinkingOptions(snapshot.thinking).find((one) => one.value === asText)
      return option === undefined ? `Unknown value for thinking: "${asText}".` : { thinking: thinkingOf(asText) }
    }
    default: {
      const limits = limitChangeOf(configId, asText)
      if (limits === undefined) return `Unknown option "${configId}". Options: ${allIds.join(', ')}.`
      return typeof limits === 'string' ? limits : { limits }
    }
  }
}

const allIds = [...Object.values(ids), ...limitIds]

function select(
  id: string,
  name: string,
  category: string,
  currentValue: string,
  options: SessionConfigSelectOption[],
): SessionConfigOption {
  return { type: 'select', id, name, category, currentValue, options }
}

function plainOption(value: string): SessionConfigSelectOption {
  return { value, name: value }
}

/** The choices with the current value, which may be missing from the list. */
function withCurrent(known: readonly string[], current: string): readonly string[] {
  return known.includes(current) ? known : [current, ...known]
}

const budgets = [4_096, 16_384, 32_768]

function thinkingOptions(current: Thinking | null): SessionConfigSelectOption[] {
  const own = current?.type === 'enabled' ? [current.budgetTokens] : []
  return [
    { value: 'default', name: 'Model default' },
    { value: 'disabled', name: 'Off' },
    { value: 'adaptive', name: 'Adaptive' },
    ...[...new Set([...budgets, ...own])]
      .toSorted((a, b) => a - b)
      .map((tokens) => ({ value: `enabled:${tokens}`, name: `Up to ${tokens} tokens` })),
  ]
}

function thinkingValue(thinking: Thinking | null): string {
  if (thinking === null) return 'default'
  return thinking.type === 'enabled' ? `enabled:${thinking.budgetTokens}` : thinking.type
}

/** @param value One of the options. */
function thinkingOf(value: string): Thinking | null {
  if (value === 'disabled' || value === 'adaptive') return { type: value }
  return value === 'default' ? null : { type: 'enabled', budgetTokens: Number(value.slice('enabled:'.length)) }
}
