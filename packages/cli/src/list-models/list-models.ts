import { ConfigurationError } from '@halting/core'
import { type KnownModel, knownModels, modelAliases, type ModelPrice } from '@halting/models'
import { type Flags, wantsJson } from '../flags/flags.ts'
import { type Style, styleFor } from '../io/style.ts'
import { oneLine } from '../io/figures.ts'
import {
  askableModels,
  firstKeyVariable,
  type ListedAlias,
  listedAliases,
  nearestModel,
} from '@halting/agent/session-settings'
import { type RunSettings, settingsFor } from '../flags/session-ports.ts'
import { priceOfModel } from '../setup/model-prices.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { pageFor } from '../io/page.ts'
import { tableLines } from '../io/table.ts'

/** `halting models [PART]`: lists known models with sizes, prices and where a key was found. Makes no request. */
export async function listModels(flags: Flags, [part]: readonly string[], program: Program): Promise<number> {
  const { output, env } = program
  const run = await readModelSources(flags, program)
  const all = askableModels(run)
  const known = part === undefined ? all : all.filter(({ name }) => name.includes(part.toLowerCase()))
  const aliases = aliasesOf(run).filter(({ name, model }) => matches(part, name, model))
  if (part !== undefined && known.length + aliases.length === 0) {
    const hidden = knownModels().filter(({ name }) => name.includes(part.toLowerCase()))
    if (hidden.length > 0) throw new UsageError(hiddenModelsText(hidden))
    const meant = nearestModel(part)
    throw new UsageError(
      `No known model matches "${part}".${meant === undefined ? '' : ` Did you mean ${meant}?`} halting models lists all models.`,
    )
  }
  const style = styleFor(output.isTerminal.stdout, env)
  output.out(
    wantsJson(flags) ? modelsJson(known, aliases, env) : pageFor(output, modelsText(known, aliases, env, style)),
  )
  return 0
}

/** Says why models are hidden that the configured API does not serve. */
function hiddenModelsText(hidden: readonly KnownModel[]): string {
  const names = hidden.map(({ name }) => name).join(', ')
  return (
    `Only the Responses API serves ${names}, but chat completions are configured. ` +
    'Remove HALTING_OPENAI_API or openaiApi to list and use such models.'
  )
}

function matches(part: string | undefined, ...names: readonly string[]): boolean {
  return part === undefined || names.some((name) => name.toLowerCase().includes(part.toLowerCase()))
}

type ModelSources = Pick<RunSettings, 'settings' | 'env'>

/** Reads the settings that define models. Invalid settings are reported, and only built-in models are listed. */
async function readModelSources(flags: Flags, program: Program): Promise<ModelSources> {
  try {
    return await settingsFor(flags, program)
  } catch (thrown) {
    if (!(thrown instanceof ConfigurationError)) throw thrown
    program.output.err(`Models from your settings are not listed: ${oneLine(thrown.message, Infinity)}\n`)
    return { settings: {}, env: program.env }
  }
}

/** Models of provider packages that the settings name. */
function aliasesOf({ settings }: ModelSources): readonly PricedAlias[] {
  return listedAliases(settings).map((alias) => ({ ...alias, price: priceOfModel(alias.name, settings) }))
}

type PricedAlias = Omit<ListedAlias, 'price'> & { readonly price: ModelPrice | undefined }

function modelsJson(models: readonly KnownModel[], aliases: readonly PricedAlias[], env: Program['env']): string {
  const listedModels = models.map(({ name, contextWindow, maxOutputTokens, price, keyVariables }) => ({
    name,
    contextWindow,
    maxOutputTokens,
    usdPerMillionTokens: price,
    keyVariable: firstKeyVariable(keyVariables, env) ?? null,
  }))
  const ofSettings = aliases.map(({ name, model, contextWindow, maxOutputTokens, price, from }) => ({
    name,
    model,
    contextWindow,
    maxOutputTokens,
    usdPerMillionTokens: price ?? null,
    from,
  }))
  return `${JSON.stringify({ models: listedModels, aliases: modelAliases(), ...(ofSettings.length > 0 && { aiSdk: ofSettings }) })}\n`
}

function modelsText(
  models: readonly KnownModel[],
  ofSettings: readonly PricedAlias[],
  env: Program['env'],
  style: Style,
): string {
  const lines: string[] = []
  const rows = tableLines(
    [
      ...models.map((model) => [model.name, size(model.contextWindow), rates(model)]),
      ...ofSettings.map(({ name, contextWindow, model, price }) => {
        const cost = price === undefined ? 'no price' : `$${price.input} / $${price.output}`
        return [name, size(contextWindow), `${cost}, ${oneLine(model, 300)}`]
      }),
    ],
    { columns: [{}, { align: 'right', min: 5 }, {}] },
  )
  let service: string | undefined
  for (const [index, { name, keyVariables }] of models.entries()) {
    const own = name.includes('/') ? name.slice(0, name.indexOf('/')) : 'anthropic'
    if (own !== service) {
      lines.push(...(service === undefined ? [] : ['']), `${style.bold(own)}  ${style.dim(keyLine(keyVariables, env))}`)
      service = own
    }
    lines.push(rows[index] ?? '')
  }
  if (ofSettings.length > 0) {
    lines.push(...(service === undefined ? [] : ['']), `${style.bold('aiSdk')}  ${style.dim('from your settings')}`)
    lines.push(...rows.slice(models.length))
  }
  const aliases = Object.entries(modelAliases()).map(([alias, name]) => `${alias} is ${name}`)
  return `${lines.join('\n')}\n\n${style.dim(`Name, context window, US dollars per million input and output tokens. ${aliases.join(', ')}.`)}\n`
}

function keyLine(variables: readonly string[], env: Program['env']): string {
  const found = firstKeyVariable(variables, env)
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
