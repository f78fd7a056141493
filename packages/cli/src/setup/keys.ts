import { defaultModelName, keyVariablesOf } from '@halting/models'
import { firstKeyVariable } from '@halting/agent/session-settings'
import type { Program } from '../program.ts'

/** A variable that contains a key. The value is never printed. */
export interface KeyFinding {
  readonly variable: string
  readonly service: string
  readonly from: 'environment' | 'settings'
  /** A default model of this service. */
  readonly model?: string
  /** Why the key cannot be used here. */
  readonly unused?: string
}

/** A default model for each service; undefined if no model name is likely to last. */
export const defaultModels: Readonly<Record<string, string | undefined>> = {
  anthropic: defaultModelName,
  openai: 'gpt-6.1-sol',
  google: 'google/gemini-pro-latest',
  xai: 'xai/grok-4.7',
  deepseek: 'deepseek/deepseek-v4-pro',
  mistral: 'mistral/devstral-latest',
  moonshotai: 'moonshotai/kimi-k3.1-pro',
  groq: 'groq/openai/gpt-oss-120b',
  openrouter: undefined,
}

/** Key variables of other programs, and what to use instead. */
const otherVariables: Readonly<Record<string, readonly [service: string, why: string]>> = {
  GOOGLE_API_KEY: ['google', 'not read; use GEMINI_API_KEY'],
  CLAUDE_CODE_OAUTH_TOKEN: ['anthropic', 'a login of another program; put an API key in ANTHROPIC_API_KEY'],
  AZURE_OPENAI_API_KEY: ['azure', 'use openai-compatible/NAME with OPENAI_BASE_URL and OPENAI_API_KEY'],
  AWS_BEARER_TOKEN_BEDROCK: ['bedrock', 'not supported; use a gateway with ANTHROPIC_BASE_URL'],
}

/** Keys in the environment, and in `env` of the effective settings (spec R-SETUP-2). */
export function keyFindings(env: Program['env'], outer: Program['env']): readonly KeyFinding[] {
  const isSet = (variable: string, where: Program['env']): boolean => firstKeyVariable([variable], where) !== undefined
  const fromOf = (variable: string): KeyFinding['from'] => (isSet(variable, outer) ? 'environment' : 'settings')
  const used = Object.entries(defaultModels).flatMap(([service, model]) =>
    (keyVariablesOf(model ?? `${service}/any`) ?? [])
      .filter((variable) => isSet(variable, env))
      .map((variable) => ({ variable, service, from: fromOf(variable), ...(model !== undefined && { model }) })),
  )
  const others = Object.entries(otherVariables)
    .filter(([variable]) => isSet(variable, env))
    .map(([variable, [service, unused]]) => ({ variable, service, from: fromOf(variable), unused }))
  return [...used, ...others]
}
