import type { ToolContext } from '@halting/core'
import { tailOf } from '@halting/core/adapters'
import type { BoundedOutput } from './bounded-output.ts'

const everyMs = 1_000
const tailCharacters = 1_000

// Spec R-BACK-9a.
/** Tells while a command runs what it wrote last, once a second where there is more: for people to look at. Call the result to end it. */
export function tellingTail(output: BoundedOutput, { progress }: Pick<ToolContext, 'progress'>): () => void {
  const began = performance.now()
  let told = 0
  const timer = setInterval(() => {
    if (output.length === told) return
    told = output.length
    const elapsedSeconds = Math.round((performance.now() - began) / 1_000)
    progress({ elapsedSeconds, tail: tailOf(output.toString(), tailCharacters) })
  }, everyMs)
  // It keeps nothing alive.
  timer.unref()
  return () => clearInterval(timer)
}
