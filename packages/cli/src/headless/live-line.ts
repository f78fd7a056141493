import type { Output } from '../io/output.ts'
import type { Activity } from './activity.ts'

/** Shows on the terminal what a run does, at the pace of that. Call the result to end it. */
export function showActivity(activity: Activity, output: Output): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  const wait = (): void => {
    // It keeps no program alive.
    timer = setTimeout(draw, activity.paceMs()).unref()
  }
  const draw = (): void => {
    output.showLive(activity.line(output.width - 1))
    wait()
  }
  wait()
  return () => {
    clearTimeout(timer)
    output.showLive('')
  }
}
