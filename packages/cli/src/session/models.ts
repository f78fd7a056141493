import { resolve } from 'node:path'
import type { Model } from '@halting/core'
import { anthropic, modelFromEnvironment, type ModelSettings } from '@halting/models'
import type { Flags } from '../flags/flags.ts'
import type { Program } from '../program.ts'

/** The models of a run, and what has to be ended after it. */
export interface Models {
  readonly model: Model
  readonly fallbackModel?: Model
  /** Where the key comes from, as `system/init` tells it. */
  readonly apiKeySource: string
  close(): Promise<void>
}

/** @throws ConfigurationError for a model that cannot be asked, and for a script that is not right. */
export async function openModels(flags: Flags, { env, cwd }: Pick<Program, 'env' | 'cwd'>): Promise<Models> {
  if (flags.script !== undefined) return scriptedModels(flags.script, flags, cwd)
  return { ...environmentModels(flags, env), apiKeySource: keySource(env), close: async () => undefined }
}

/** The same models for looking at only: nothing is asked of them, so no key is needed. */
export async function describeModels(
  flags: Flags,
  { env, cwd }: Pick<Program, 'env' | 'cwd'>,
): Promise<Pick<Models, 'model' | 'fallbackModel'>> {
  if (flags.script === undefined) return environmentModels(flags, env, { apiKey: 'not-needed' })
  const models = await scriptedModels(flags.script, flags, cwd)
  await models.close()
  return models
}

function environmentModels(
  flags: Flags,
  env: Program['env'],
  settings: ModelSettings = {},
): Pick<Models, 'model' | 'fallbackModel'> {
  const model = modelFromEnvironment(flags.model, env, settings)
  if (flags.fallbackModel === undefined) return { model }
  return { model, fallbackModel: modelFromEnvironment(flags.fallbackModel, env, settings) }
}

/** A server on this machine that speaks the Messages API, and the adapter for that API against it. */
async function scriptedModels(path: string, flags: Flags, cwd: string): Promise<Models> {
  const { readScript, startScriptedServer } = await import('@halting/models/scripted')
  const script = await readScript(resolve(cwd, path))
  const server = await startScriptedServer(script, { source: path, variables: { cwd } })
  const modelNamed = (name: string): Model => anthropic({ model: name, baseUrl: server.url, apiKey: 'scripted' })
  const model = modelNamed(flags.model ?? script.model ?? 'scripted')
  return {
    model,
    ...(flags.fallbackModel === undefined ? {} : { fallbackModel: modelNamed(flags.fallbackModel) }),
    apiKeySource: 'none',
    close: () => server.close(),
  }
}

function keySource(env: Program['env']): string {
  const names = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'] as const
  return names.find((name) => (env[name]?.trim() ?? '') !== '') ?? 'none'
}
