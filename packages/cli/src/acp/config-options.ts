import type { SessionConfigOption, SessionConfigSelectOption, SessionModeState } from '@agentclientprotocol/sdk'
import type { SessionSnapshot } from '@halting/agent/session'
import type { SettingsChange, Thinking } from '@halting/core'
import { money } from '../io/figures.ts'

/** What a person sets in the editor, by its id. */
const ids = {
  mode: 'mode',
  model: 'model',
  thinking: 'thinking',
  maxTurns: '_halting.max_turns',
  budgetUsd: '_halting.budget_usd',
} as const

/** More of them nobody looks through. */
const mostModels = 100

type Shown = Pick<
  SessionSnapshot,
  'model' | 'models' | 'permissionMode' | 'permissionModes' | 'thinking' | 'limits' | 'figures'
>

const modes: Readonly<Record<string, { readonly name: string; readonly description: string }>> = {
  default: { name: 'Ask', description: 'Asks before it changes a file or runs a command that no rule allows' },
  acceptEdits: {
    name: 'Accept edits',
    description: 'Changes files of the project without asking; asks before commands',
  },
  plan: { name: 'Plan', description: 'Reads and plans; changes nothing' },
  dontAsk: { name: "Don't ask", description: 'Never asks: what no rule allows is denied' },
  bypassPermissions: { name: 'Bypass', description: 'Asks about nothing; deny rules hold' },
}

export function modeState({ permissionMode, permissionModes }: Shown): SessionModeState {
  return {
    currentModeId: permissionMode,
    availableModes: withCurrent(permissionModes, permissionMode).map((id) => ({ id, name: id, ...modes[id] })),
  }
}

/** All that can be set, with what stands. Each answer has all of it. */
export function configOptions(shown: Shown, moreModels: readonly string[]): SessionConfigOption[] {
  const { limits, figures } = shown
  const models = [...new Set([...withCurrent(shown.models, shown.model), ...moreModels])].slice(0, mostModels)
  return [
    select(
      ids.mode,
      'Mode',
      'mode',
      shown.permissionMode,
      modeState(shown).availableModes.map(({ id, name, description }) => ({
        value: id,
        name,
        description: description ?? null,
      })),
    ),
    select(ids.model, 'Model', 'model', shown.model, models.map(plain)),
    select(ids.thinking, 'Thinking', 'thought_level', thinkingValue(shown.thinking), thinkingOptions(shown.thinking)),
    {
      ...select(ids.maxTurns, 'Most turns', 'other', String(limits.maxTurns ?? none), turnOptions(limits.maxTurns)),
      description: `Turns of one run before it stops; ${figures.turns} used`,
    },
    {
      ...select(
        ids.budgetUsd,
        'Budget',
        'other',
        String(limits.maxBudgetUsd ?? none),
        budgetOptions(limits.maxBudgetUsd),
      ),
      description: `US dollars of the session before it stops; ${money(figures.sessionUsd)} used`,
    },
  ]
}

/** What was set, as the session takes it; in words what is wrong with it. */
export function changeOf(configId: string, value: unknown, shown: Shown): SettingsChange | string {
  const asText = typeof value === 'string' ? value : String(value)
  switch (configId) {
    case ids.mode:
      return { permissionMode: asText }
    case ids.model:
      return { model: asText }
    case ids.thinking: {
      const option = thinkingOptions(shown.thinking).find((one) => one.value === asText)
      return option === undefined ? `There is no thinking "${asText}".` : { thinking: thinkingOf(asText) }
    }
    case ids.maxTurns:
    case ids.budgetUsd: {
      // Also what is in no list: a client may let a person type it.
      const limit = asText === none ? null : /^\d+(?:\.\d+)?$/.test(asText) ? Number(asText) : undefined
      if (limit === undefined) return `"${asText}" is no limit: give a number above 0, or "${none}".`
      return { limits: configId === ids.maxTurns ? { maxTurns: limit } : { maxBudgetUsd: limit } }
    }
    default:
      return `There is no option "${configId}". There are ${Object.values(ids).join(', ')}.`
  }
}

const none = 'none'

function select(
  id: string,
  name: string,
  category: string,
  currentValue: string,
  options: SessionConfigSelectOption[],
): SessionConfigOption {
  return { type: 'select', id, name, category, currentValue, options }
}

function plain(value: string): SessionConfigSelectOption {
  return { value, name: value }
}

/** Settings may stand at a value that is in no list. */
function withCurrent(known: readonly string[], current: string): readonly string[] {
  return known.includes(current) ? known : [current, ...known]
}

function turnOptions(current: number | null): SessionConfigSelectOption[] {
  return limitOptions([5, 10, 20, 30, 50, 100, 200, 500], current, (turns) => `${turns} turns`)
}

function budgetOptions(current: number | null): SessionConfigSelectOption[] {
  return limitOptions([0.5, 1, 2, 5, 10, 20, 50, 100], current, (usd) => `$${usd}`)
}

function limitOptions(
  usual: readonly number[],
  current: number | null,
  nameOf: (limit: number) => string,
): SessionConfigSelectOption[] {
  const all = current === null ? usual : [...new Set([...usual, current])].toSorted((a, b) => a - b)
  return [...all.map((limit) => ({ value: String(limit), name: nameOf(limit) })), { value: none, name: 'No limit' }]
}

const budgets = [4_096, 16_384, 32_768]

function thinkingOptions(current: Thinking | null): SessionConfigSelectOption[] {
  const own = current?.type === 'enabled' ? [current.budgetTokens] : []
  return [
    { value: 'default', name: 'As the model does' },
    { value: 'disabled', name: 'Off' },
    { value: 'adaptive', name: 'As much as it finds right' },
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
