import { homeFolder } from '@halting/policy/files'
import { type Flags, wantsJson } from '../flags/flags.ts'
import { oneLine } from '../io/figures.ts'
import { type Style, styleFor } from '../io/style.ts'
import type { Program } from '../program.ts'
import { budgetFindings } from './budgets.ts'
import { type Finding, type Patient } from './finding.ts'
import { applyEnvironment } from '../flags/session-ports.ts'
import { programFindings } from './programs.ts'
import { sessionStoreFindings } from './session-store.ts'
import { serviceFindings } from './service.ts'
import { settingsFindings } from './settings.ts'
import { pageFor } from '../io/page.ts'

/**
 * `halting doctor`: looks at what a run needs, and says what to do about each thing that is not right. It asks the service
 * which models it has, which costs nothing, and no model. Returns 0 when a run can begin, else 1.
 */
export async function doctor(flags: Flags, program: Program): Promise<number> {
  if (flags.cluster !== undefined) {
    const { clusterFindings } = await import('../cluster/doctor.ts')
    return report(await clusterFindings(flags, program), 'The cluster can run sessions.', flags, program)
  }
  const { env, cwd } = program
  const patient: Patient = { flags, env, cwd, home: homeFolder(env) }
  const { findings: ofSettings, run } = await settingsFindings(patient)
  applyEnvironment(run)
  const treated = { ...patient, env: run.env }
  const findings = [
    ...(await serviceFindings(treated, run.settings)),
    ...(await programFindings(treated, run.settings)),
    ...ofSettings,
    ...(await sessionStoreFindings(program)),
    ...(await budgetFindings({ ...program, env: run.env }, run)),
  ]
  return report(findings, 'A run can start.', flags, program)
}

function report(findings: readonly Finding[], whole: string, flags: Flags, { output, env }: Program): number {
  output.out(
    wantsJson(flags)
      ? `${JSON.stringify({ findings })}\n`
      : pageFor(output, textOf(findings, whole, styleFor(output.isTerminal.stdout, env))),
  )
  return findings.some(({ state }) => state === 'broken') ? 1 : 0
}

const marks = { good: 'ok', note: '--', broken: '!!' } as const

/** `whole`: what is said where nothing is broken. */
function textOf(findings: readonly Finding[], whole: string, style: Style): string {
  const paint = { good: style.green, note: style.yellow, broken: style.red }
  const width = Math.max(...findings.map(({ what }) => what.length))
  // What a service, a file or a program says stays on its own line.
  const line = (text: string): string => oneLine(text, Infinity)
  const lines = findings.flatMap(({ what, state, says, todo }) => [
    `${paint[state](marks[state])}  ${what.padEnd(width)}  ${line(says)}`,
    ...(todo === undefined ? [] : [`${' '.repeat(width + 6)}${line(todo)}`]),
  ])
  const broken = findings.filter(({ state }) => state === 'broken').length
  const verdict = broken === 0 ? whole : 'Fix the items marked !! first.'
  return `${lines.join('\n')}\n\n${verdict}\n`
}
