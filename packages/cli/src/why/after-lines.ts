import type { RecordedStage } from '@halting/core/after'
import { costText } from '@halting/analysis/words'
import { counted, elapsed, many, moneyAtMost, oneLine } from '../io/figures.ts'

/** A line for each stage that came after a run. */
export function afterLines(stages: readonly RecordedStage[], columns: number): readonly string[] {
  return stages.map((stage) => `  ${oneLine(`${stage.name}: ${stageText(stage)}`, columns - 2)}`)
}

function stageText({ most, ended }: RecordedStage): string {
  if (ended === null) return `killed before it finished. It may have cost ${moneyAtMost(most.nanos / 1e9)}`
  const { reason, message, turns, tokens, costUsd, committedUsd, durationMs } = ended
  const figures = [
    many(turns, 'turn'),
    `${counted(tokens)} tokens`,
    ...(committedUsd > 0 ? [costText({ costUsd, unknownUsd: Math.round((committedUsd - costUsd) * 1e9) / 1e9 })] : []),
    elapsed(durationMs),
  ]
  return `${reason}, ${figures.join(', ')}${message === '' ? '' : `: ${message}`}`
}
