import type { MemoryStagesOptions } from '../memory/stages.ts'
import type { Stage } from '@halting/core/after'
import type { WantedAfter } from './after.ts'

// Loaded where something comes after the run, and only there.

/** The stages that are on, in their order. They run beside each other. `about` is what notes are made of. */
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
