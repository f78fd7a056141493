import type { MemoryPlace } from '@halting/agent'
import { type DreamEnd, dreamStage } from '@halting/agent/memory'
import { runStages, type StageReport } from '@halting/core/after'
import { programMessage } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { watchInterruption } from '../headless/interruption.ts'
import { openModels, standingOptions, sessionScope } from '@halting/agent/session-settings'
import { sessionPorts, type RunSettings } from '../flags/session-ports.ts'

/** Consolidates the notes once, with the small model if there is one. `end` is undefined if a limit ended it first. */
export async function dreamOnce(
  run: RunSettings,
  place: MemoryPlace,
  program: Program,
): Promise<{ readonly end: DreamEnd | undefined; readonly report: StageReport; readonly exitCode: number }> {
  const { choices, env } = run
  const ports = sessionPorts(program, choices)
  const models = await openModels(run, ports)
  for (const warning of models.warnings) program.output.err(programMessage(warning))
  const { prices, model, smallModel = model } = models
  const interruption = watchInterruption(program.output)
  let end: DreamEnd | undefined
  try {
    const stage = dreamStage({
      owner: sessionScope({ ...program, env }),
      place,
      when: 'whenever',
      onEnd: (ended) => void (end = ended),
    })
    const standing = await standingOptions(run, models, { ...ports, sessionId: 'memory' })
    const { ended } = runStages([stage], {
      ...standing,
      model: smallModel,
      prices,
      sessionId: 'memory',
      signal: interruption.signal,
      ...(choices.maxBudgetUsd !== undefined && { maxBudgetUsd: choices.maxBudgetUsd }),
    })
    const [report] = await ended
    if (report === undefined) throw new Error('The dream ended without a report. Please report this.')
    return { end, report, exitCode: interruption.exitCode ?? 1 }
  } finally {
    interruption.release()
    await models.close()
  }
}
