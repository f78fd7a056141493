import {
  changeSettingsFile,
  ownSettingsFile,
  settingsFileText,
  settingsTextWith,
  shownSettingsText,
} from '@halting/policy/settings'
import { homeFolder } from '@halting/policy/files'
import { ConfigurationError } from '@halting/core'
import { defaultModelName, withoutAlias } from '@halting/models'
import { type Flags, wantsJson } from '../flags/flags.ts'
import { askLine, isYes } from '../io/ask.ts'
import { oneLine, programMessage } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { priceOfModel } from './model-prices.ts'
import { type RunSettings, settingsFor } from '../flags/session-ports.ts'
import { modelOf } from '@halting/agent/session-settings'
import {
  type ModelChoice,
  modelChoices,
  type SetupFindings,
  namedChoice,
  modelProblem,
  type CurrentModel,
} from './choices.ts'
import { keyFindings } from './keys.ts'
import { localFindings } from './local-models.ts'
import { agentFindings } from './other-agents.ts'
import { choicesText, findingsText, setupJson, type SetupOutcome } from './setup-summary.ts'
import { pageFor } from '../io/page.ts'

/**
 * `halting setup`: searches for keys, local models and settings of other agents, and lets the user select a model.
 * Writes the user settings after showing the changes. Returns 0 if a run can start, otherwise 1 (spec R-SETUP-5).
 */
export async function setup(flags: Flags, program: Program): Promise<number> {
  const { output, env, cwd } = program
  // Settings of a project do not belong to the user.
  const run = await settingsFor({ settingSources: ['user'] }, program)
  const home = homeFolder(env)
  const place = { cwd, env: run.env, home }
  const [local, agents] = await Promise.all([localFindings(run.env), agentFindings(place, run)])
  const found: SetupFindings = { keys: keyFindings(run.env, env), local, agents }
  const current = currentModel(run, found, program)
  if (!wantsJson(flags)) output.out(pageFor(output, findingsText(found, current, home)))
  const choices =
    flags.model === undefined
      ? modelChoices(found, current, run, cwd)
      : [namedChoice(flags.model, found, current, run, cwd)]
  const outcome = await changeSettings(choices, current, run, flags, program)
  if (wantsJson(flags)) output.out(setupJson(found, current, choices, outcome))
  else output.out(pageFor(output, `${outcome.says}\n`))
  return outcome.isReady ? 0 : 1
}

/** The model of a run in a folder without settings. */
function currentModel(
  run: RunSettings,
  { local }: SetupFindings,
  { env: outer, cwd }: Pick<Program, 'env' | 'cwd'>,
): CurrentModel {
  const ofSettings = modelOf(run.settings, run.env)
  const ofEnvironment = run.env['ANTHROPIC_MODEL']?.trim() || undefined
  const model = withoutAlias(ofEnvironment ?? ofSettings ?? defaultModelName)
  const isOuter = (outer['ANTHROPIC_MODEL']?.trim() ?? '') !== ''
  const variable = isOuter ? 'ANTHROPIC_MODEL' : 'ANTHROPIC_MODEL in the settings'
  const from = ofEnvironment !== undefined ? variable : ofSettings !== undefined ? 'the settings' : 'the default'
  const problem = modelProblem(model, run, local, cwd)
  return { model, from, ...(problem !== undefined && { problem }) }
}

/** Shows the changes for a choice, and writes them if the user agrees. */
async function changeSettings(
  choices: readonly ModelChoice[],
  current: CurrentModel,
  { settings }: RunSettings,
  flags: Flags,
  program: Program,
): Promise<SetupOutcome> {
  const isReady = current.problem === undefined
  const [first] = choices
  if (first === undefined)
    return {
      isReady,
      written: false,
      says: 'No usable model was found. Set ANTHROPIC_API_KEY, or start a model on this machine. halting models lists the variables of other services; halting demo needs no key.',
    }
  const isAsked = mayAsk(flags, program)
  const chosen = isAsked ? await chooseOne(choices, program) : first
  if (chosen === undefined) return { isReady, written: false, says: 'No model was chosen, and nothing was written.' }
  if (chosen.values.length === 0)
    return {
      isReady: true,
      written: false,
      chosen,
      says: `A run can start with ${chosen.model}. Nothing needs to be written.${missingPriceText(chosen, settings)}`,
    }
  const path = ownSettingsFile({ ...program, home: homeFolder(program.env) })
  const { text } = await settingsFileText(path)
  const next = settingsTextWith(text, chosen.values)
  const diff = await diffOf(path, text, next)
  const preview: SetupOutcome = { isReady, written: false, chosen, path, diff, says: '' }
  if (next === text) return { ...preview, isReady: true, says: `${oneLine(path, 300)} already has these settings.` }
  if (!wantsJson(flags)) program.output.out(`\n${diff}\n`)
  if (flags.dryRun === true) return { ...preview, says: 'Nothing was written: --dry-run.' }
  const isWanted =
    flags.yes === true || (isAsked && isYes(await askLine('Write these settings? [y/N] ', terminalOf(program))))
  if (!isWanted)
    return {
      ...preview,
      says: `Nothing was written.${isAsked ? '' : ' Add --yes to write it, or --model NAME for another model.'}`,
    }
  await changeSettingsFile(path, (now) => {
    if (now !== text)
      throw new ConfigurationError(
        `${path} was changed by another program meanwhile. Nothing was written; run halting setup again.`,
      )
    return next
  })
  return {
    ...preview,
    isReady: true,
    written: true,
    says: writtenText(path, chosen, current) + missingPriceText(chosen, settings),
  }
}

function writtenText(path: string, { model }: ModelChoice, { from }: CurrentModel): string {
  const writtenLine = `Written: ${oneLine(path, 300)}.`
  return from.startsWith('ANTHROPIC_MODEL')
    ? `${writtenLine} ${from} overrides it: unset it to use ${model}.`
    : `${writtenLine} Runs now use ${model}. Check it with halting doctor.`
}

/** A sentence if the model has no price, so that no dollar budget is possible; otherwise ''. */
function missingPriceText({ model, values }: ModelChoice, settings: RunSettings['settings']): string {
  const isPriced =
    values.some(({ path: [name] }) => name === 'modelPrices') || priceOfModel(model, settings) !== undefined
  return isPriced ? '' : ' Its price is not known: --max-budget-usd needs modelPrices in your settings.'
}

function mayAsk(flags: Flags, { stdin, output }: Program): boolean {
  const isAnswered = flags.yes === true || flags.dryRun === true || wantsJson(flags)
  return !isAnswered && stdin.isTTY && output.isTerminal.stdout && output.isTerminal.stderr
}

function terminalOf({ stdin }: Program): Parameters<typeof askLine>[1] {
  return { stdin, stderr: process.stderr }
}

/** Enter selects the first choice, a number its choice, and anything else none. */
async function chooseOne(choices: readonly ModelChoice[], program: Program): Promise<ModelChoice | undefined> {
  if (choices.length === 1) return choices[0]
  program.output.out(choicesText(choices))
  const answer = await askLine(`Use which model? [1-${choices.length}, Enter for 1, q to quit] `, terminalOf(program))
  if (answer === undefined) return undefined
  if (answer === '') return choices[0]
  const chosen = /^\d{1,4}$/.test(answer) ? choices[Number(answer) - 1] : undefined
  if (chosen === undefined && !/^q/i.test(answer))
    program.output.err(programMessage(`"${oneLine(answer, 40)}" is not one of the choices.`))
  return chosen
}

/** The change of the file as a diff, without values that may be keys. */
async function diffOf(path: string, before: string, after: string): Promise<string> {
  const name = oneLine(path, Infinity)
  const { createTwoFilesPatch, FILE_HEADERS_ONLY } = await import('diff')
  return createTwoFilesPatch(name, name, shownSettingsText(before), shownSettingsText(after), undefined, undefined, {
    context: 3,
    headerOptions: FILE_HEADERS_ONLY,
  }).trimEnd()
}
