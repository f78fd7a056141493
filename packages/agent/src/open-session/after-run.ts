import { isBuiltinHook } from '@halting/core/adapters'
import type { RunEvent, Model, QueryEngine, SdkMessage } from '@halting/core'
import { uuidOf } from '@halting/core/adapters'
import { afterRun, type HookCall, HookFigures, type Stage } from '@halting/core/after'

// Loaded where something comes after the run, and only there.

/** What comes after the run of a program: sums of its hooks, and stages. */
export interface AfterTheRun {
  onEvent(event: RunEvent): void
  /** A hook of the settings has ended. */
  readonly called: (call: HookCall) => void
  /** Tells what there is to tell once the result is out. Resolves when all stages have ended, within their bounds. */
  run(engine: QueryEngine, signal: AbortSignal, tell: (message: SdkMessage) => void): Promise<void>
}

export interface AfterOptions {
  readonly stages: readonly Stage[]
  readonly hookSummary: boolean
  /** Asked by stages that name none; that of the session when absent. */
  readonly model: Model | undefined
}

export function openAfter({ stages, hookSummary, model }: AfterOptions): AfterTheRun {
  const hooks = hookSummary ? new HookFigures((id) => !isOfProgram(id)) : undefined
  let runId = ''
  return {
    onEvent(event) {
      if (event.type === 'run_start') ({ runId } = event.run)
      hooks?.onEvent(event)
    },
    called: (call) => hooks?.add(call),
    async run(engine, signal, tell) {
      const { sessionId } = engine
      const summary = hooks?.take(runId)
      const ids = { uuid: uuidOf(`${sessionId}/${runId}/hooks`), session_id: sessionId }
      if (summary !== undefined) tell({ ...summary, ...ids })
      const running = afterRun(engine, stages, { signal, ...(model !== undefined && { model }) })
      for await (const message of running) tell(message)
    },
  }
}

/** Hooks of settings are counted one by one where they are called; those of the program itself are nobody's. */
function isOfProgram(hook: string): boolean {
  return hook.startsWith('settings:') || isBuiltinHook(hook)
}
