import { contextUsage } from '@halting/core/adapters'
import { type Flags, wantsJson } from '../flags/flags.ts'
import { programMessage } from '../io/figures.ts'
import { styleFor } from '../io/style.ts'
import type { Program } from '../program.ts'
import { agentsOf, briefingOf, queryOptionsOf, openToolbox } from '@halting/agent/open-session'
import { describeModels } from '@halting/agent/session-settings'
import { sessionPorts, settingsFor } from '../flags/session-ports.ts'
import { usageText } from './usage-text.ts'

/** `halting context [PROMPT]`: prints what the next request in this folder puts into the context window. Makes no request and needs no key. */
export async function context(flags: Flags, [prompt]: readonly string[], program: Program): Promise<number> {
  const { output } = program
  const run = await settingsFor(flags, program)
  const { env } = run
  const ports = sessionPorts({ ...program, env }, flags)
  const toolbox = openToolbox(run, ports)
  const models = await describeModels(run, ports)
  for (const warning of models.warnings) output.err(programMessage(warning))
  const briefing = await briefingOf(run, program, toolbox)
  const agents = await agentsOf(run, ports, toolbox, models, briefing)
  for (const warning of agents?.warnings ?? []) output.err(programMessage(warning))
  const options = await queryOptionsOf(run.choices, ports, toolbox, models, briefing, agents)
  const usage = contextUsage(options, prompt === undefined ? {} : { prompt })
  const style = styleFor(output.isTerminal.stdout, env)
  output.out(wantsJson(run.choices) ? `${JSON.stringify(usage)}\n` : usageText(usage, output.width, style))
  return 0
}
