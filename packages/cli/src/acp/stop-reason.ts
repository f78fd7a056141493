import type { StopReason } from '@agentclientprotocol/sdk'
import { endings, type Ending, type RunResult } from '@halting/core'
import { endingLimits, limitOfResult, stopOf, type SdkStop } from '@halting/core/adapters'
import { endingMessage } from '../frontends/wait-text.ts'
import { figuresOf } from '../headless/ending.ts'
import { standingBudgetAdvice } from '../headless/limit-advice.ts'
import { authenticationRequired, internalError } from './errors.ts'
import { oneLine } from '../io/figures.ts'
import { limitOptionNames } from './limit-options.ts'

// The only place that knows how an ending is reported by the protocol: by its row.

/** What the answer to a prompt carries beside its stop reason. */
interface StopMeta {
  readonly 'halting/stop': Pick<SdkStop, 'reason' | 'category' | 'message' | 'context' | 'forced'>
  readonly [name: string]: unknown
}

/** How a prompt is answered. */
export type PromptAnswer =
  | { readonly kind: 'stop'; readonly stopReason: StopReason; readonly meta: StopMeta }
  | { readonly kind: 'error'; readonly code: number; readonly message: string; readonly data: object }

/** The answer to the prompt of a run that ended so. `isCancelled`: the client asked for it (spec R-ACP-6). */
export function answerFor(terminal: RunResult, isCancelled: boolean): PromptAnswer {
  const { reason, category, message, context, forced } = stopOf(terminal)
  const { verified } = terminal
  const meta = {
    'halting/stop': { reason, category, message, context, forced },
    ...(verified !== undefined && { 'halting/verified': verified }),
  }
  // The protocol wants `cancelled` after a cancel, whatever else went wrong meanwhile.
  if (isCancelled) return { kind: 'stop', stopReason: 'cancelled', meta }
  const { acp } = endings[terminal.reason]
  if (acp === 'error') {
    const code = isKeyRejected(terminal) ? authenticationRequired : internalError
    return { kind: 'error', code, message: sentenceOf(terminal), data: { stop: meta['halting/stop'] } }
  }
  return { kind: 'stop', stopReason: acp === 'cancelled' ? 'end_turn' : acp, meta }
}

/** A service that refused the key, or had none to look at. */
function isKeyRejected({ reason, error }: RunResult): boolean {
  if (reason !== 'model_error' || error === undefined || !('kind' in error)) return false
  return error.kind === 'authentication_failed'
}

/** What to do next in an editor; '' for nothing. */
function adviceForEditor(terminal: RunResult): string {
  const { advice } = endings[terminal.reason]
  if (typeof advice.editor === 'string') return advice.editor
  const limit = limitOfResult(terminal)
  if (limit === null) return standingBudgetAdvice(terminal)
  if (limit === 'noProgress' || limit === 'maxGoalTries') return ''
  const option = `"${limitOptionNames[limit]}" in the session options`
  return endingLimits[limit].raisedBy === 'continuing'
    ? `To continue, write the next prompt or /continue; ${option} raises the limit.`
    : `Raise ${option}, then enter /continue.`
}

/** One sentence on an ending, its figures, and what to do next: what a person sees in every editor. */
export function sentenceOf(terminal: RunResult): string {
  const message = oneLine(endingMessage(terminal, Date.now()), 500).replace(/[.\s]+$/, '')
  const next = adviceForEditor(terminal)
  return `${terminal.reason}: ${message} (${figuresOf(terminal)}).${next === '' ? '' : ` ${next}`}`
}

export type Severity = 'info' | 'warning' | 'error'

const severities: { readonly [announcement in Ending['announcement']]: Severity } = {
  success: 'info',
  stopped: 'info',
  limited: 'warning',
  paused: 'error',
  interrupted: 'info',
  unanswered: 'warning',
  failed: 'error',
}

/** How loudly an ending is reported; undefined for one that speaks for itself. */
export function severityOf({ reason }: RunResult): Severity | undefined {
  return reason === 'completed' ? undefined : severities[endings[reason].announcement]
}
