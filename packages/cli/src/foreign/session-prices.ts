import { resolve } from 'node:path'
import { isJsonObject } from '@halting/core/adapters'
import { createPrices } from '@halting/models'
import type { Prices } from '@halting/core'
import type { Flags } from '../flags/flags.ts'
import type { Program } from '../program.ts'
import { asUsageError } from '../stored-sessions/as-usage-error.ts'
import { readAnySession, type AnySession, type PricesFor } from '@halting/analysis/sessions'

/** The flags with which another command uses the same prices. Inline settings may contain secrets, so only their prices are repeated. */
export function priceFlags(
  { settings, settingSources }: Pick<Flags, 'settings' | 'settingSources'>,
  { cwd }: Pick<Program, 'cwd'>,
): readonly string[] {
  const sources = settingSources === undefined ? [] : ['--setting-sources', settingSources.join(',')]
  if (settings === undefined) return sources
  if (!settings.trimStart().startsWith('{')) return [...sources, '--settings', resolve(cwd, settings)]
  const modelPrices = modelPricesIn(settings)
  return modelPrices === undefined ? sources : [...sources, '--settings', JSON.stringify({ modelPrices })]
}

function modelPricesIn(settings: string): unknown {
  try {
    const read: unknown = JSON.parse(settings)
    if (!isJsonObject(read)) return undefined
    const { modelPrices, aiSdk } = read
    const aliases = pricesOfAliases(aiSdk)
    if (aliases.length === 0) return modelPrices
    return { ...Object.fromEntries(aliases), ...(isJsonObject(modelPrices) && modelPrices) }
  } catch {
    // Reading the prices later reports the problem.
    return undefined
  }
}

function pricesOfAliases(aiSdk: unknown): readonly (readonly [name: string, price: unknown])[] {
  const models = isJsonObject(aiSdk) && isJsonObject(aiSdk['models']) ? aiSdk['models'] : {}
  return Object.entries(models).flatMap(([name, alias]) =>
    isJsonObject(alias) && alias['price'] !== undefined ? [[name, alias['price']] as const] : [],
  )
}

/** Reads the known prices, overridden by those of the settings; once, on first use. */
export function pricesFor(flags: Pick<Flags, 'settings'>, program: Program): PricesFor {
  let prices: Promise<Prices> | undefined
  return () => (prices ??= readPrices(flags, program))
}

async function readPrices(flags: Pick<Flags, 'settings'>, program: Program): Promise<Prices> {
  // Imported on demand: settings load the permission rules and the shell analysis, which sessions with recorded prices do not need.
  const { settingsFor } = await import('../flags/session-ports.ts')
  const { priceOverridesOf } = await import('@halting/agent/session-settings')
  return createPrices(priceOverridesOf((await settingsFor(flags, program)).settings))
}

/** Reads a session file. @throws UsageError that says what is wrong with the file, and where */
export function readNamedSession(path: string, prices: PricesFor): Promise<AnySession> {
  return asUsageError(readAnySession(path, prices))
}
