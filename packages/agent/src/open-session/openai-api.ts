import type { ModelSettings } from '@halting/models'
import type { Settings } from '@halting/policy/settings'
import type { Environment } from '../tools/limits.ts'

/** Which API models of OpenAI are asked by, where the settings say so and no variable does. */
export function openAiApiOf({
  settings,
  env,
}: {
  readonly settings: Pick<Settings, 'openaiApi'>
  readonly env: Environment
}): Pick<ModelSettings, 'openai'> {
  const { openaiApi: api } = settings
  const isSaid = (env['HALTING_OPENAI_API']?.trim() ?? '') !== ''
  return api === undefined || isSaid ? {} : { openai: { api } }
}
