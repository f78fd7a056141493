import { homeFolder } from '@halting/policy/files'
import { wantsJson, type Flags } from '../flags/flags.ts'
import { oneLine, many, money } from '../io/figures.ts'
import { styleFor, type Style } from '../io/style.ts'
import type { Program } from '../program.ts'
import type { Finding, DoctorContext } from './finding.ts'
import { applyEnvironment, sessionPorts, settingsFor, type RunSettings } from '../flags/session-ports.ts'
import { programFindings } from './programs.ts'
import { serviceFindings } from './service.ts'
import { pageFor } from '../io/page.ts'
import { tableLines } from '../io/table.ts'
import { ConfigurationError } from '@halting/core'
import { describeModels, standingNames, noSettings, noPlugins } from '@halting/agent/session-settings'
import type { BudgetReport } from '@halting/agent/budgets'
import { minuteText } from '@halting/analysis/words'
import { messageOf } from '@halting/core/adapters'
import type { FoundFile } from '@halting/policy/settings'

/**
 * `halting doctor`: checks what a run needs, and says how to fix each problem. Asks the service for its list of models,
 * which is free. Returns 0 if a run can start, otherwise 1.
 */
export async function doctor(flags: Flags, program: Program): Promise<number> {
  if (flags.cluster !== undefined) {
    const { clusterFindings } = await import('../cluster/doctor.ts')
    return printReport(await clusterFindings(flags, program), 'The cluster can run sessions.', flags, program)
  }
  const { env, cwd } = program
  const context: DoctorContext = { flags, env, cwd, home: homeFolder(env) }
  const { findings: ofSettings, run } = await settingsFindings(context)
  applyEnvironment(run)
  const withSettings = { ...context, env: run.env }
  const findings = [
    ...(await serviceFindings(withSettings, run.settings)),
    ...(await programFindings(withSettings, run.settings)),
    ...ofSettings,
    ...(await sessionStoreFindings(program)),
    ...(await budgetFindings({ ...program, env: run.env }, run)),
  ]
  return printReport(findings, 'A run can start.', flags, program)
}

function printReport(findings: readonly Finding[], whole: string, flags: Flags, { output, env }: Program): number {
  output.out(
    wantsJson(flags)
      ? `${JSON.stringify({ findings })}\n`
      : pageFor(output, reportText(findings, whole, styleFor(output.isTerminal.stdout, env))),
  )
  return findings.some(({ state }) => state === 'broken') ? 1 : 0
}

const marks = { good: 'ok', note: '--', broken: '!!' } as const

/** The report as text. `whole`: the verdict if nothing is broken. */
function reportText(findings: readonly Finding[], whole: string, style: Style): string {
  const paint = { good: style.green, note: style.yellow, broken: style.red }
  const rows = findings.flatMap(({ what, state, says, todo }) => [
    [{ text: marks[state], style: paint[state] }, what, oneLine(says, Infinity)],
    ...(todo === undefined ? [] : [['', '', oneLine(todo, Infinity)]]),
  ])
  const lines = tableLines(rows, { columns: [{}, {}, {}], indent: 0 })
  const broken = findings.filter(({ state }) => state === 'broken').length
  const verdict = broken === 0 ? whole : 'Fix the items marked !! first.'
  return `${lines.join('\n')}\n\n${verdict}\n`
}

/** If the settings have standing budgets: whether their ledger is usable, and how much is left of the budgets that apply here. */
async function budgetFindings(program: Program, run: RunSettings): Promise<readonly Finding[]> {
  const { budgets } = run.settings
  if (budgets === undefined) return []
  const owner = { cwd: program.cwd, env: program.env }
  const { ledgerTrouble, reportBudgets } = await import('@halting/agent/budgets')
  const { path, trouble } = ledgerTrouble(owner)
  if (trouble !== undefined) return [brokenBudget(trouble, 'Use --ignore-standing-budgets to run without them.')]
  try {
    const ports = sessionPorts(program, run.choices)
    const names = await standingNames(run, await describeModels(run, ports), ports)
    const { budgets: reports } = await reportBudgets(owner, budgets)
    const says = `${many(budgets.length, 'standing budget')}, counted in ${path}`
    return [
      { what: 'budgets', state: 'good', says },
      ...reports.filter(({ name }) => names.includes(name)).map(budgetFinding),
    ]
  } catch (thrown) {
    // The model has no price. Other problems of the model are separate findings.
    return thrown instanceof ConfigurationError ? [brokenBudget(thrown.message)] : []
  }
}

function brokenBudget(says: string, todo?: string): Finding {
  return { what: 'budgets', state: 'broken', says, ...(todo !== undefined && { todo }) }
}

/** Without money left in a budget, no request is made. A budget with a model pattern may not apply to this run. */
function budgetFinding({ name, model, leftUsd, reservedUsd, resetsAt }: BudgetReport): Finding {
  const isUsedUp = leftUsd + reservedUsd <= 0
  const says = `${money(leftUsd)} left of ${oneLine(name, 100)}, resets ${minuteText(resetsAt)}`
  if (!isUsedUp) return { what: 'budgets', state: 'good', says }
  return {
    what: 'budgets',
    state: model === undefined ? 'broken' : 'note',
    says,
    todo: 'Wait until then, raise it in your settings, or use --ignore-standing-budgets.',
  }
}

/** If there is a session store: whether it can be reached. */
async function sessionStoreFindings(program: Program): Promise<readonly Finding[]> {
  const { sessionStore } = program
  if (sessionStore === undefined) return []
  const what = 'session store'
  const { openWorkingCopies } = await import('../session-store/open-store.ts')
  const copies = openWorkingCopies(sessionStore, program)
  try {
    const { length } = await copies.list(program.cwd)
    return [{ what, state: 'good', says: `${sessionStore.name}, ${many(length, 'session')} of this folder` }]
  } catch (thrown) {
    const todo = `${sessionStore.from} names it. Use --session-store files to start without it.`
    return [{ what, state: 'broken', says: messageOf(thrown), todo }]
  } finally {
    await copies.close()
  }
}

/** The settings files, with the settings that apply and those that are ignored. */
async function settingsFindings(
  context: DoctorContext,
): Promise<{ readonly findings: readonly Finding[]; readonly run: RunSettings }> {
  try {
    const run = await settingsFor(context.flags, context)
    const { files, warnings } = run
    if (files.length === 0) {
      return { run, findings: [{ what: 'settings', state: 'good', says: 'no settings files' }] }
    }
    return { run, findings: [...files.map(fileFinding), ...warnings.map(warningFinding)] }
  } catch (thrown) {
    const { flags, env } = context
    return {
      run: { ...noSettings, choices: flags, env, plugins: noPlugins },
      findings: [{ what: 'settings', state: 'broken', says: messageOf(thrown) }],
    }
  }
}

function fileFinding({ name, served, passedOver }: FoundFile): Finding {
  const counts = served.length === 0 ? 'nothing in it applies' : `applies ${served.join(', ')}`
  const ignored = passedOver.length === 0 ? '' : `; ignores ${passedOver.join(', ')}`
  return { what: 'settings', state: passedOver.length === 0 ? 'good' : 'note', says: `${name}: ${counts}${ignored}` }
}

function warningFinding(says: string): Finding {
  return { what: 'settings', state: 'note', says }
}
