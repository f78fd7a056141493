import { contextUsage } from '@halting/core/adapters'
import { type Flags, wantsJson } from '../flags/flags.ts'
import { told } from '../io/figures.ts'
import { styleFor } from '../io/style.ts'
import type { Program } from '../program.ts'
import { agentsOf } from '../session/agents.ts'
import { briefingOf } from '../session/briefing.ts'
import { describeModels } from '../session/models.ts'
import { queryOptionsOf } from '../session/options.ts'
import { settingsFor } from '../session/run-settings.ts'
import { openToolbox } from '../session/toolbox.ts'
import { usageText } from './usage-text.ts'

/** `halting context [PROMPT]`: what fills the window with the next request in this folder, with these flags. Asks nobody, needs no key. */
export async function context(given: Flags, [prompt]: readonly string[], program: Program): Promise<number> {
  const { output, cwd } = program
  const run = await settingsFor(given, program)
  const { flags, env, settings } = run
  const toolbox = openToolbox(flags, cwd, env, settings)
  const models = await describeModels(run, cwd)
  for (const warning of models.warnings) output.err(told(warning))
  const briefing = await briefingOf(run, program, toolbox)
  const agents = await agentsOf(run, program, toolbox, models, briefing)
  for (const warning of agents?.warnings ?? []) output.err(told(warning))
  const options = await queryOptionsOf(flags, { env, cwd }, toolbox, models, briefing, agents)
  const usage = contextUsage(options, prompt === undefined ? {} : { prompt })
  const style = styleFor(output.isTerminal.stdout, env)
  output.out(wantsJson(flags) ? `${JSON.stringify(usage)}\n` : usageText(usage, output.width, style))
  return 0
}
