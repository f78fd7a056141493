import { taskNewsOf } from '../verification/background.ts'
import { isJsonObject } from '../values/json.ts'
import { after, type Eventually } from '../values/eventually.ts'
import { freshProgress } from '../state/state.ts'
import { unknownOutcome, type ToolResult } from '../tools/tool-result.ts'
import { chargeOf, chargeOfStep, restoreForAgent } from '../request/charge.ts'
import type { OpenBill } from '../run/bill.ts'
import type { Run } from '../run/run.ts'
import { composite, type AskedRecord } from '../request/step-with-questions.ts'
import type { AgentOutcome } from '../run/call.ts'

// Spec R-RES-10b.
/**
 * A subagent on record that the resumed program cannot start again: its tool is gone, or what describes it. What it did is not known to its
 * parent, and what it asked a model is paid.
 */
export function lostAgent(run: Run, name: string): AgentOutcome {
  const steps = run.ports.steps.abandon(run.key(name))
  const { now } = run.spent
  let spent = freshProgress(now)
  const charges = steps.flatMap(chargeOfStep)
  restoreForAgent(run, charges)
  for (const charge of charges) spent = { ...spent, ...chargeOf(spent, charge, 'question') }
  const tasks = steps.flatMap(({ value }) => (isJsonObject(value) ? taskNewsOf(value['tasks']) : []))
  const result = tasks.length === 0 ? unknownOutcome : { ...unknownOutcome, tasks }
  return { result, endedAt: now, spent }
}

/**
 * A call that had asked a model, of a tool that is gone in the resumed program or asks no more. What it came to counts where that is on record;
 * else its outcome is unknown, and what it asked is paid.
 */
export function lostAsking(run: Run, name: string, bill: OpenBill): Eventually<ToolResult> {
  const { steps } = run.ports
  const whole = `${name}/asked`
  if (steps.peek(run.key(whole)) === 'done') {
    const none = (): AskedRecord<ToolResult> => ({ value: unknownOutcome, charges: [], told: [] })
    return after(run.stepBeside<AskedRecord<ToolResult>>(whole, none, composite), ({ value }) => {
      restoreForAgent(run, value.charges)
      bill.addAll(value)
      return value.value
    })
  }
  const charges = steps.abandon(run.key(`${whole}/`)).flatMap(chargeOfStep)
  restoreForAgent(run, charges)
  bill.addAll({ charges, told: [] })
  return unknownOutcome
}
