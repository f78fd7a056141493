import { type KnownModel, modelAliases } from '@halting/models'
import { type Flags, wantsJson } from '../flags/flags.ts'
import { settingsFor } from '../flags/session-ports.ts'
import { type Style, styleFor } from '../io/style.ts'
import { askableModels, keyFound, nearestModel } from '@halting/agent/session-settings'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'

/** `halting models [PART]`: the models that are known, with sizes, prices and where a key is found. Asks nobody. */
export async function listModels(flags: Flags, [part]: readonly string[], program: Program): Promise<number> {
  const { output, env } = program
  const all = askableModels(await settingsFor(flags, program))
  const wanted = part === undefined ? all : all.filter(({ name }) => name.includes(part.toLowerCase()))
  if (part !== undefined && wanted.length === 0) {
    const meant = nearestModel(part)
    throw new UsageError(
      `No known model has "${part}" in its name.${meant === undefined ? '' : ` Did you mean ${meant}?`} halting models lists all.`,
    )
  }
  output.out(wantsJson(flags) ? jsonOf(wanted, env) : textOf(wanted, env, styleFor(output.isTerminal.stdout, env)))
  return 0
}

function jsonOf(models: readonly KnownModel[], env: Program['env']): string {
  const told = models.map(({ name, contextWindow, maxOutputTokens, price, keyVariables }) => ({
    name,
    contextWindow,
    maxOutputTokens,
    usdPerMillionTokens: price,
    keyVariable: keyFound(keyVariables, env) ?? null,
  }))
  return `${JSON.stringify({ models: told, aliases: modelAliases() })}\n`
}

function textOf(models: readonly KnownModel[], env: Program['env'], style: Style): string {
  const lines: string[] = []
  const width = Math.max(...models.map(({ name }) => name.length))
  let service: string | undefined
  for (const model of models) {
    const { name, keyVariables } = model
    const own = name.includes('/') ? name.slice(0, name.indexOf('/')) : 'anthropic'
    if (own !== service) {
      lines.push(...(service === undefined ? [] : ['']), `${style.bold(own)}  ${style.dim(keyLine(keyVariables, env))}`)
      service = own
    }
    lines.push(`  ${name.padEnd(width)}  ${size(model.contextWindow).padStart(5)}  ${rates(model)}`)
  }
  const aliases = Object.entries(modelAliases()).map(([alias, name]) => `${alias} is ${name}`)
  return `${lines.join('\n')}\n\n${style.dim(`Name, context window, dollars a million tokens in and out. ${aliases.join(', ')}.`)}\n`
}

function keyLine(variables: readonly string[], env: Program['env']): string {
  const found = keyFound(variables, env)
  if (found !== undefined) return `key from ${found}`
  return variables.length === 0 ? 'needs no key' : `no key: set ${variables.join(' or ')}`
}

function size(tokens: number): string {
  return tokens >= 1_000_000 ? `${+(tokens / 1_000_000).toFixed(1)}M` : `${Math.round(tokens / 1_000)}k`
}

function rates({ price }: KnownModel): string {
  const tiers = price.tiers?.length === undefined || price.tiers.length === 0 ? '' : ', more for long prompts'
  return `$${price.input} / $${price.output}${tiers}`
}
