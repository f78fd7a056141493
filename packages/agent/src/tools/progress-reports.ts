import type { Tool, ToolContext } from '@halting/core'
import type { AnyLeafTool } from '@halting/core/adapters'

const defaultEveryMs = 5_000

// Spec R-BACK-9.
/** Wraps a tool so that it reports its elapsed time while it is running: `tool_progress` of the SDK message format. */
export function withProgress<T extends AnyLeafTool | Tool>(tool: T, everyMs: number = defaultEveryMs): T {
  return {
    ...tool,
    async execute(input: never, context: ToolContext) {
      const began = performance.now()
      const report = (): void => context.progress({ elapsedSeconds: Math.round((performance.now() - began) / 1_000) })
      const timer = setInterval(report, everyMs)
      // Does not keep the event loop alive.
      timer.unref()
      try {
        return await tool.execute(input, context)
      } finally {
        clearInterval(timer)
      }
    },
  }
}
