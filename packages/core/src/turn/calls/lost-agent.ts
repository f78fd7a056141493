import { isJsonObject } from '../../json.ts'
import { freshProgress } from '../../state.ts'
import type { AbandonedStep } from '../../steps/steps.ts'
import { unknownOutcome } from '../../tools/tool-result.ts'
import { chargeOf, type Charge } from '../request/charge.ts'
import type { Run } from '../run.ts'
import type { AgentOutcome } from './call.ts'

/**
 * A subagent on record that the resumed program cannot start again: its tool is gone, or what describes it. What it did is not known to its
 * parent, and what it asked a model is paid (spec R-RES-10b).
 */
export function lostAgent(run: Run, name: string): AgentOutcome {
  const steps = run.ports.steps.abandon(run.key(name))
  const { now } = run.spent
  let spent = freshProgress(now)
  for (const charge of steps.flatMap(chargeOfStep)) spent = { ...spent, ...chargeOf(spent, charge, 'question') }
  return { result: unknownOutcome, endedAt: now, spent }
}

/** An open request is charged at its reservation, as everywhere (R-RES-5). */
function chargeOfStep({ isDone, value }: AbandonedStep): readonly Charge[] {
  if (!isJsonObject(value)) return []
  if (isDone) {
    // Where a step has a charge it is what an attempt was charged.
    return isJsonObject(value['charge']) ? [value['charge'] as unknown as Charge] : []
  }
  const { granted, model, nanos, tokens } = value
  if (granted !== true || typeof model !== 'string') return []
  return [{ model, nanos: Number(nanos), tokens: Number(tokens), known: false, usage: null }]
}
