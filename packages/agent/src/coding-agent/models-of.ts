import { ConfigurationError, type Model, type Prices } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import type { Settings } from '@halting/policy/settings'
import type { Environment } from '../tools/limits.ts'
import { modelSettingsOf } from '../open-session/model-settings.ts'
import type { AiSdkModels } from '../providers/ai-sdk-models.ts'
import type { CodingAgentOptions } from './options.ts'

type AiSdkLoader = Pick<AiSdkModels, 'has' | 'load'>

/**
 * The model that is given, or that of this name, of the environment or of the settings.
 * @throws ConfigurationError for one that cannot be reached.
 */
export async function modelOf(
  { model: given }: Pick<CodingAgentOptions, 'model'>,
  env: Environment,
  settings: Settings,
  packages: AiSdkLoader,
): Promise<Model> {
  if (typeof given === 'object') return given
  const { model: ofSettings, apiKeyHelper } = settings
  const { modelFromEnvironment } = await import('@halting/models')
  const isSaid = given !== undefined || (env['ANTHROPIC_MODEL']?.trim() ?? '') !== ''
  // Another program writes the window behind the name.
  const named = ofSettings === 'default' ? undefined : ofSettings?.replace(/\[\d+m\]$/, '')
  const name = isSaid ? (given ?? env['ANTHROPIC_MODEL']?.trim()) : named
  if (name !== undefined && packages.has(name)) return packages.load(name)
  try {
    return modelFromEnvironment(name, env, modelSettingsOf({ settings, env }))
  } catch (thrown) {
    if (apiKeyHelper === undefined) throw thrown
    throw new ConfigurationError(
      `${messageOf(thrown)} apiKeyHelper of the settings is not run from code: give a model that has its key, such as by commandCredentials of @halting/models.`,
    )
  }
}

/** Prices with those of the settings. */
export async function pricesOf(settings: Settings): Promise<Prices> {
  const { createPrices } = await import('@halting/models')
  const { priceOverridesOf } = await import('../providers/ai-sdk-models.ts')
  return createPrices(priceOverridesOf(settings))
}
