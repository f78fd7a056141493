import type { SdkMessage } from '@halting/core'
import { elapsed, many, money, oneLine } from '../io/figures.ts'

/** The lines about a message after the run; none if it succeeded and has nothing to report. */
export function afterLines(message: SdkMessage, isVerbose: boolean): readonly string[] {
  if (message.type === 'prompt_suggestion') return [`Next: ${oneLine(message.suggestion, Infinity)}`]
  if (message.type !== 'system') return []
  if (message.subtype === 'stage_ended') {
    const { stage, reason, message: detail, cost_usd: costUsd, duration_ms: ms } = message
    const isFine = reason === 'completed' || reason === 'skipped'
    if (isFine && !isVerbose) return []
    const cost = costUsd > 0 ? `, ${money(costUsd)}` : ''
    return [
      `halting: ${stage} after the run: ${reason}${detail === '' ? '' : `: ${oneLine(detail, 500)}`} (${elapsed(ms)}${cost})`,
    ]
  }
  if (message.subtype !== 'hook_summary') return []
  return [
    'Hooks of this run:',
    ...message.hooks.map(
      ({ hook_name: name, hook_event: event, count, total_ms: ms, longest_ms: longest, decisions }) => {
        const decided = Object.entries(decisions).map(([decision, times]) => `${times} ${decision}`)
        const most = count > 1 ? `, at most ${elapsed(longest)}` : ''
        return `  ${event}  ${oneLine(name, 60)}  ${many(count, 'call')}, ${elapsed(ms)}${most}: ${decided.join(', ')}`
      },
    ),
  ]
}
