import { type Certificate, certificate, type RunOptions } from '@halting/core'
import { durationMs, forecast, triesText, defaultCheckMs, defaultGoalTries } from '@halting/core/adapters'
import type { StageLimits } from '@halting/core/after'
import type { MemoryStagesOptions } from '@halting/agent/memory'
import { type Flags, wantsJson } from '../flags/flags.ts'
import type { FlagLimit } from '../headless/limit-advice.ts'
import { counted, elapsed, many, money, oneLine, programMessage } from '../io/figures.ts'
import { styleFor } from '../io/style.ts'
import type { Program } from '../program.ts'
import {
  stagesFor,
  wantedAfter,
  agentsOf,
  briefingOf,
  goalOptions,
  queryOptionsOf,
  openToolbox,
} from '@halting/agent/open-session'
import { describeModels, standingNames, sessionScope } from '@halting/agent/session-settings'
import { boundsText, helpfulBounds } from './bounds-text.ts'
import { forecastText, type FlagLimits } from './forecast-text.ts'
import { runLimitOfPrint } from '../flags/run-limit.ts'
import { sessionPorts, settingsFor, type RunSettings } from '../flags/session-ports.ts'
import { pageFor } from '../io/page.ts'

/** `halting check`: prints the likely cost and the upper bounds of a run with these flags. Makes no request and needs no key. */
export async function check(flags: Flags, program: Program): Promise<number> {
  const { output } = program
  const run = await settingsFor(flags, program, runLimitOfPrint)
  const { env, settings } = run
  const ports = sessionPorts({ ...program, env }, flags)
  const toolbox = openToolbox(run, ports)
  const models = await describeModels(run, ports)
  for (const warning of models.warnings) output.err(programMessage(warning))
  const briefing = await briefingOf(run, program, toolbox)
  const agents = await agentsOf(run, ports, toolbox, models, briefing)
  for (const warning of agents?.warnings ?? []) output.err(programMessage(warning))
  const goals = await goalOptions(run.choices, settings, toolbox)
  const options = {
    ...(await queryOptionsOf(run.choices, ports, toolbox, models, briefing, agents)),
    ...goals,
    ...pauseOptions(run),
  }
  const standing = await standingNames(run, models, ports)
  const bounds = {
    ...withTokenFlagName(certificate(options)),
    ...(standing.length > 0 && { standingBudgets: standing }),
  }
  const likely = forecast(options)
  const { model, smallModel = model } = models
  const notes = { owner: sessionScope(ports), settings, model: smallModel }
  const after = await afterBounds(run.choices, notes)
  const helpful = helpfulBounds(bounds, { options, forecast: likely, defaults: defaultLimits(run) })
  const { halts, standingBudgets = [], notes: remarks } = bounds
  const sections = [
    forecastText({ ...likely, model: oneLine(models.model.id, 100) }, flagLimits(options)),
    boundsText(helpful, halts, styleFor(output.isTerminal.stdout, env)),
    standingBudgets.length === 0 ? [] : [`Standing budgets also apply: ${standingBudgets.join(', ')}.`],
    ...remarks.map((remark) => [withFlagNames(remark, options)]),
    goalsText(goals),
    after.map(afterText),
  ]
  output.out(
    wantsJson(run.choices)
      ? `${JSON.stringify({ ...bounds, ...helpful, ...goalsJson(goals), forecast: likely, ...waitJson(options), after })}\n`
      : pageFor(
          output,
          `${sections.flatMap((lines) => (lines.length === 0 ? [] : [lines.join('\n')])).join('\n\n')}\n`,
        ),
  )
  return 0
}

/** The library calls the limit `maxTotalTokens`; `halting check` prints `maxTokens`, the name of the flag and of its JSON field. */
function withTokenFlagName(bounds: Certificate): Certificate {
  const { tokens } = bounds
  return { ...bounds, tokens: { ...tokens, because: tokens.because.replace(/^maxTotalTokens\b/, 'maxTokens') } }
}

function flagLimits({ maxBudgetUsd, maxRunUsd, maxTotalTokens }: RunOptions): FlagLimits {
  return { maxBudgetUsd, maxRunUsd, maxTokens: maxTotalTokens }
}

/** Limits that apply by default. */
function defaultLimits({ limitSources = {} }: RunSettings): readonly FlagLimit[] {
  const { maxTurns, maxRunUsd } = limitSources
  return [
    ...(maxTurns === undefined ? (['maxTurns'] as const) : []),
    ...(maxRunUsd === 'default' ? (['maxRunUsd'] as const) : []),
  ]
}

/** Replaces the option names `waitForLimitsMs` and `pauseForMs` with their flags (spec R-SERV-13, R-PAUSE-11c). */
function withFlagNames(remark: string, { waitForLimitsMs = 0, pauseForMs }: RunOptions): string {
  const pause = pauseForMs === undefined ? '--pause-for' : `--pause-for (${elapsed(pauseForMs)})`
  return remark
    .replace('waitForLimitsMs', `--wait-for-limits (${elapsed(waitForLimitsMs)})`)
    .replace('pauseForMs', pause)
}

/** What happens at a limit according to these flags. The setting `onLimit` applies only where somebody can answer. */
function pauseOptions({ choices, settings }: RunSettings): Pick<RunOptions, 'onLimit' | 'pauseForMs'> {
  const { onLimit, pauseFor = settings.pauseFor === undefined ? undefined : durationMs(settings.pauseFor) } = choices
  return { ...(onLimit !== undefined && { onLimit }), ...(pauseFor !== undefined && { pauseForMs: pauseFor }) }
}

function waitJson({ waitForLimitsMs = 0 }: RunOptions): object {
  return waitForLimitsMs === 0 ? {} : { waitForLimitsMs }
}

type Goals = Awaited<ReturnType<typeof goalOptions>>

/** The goals of the run, one line each (spec R-GOAL-66). */
function goalsText({ until = [], maxGoalTries = defaultGoalTries, stopWhenMet, skipIfMet }: Goals): readonly string[] {
  if (until.length === 0) return []
  const lines = until.map(({ name, judged, timeoutMs = defaultCheckMs, stable = 1 }) => {
    const what = judged === true ? 'a model confirms' : 'this exits with 0'
    const passes = stable === 1 ? '' : ` ${stable} times in a row`
    return `  ${what}${passes} (time limit ${elapsed(timeoutMs)}): ${oneLine(name, 200)}`
  })
  const when = [
    ...(skipIfMet === true ? ['Ends at once if this is met before the first request.'] : []),
    ...(stopWhenMet === true ? ['Also checked after each turn that changed something.'] : []),
  ]
  return [`Done when (with at most ${triesText(maxGoalTries)}):`, ...lines, ...when]
}

function goalsJson({ until = [], maxGoalTries = defaultGoalTries }: Goals): object {
  if (until.length === 0) return {}
  const goals = until.map(({ name, judged, timeoutMs = defaultCheckMs, stable = 1 }) => ({
    name,
    ...(judged === true && { judged }),
    timeoutMs,
    stable,
  }))
  return { goals, maxGoalTries }
}

/** The stages that can follow the run, each with its bounds. */
async function afterBounds(flags: Flags, notes: MemoryStagesOptions): Promise<readonly AfterBounds[]> {
  const { settings, owner } = notes
  const wanted = wantedAfter(flags, settings, owner.env)
  if (wanted === undefined) return []
  const { stageLimits } = await import('@halting/core/after')
  const stages = await stagesFor(flags.noSessionPersistence === true ? { ...wanted, notes: false } : wanted, notes)
  return stages.map((stage) => ({ stage: stage.name, ...stageLimits(stage) }))
}

type AfterBounds = { readonly stage: string } & Required<StageLimits>

function afterText({ stage, maxTurns, maxBudgetUsd, maxTotalTokens, maxDurationMs }: AfterBounds): string {
  const bounds = [
    many(maxTurns, 'turn'),
    `${counted(maxTotalTokens)} tokens`,
    money(maxBudgetUsd),
    elapsed(maxDurationMs),
  ].join(', ')
  return `After a completed run: ${stage}, at most ${bounds}, within the budget of the session.`
}
