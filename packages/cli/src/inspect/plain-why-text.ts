import type { RunExplanation } from '@halting/analysis/why'
import { styleFor } from '../io/style.ts'
import { whyText } from '../why/why-text.ts'

const columns = 80

/** The output of `halting why` for a run, without colors. */
export function plainWhyText(explanation: RunExplanation): string {
  return whyText(explanation, columns, styleFor(false, {}))
}
