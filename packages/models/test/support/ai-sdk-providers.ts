import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { AiSdkModel } from '../../src/ai-sdk/index.ts'

/**
 * A folder whose `node_modules` has other providers than the workspace. `npm run providers` installs the current ones.
 */
export const folder = process.env.HALTING_AI_SDK

interface Settings {
  readonly baseURL: string
  readonly apiKey: string
  readonly name?: string
  readonly includeUsage?: boolean
}

/** A provider, called with the name of a model. */
type Create = (settings: Settings) => ((modelId: string) => AiSdkModel) & {
  readonly chat?: (modelId: string) => AiSdkModel
}

/** A package of that folder. Both versions of a package export functions with the same names. */
export async function current(name: string): Promise<Record<string, Create>> {
  const path = createRequire(join(folder ?? '', 'package.json')).resolve(name)
  // The types of the packages differ between the versions. `Create` has the part that the tests use.
  return (await import(pathToFileURL(path).href)) as Record<string, Create>
}

const anthropic = folder === undefined ? import('@ai-sdk/anthropic') : current('@ai-sdk/anthropic')
const compatible = folder === undefined ? import('@ai-sdk/openai-compatible') : current('@ai-sdk/openai-compatible')

export const createAnthropic: Create = (await anthropic).createAnthropic
export const createOpenAICompatible = (await compatible).createOpenAICompatible as Create
/** Only for `npm run providers`. */
export const createOpenAI = folder === undefined ? undefined : (await current('@ai-sdk/openai')).createOpenAI!
