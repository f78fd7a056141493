import { isBuiltinHook } from '@halting/core/adapters'
import type { RunEvent, Model, QueryEngine, SdkMessage } from '@halting/core'
import { uuidOf } from '@halting/core/adapters'
import { afterRun, type HookCall, HookFigures, type Stage } from '@halting/core/after'

// Loaded only if there are stages or hook statistics.

/** What happens after a run of the program: statistics of its hooks, and stages. */
export interface AfterTheRun {
  onEvent(event: RunEvent): void
  /** Records that a hook of the settings has ended. */
  readonly called: (call: HookCall) => void
  /** Emits messages after the result. Resolves when all stages have ended, within their limits. */
  run(engine: QueryEngine, signal: AbortSignal, emit: (message: SdkMessage) => void): Promise<void>
}

export interface AfterOptions {
  readonly stages: readonly Stage[]
  readonly hookSummary: boolean
  /** The model for stages that name no model (default: the model of the session). */
  readonly model: Model | undefined
}

export function openAfter({ stages, hookSummary, model }: AfterOptions): AfterTheRun {
  const hooks = hookSummary ? new HookFigures((id) => !isUncounted(id)) : undefined
  let runId = ''
  return {
    onEvent(event) {
      if (event.type === 'run_start') ({ runId } = event.run)
      hooks?.onEvent(event)
    },
    called: (call) => hooks?.add(call),
    async run(engine, signal, emit) {
      const { sessionId } = engine
      const summary = hooks?.take(runId)
      const ids = { uuid: uuidOf(`${sessionId}/${runId}/hooks`), session_id: sessionId }
      if (summary !== undefined) emit({ ...summary, ...ids })
      const running = afterRun(engine, stages, { signal, ...(model !== undefined && { model }) })
      for await (const message of running) emit(message)
    },
  }
}

/**
 * Whether a hook is counted elsewhere or not at all: hooks of settings are counted where they are called, and built-in
 * hooks are not counted.
 */
function isUncounted(hook: string): boolean {
  return hook.startsWith('settings:') || isBuiltinHook(hook)
}
