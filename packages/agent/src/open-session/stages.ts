import type { MemoryStagesOptions } from '../memory/stages.ts'
import type { Stage } from '@halting/core/after'
import type { WantedAfter } from './resolved-options.ts'

// Loaded only if there are stages after runs.

/** The enabled stages in order; they run in parallel. `about`: the source of notes. */
export async function stagesFor(
  { suggestion, notes }: WantedAfter,
  about: MemoryStagesOptions,
): Promise<readonly Stage[]> {
  const stages: Stage[] = []
  if (suggestion) {
    const { promptSuggestion } = await import('../after/index.ts')
    stages.push(promptSuggestion())
  }
  if (notes) {
    const { memoryStages } = await import('../memory/index.ts')
    stages.push(...memoryStages(about))
  }
  return stages
}
