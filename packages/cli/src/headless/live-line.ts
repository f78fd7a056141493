import type { Output } from '../io/output.ts'
import type { Activity } from './activity.ts'

const redrawMs = 100

/** Shows on the terminal what a run does, ten times a second at most. Call the result to end it. */
export function showActivity(activity: Activity, output: Output): () => void {
  const timer = setInterval(() => output.showLive(activity.line(output.width - 1)), redrawMs)
  // It keeps no program alive.
  timer.unref()
  return () => {
    clearInterval(timer)
    output.showLive('')
  }
}
