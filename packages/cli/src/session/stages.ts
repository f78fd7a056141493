import type { MemoryStagesOptions } from '@halting/agent/memory'
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
    const { promptSuggestion } = await import('@halting/agent/after')
    stages.push(promptSuggestion())
  }
  if (notes) {
    const { memoryStages } = await import('@halting/agent/memory')
    stages.push(...memoryStages(about))
  }
  return stages
}
