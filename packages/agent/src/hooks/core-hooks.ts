import { isDeepStrictEqual } from 'node:util'
import { CallableHook, StopSignal } from '@halting/core'
import type {
  Hook,
  HookContext,
  JsonObject,
  MessageContent,
  StopHook,
  StopHookInput,
  StopHookOutcome,
} from '@halting/core'
import { textOf, withheldByHook } from '@halting/core/adapters'
import type { EventSource } from './run-hook.ts'
import type { HookVerdict } from './verdict.ts'
import { agentFields, batchOf, failureOf, unansweredMessages, promptOf, toolFields, toolResponse } from './inputs.ts'
import { matchedNames, matches } from './matcher.ts'
import type { HookEvent, ShellHook, ShellHookTable } from './settings.ts'
import * as texts from './hook-texts.ts'

/** Calls the hooks of an event and merges their answers; undefined if none applies. */
export type CallEvent = (
  event: HookEvent,
  about: string,
  fields: JsonObject,
  source: EventSource,
) => Promise<HookVerdict | undefined>

export interface CoreHooksOptions {
  readonly hooks: ShellHookTable
  readonly call: CallEvent
  /** How the session began: `startup`, `resume`, `fork`. */
  readonly source: string
  readonly model: string
}

/** Prefix of the ids of hooks created here. These hooks report each of their calls themselves. */
export const settingsHookPrefix = 'settings:'

/** Calls the settings' hooks for an event. Returns the changed context; undefined if nothing changed. */
type Handle = (context: HookContext) => Promise<HookContext | undefined>

/** The hooks of the settings as hooks of core: one per event that has any, in the order of the events. */
export function coreHooks(options: CoreHooksOptions): readonly Hook[] {
  const list = new HookList(options.hooks)
  addPromptHooks(list, options)
  addToolHooks(list, options)
  addCompactionHooks(list, options)
  addFailureHook(list, options)
  return list.hooks
}

/** Hooks of core for the events that have hooks in the settings. */
class HookList {
  readonly hooks: Hook[] = []
  readonly #table: ShellHookTable

  constructor(table: ShellHookTable) {
    this.#table = table
  }

  /** Adds a hook for the event. Does nothing if the settings have no hook for the event. */
  add(event: HookEvent, trigger: Hook['triggers'][number], handle: Handle, name: string = event): void {
    const hooks = this.#table[event] ?? []
    if (hooks.length === 0) return
    const isOnTools = trigger === 'beforeToolUse' || trigger === 'afterToolUse'
    const tools = (tool: string): boolean => hooks.some((hook) => matchesTool(hook, tool))
    const call = async (context: HookContext): Promise<HookContext | void> => handle(context)
    // The run withholds a tool's output until the redacting hooks have seen it.
    const isClosed = trigger === 'afterToolUse' && hooks.some(({ onError }) => onError === 'withhold')
    const onError = isClosed ? { onError: 'withhold' as const } : {}
    const id = `${settingsHookPrefix}${name}`
    this.hooks.push(new CallableHook(call, { id, triggers: [trigger], ...(isOnTools && { tools }), ...onError }))
  }
}

/** The start of the session, prompts of the user, and the start of subagents. */
function addPromptHooks(list: HookList, { call, source, model }: CoreHooksOptions): void {
  let hasStarted = false
  list.add('SessionStart', 'beforeExecution', async (context) => {
    if (hasStarted) return undefined
    hasStarted = true
    return withVerdict(context, 'SessionStart', await call('SessionStart', source, { source, model }, context))
  })
  list.add('UserPromptSubmit', 'beforeExecution', async (context) => {
    const prompt = promptOf(context.state())
    return afterPrompt(context, await call('UserPromptSubmit', '', { prompt }, context))
  })
  const reported = new Set<string>()
  list.add(
    'UserPromptSubmit',
    'beforeInference',
    async (context) => {
      // Prompts of a subagent come from the model, not from the user.
      if (context.agentType !== null) return undefined
      let left = context
      for (const { id, origin, message } of unansweredMessages(context.state())) {
        if (reported.has(id)) continue
        reported.add(id)
        const { content } = message
        const verdict = await call('UserPromptSubmit', '', { prompt: textOf(content) }, context)
        left = afterHandedIn(left, content, origin, verdict) ?? left
      }
      return left === context ? undefined : left
    },
    'UserPromptSubmit:handed-in',
  )
  list.add('SubagentStart', 'beforeAgent', async (context) => {
    const verdict = await call('SubagentStart', context.agentType ?? '', agentFieldsOf(context), context)
    return withVerdict(context, 'SubagentStart', verdict)
  })
}

/** Before and after each tool call, and after all calls of a reply. */
function addToolHooks(list: HookList, { call }: CoreHooksOptions): void {
  list.add('PreToolUse', 'beforeToolUse', async (context) => {
    const { toolCall } = context
    if (toolCall === undefined) return undefined
    const fields = { ...toolFields(toolCall), ...agentFieldsOf(context) }
    return beforeTool(context, await call('PreToolUse', toolCall.name, fields, context))
  })
  for (const event of ['PostToolUse', 'PostToolUseFailure'] as const) {
    list.add(event, 'afterToolUse', async (context) => {
      const { toolCall, toolOutput } = context
      if (toolCall === undefined || toolOutput === undefined) return undefined
      if (toolOutput.isError !== (event === 'PostToolUseFailure')) return undefined
      const { text, durationMs = 0 } = toolOutput
      const outcome: JsonObject = toolOutput.isError
        ? { error: text, is_interrupt: false }
        : { tool_response: toolResponse(toolCall.name, toolCall.input, text), duration_ms: durationMs }
      const fields = { ...toolFields(toolCall), ...outcome, ...agentFieldsOf(context) }
      return afterTool(context, event, await call(event, toolCall.name, fields, context))
    })
  }
  list.add('PostToolBatch', 'afterStep', async (context) => {
    const verdict = await call('PostToolBatch', '', { ...batchOf(context.state()), ...agentFieldsOf(context) }, context)
    // The calls have run: blocking them ends the run before the next request.
    const ended = verdict?.block === undefined ? verdict : { ...verdict, stop: verdict.stop ?? verdict.block }
    return withVerdict(context, 'PostToolBatch', ended)
  })
}

function addCompactionHooks(list: HookList, { call, model }: CoreHooksOptions): void {
  list.add('PreCompact', 'beforeCompact', async (context) => {
    const trigger = triggerOf(context)
    const fields = { trigger, custom_instructions: context.compaction?.instructions ?? '' }
    const verdict = await call('PreCompact', trigger, fields, context)
    const left = withVerdict(context, 'PreCompact', verdict)
    return verdict?.block === undefined ? left : (left ?? context).withBlocked(verdict.block || texts.blockedByHook)
  })
  list.add('PostCompact', 'afterCompact', async (context) => {
    const trigger = triggerOf(context)
    const fields = { trigger, compact_summary: context.compaction?.summary ?? '' }
    return withVerdict(context, 'PostCompact', await call('PostCompact', trigger, fields, context))
  })
  list.add(
    'SessionStart',
    'afterCompact',
    async (context) => {
      const verdict = await call('SessionStart', 'compact', { source: 'compact', model }, context)
      return withVerdict(context, 'SessionStart', verdict)
    },
    'SessionStart:compact',
  )
}

function addFailureHook(list: HookList, { call }: CoreHooksOptions): void {
  list.add('StopFailure', 'onError', async (context) => {
    if (context.error?.source !== 'model' || context.agentType !== null) return undefined
    const { error, details } = failureOf(context)
    const fields = { error, error_details: details }
    return withVerdict(context, 'StopFailure', await call('StopFailure', error, fields, context))
  })
}

/** Hooks at the end of an answer, of the main loop and of subagents. */
export function coreStopHooks({ hooks, call }: Pick<CoreHooksOptions, 'hooks' | 'call'>): readonly StopHook[] {
  const made: StopHook[] = []
  const add = (event: 'Stop' | 'SubagentStop', of: 'run' | 'agents'): void => {
    if ((hooks[event] ?? []).length === 0) return
    made.push({
      id: `${settingsHookPrefix}${event}`,
      of,
      async handle(input) {
        const isAgent = of === 'agents'
        const about = isAgent ? input.querySource : ''
        const { signal } = input.toolUseContext
        const { ask, figures } = input
        const source = ask === undefined ? { signal, figures } : { signal, figures, ask }
        const verdict = await call(event, about, stopFields(input, isAgent), source)
        return verdict === undefined ? undefined : stopOutcome(verdict)
      },
    })
  }
  add('Stop', 'run')
  add('SubagentStop', 'agents')
  return made
}

function stopFields(input: StopHookInput, isAgent: boolean): JsonObject {
  const { stopHookActive, assistantMessages, toolUseContext, querySource } = input
  return {
    stop_hook_active: stopHookActive,
    last_assistant_message: textOf(assistantMessages.at(-1)?.content ?? ''),
    ...agentFields(isAgent ? querySource : null, toolUseContext.agentId),
  }
}

/** Stopping takes precedence over continuing. Context for the model continues the run, like a reason. */
function stopOutcome({ stop, block, contexts, notes }: HookVerdict): StopHookOutcome {
  const systemMessage = notes.join('\n')
  const note = systemMessage === '' ? {} : { systemMessage }
  if (stop !== undefined) return { ...note, prevent: stop || texts.stoppedByHook }
  const reasons = [block ?? '', ...contexts].filter((text) => text.trim() !== '')
  return reasons.length === 0 ? note : { ...note, block: reasons.join('\n') }
}

function agentFieldsOf(context: HookContext): JsonObject {
  return agentFields(context.agentType, context.state().agentId)
}

function triggerOf({ compaction }: HookContext): 'manual' | 'auto' {
  return compaction?.trigger === 'manual' ? 'manual' : 'auto'
}

/**
 * Applies the fields that every event may return: context for the model, notes for the user, and the end of the run.
 */
function withVerdict(
  context: HookContext,
  event: HookEvent,
  verdict: HookVerdict | undefined,
): HookContext | undefined {
  if (verdict === undefined) return undefined
  const { contexts, notes, stop } = verdict
  let state = withNotes(context.state(), notes)
  for (const text of contexts) state = state.withUserMessage(texts.hookContext(event, text))
  if (stop !== undefined) state = state.withStopSignal(stopSignal(stop))
  return state === context.state() ? undefined : context.withState(state)
}

function withNotes(state: ReturnType<HookContext['state']>, notes: readonly string[]) {
  return notes.reduce(
    (left, message) =>
      left.withEntry({
        kind: 'attachment',
        id: `${left.executionId}/hook-note:${left.transcript.length}`,
        attachment: { type: 'informational', message },
      }),
    state,
  )
}

function stopSignal(reason: string): StopSignal {
  return new StopSignal({ reason: 'stop_requested', message: reason || texts.stoppedByHook, source: 'hook' })
}

/** Removes a blocked prompt from the model's messages and ends the run. */
function afterPrompt(context: HookContext, verdict: HookVerdict | undefined): HookContext | undefined {
  if (verdict?.block === undefined) return withVerdict(context, 'UserPromptSubmit', verdict)
  const { block, notes } = verdict
  const before = context.state()
  const erased = { role: 'user', content: texts.promptErased } as const
  const state = before.withMessages([...before.messages().slice(0, -1), erased])
  const why = texts.promptBlocked(block)
  return context.withState(withNotes(state, notes).withStopSignal(stopSignal(why)))
}

/**
 * Removes a blocked message that arrived during the run. The run continues with its earlier task, unless the message
 * was a follow-up that was to start a new one.
 */
function afterHandedIn(
  context: HookContext,
  content: MessageContent,
  origin: 'steer' | 'follow_up',
  verdict: HookVerdict | undefined,
): HookContext | undefined {
  if (verdict?.block === undefined) return withVerdict(context, 'UserPromptSubmit', verdict)
  const { block, notes, stop } = verdict
  const before = context.state()
  const messages = [...before.messages()]
  const at = messages.findLastIndex((message) => message.role === 'user' && isDeepStrictEqual(message.content, content))
  if (at !== -1) messages[at] = { role: 'user', content: texts.promptErased }
  const why = texts.promptBlocked(block)
  const state = withNotes(at === -1 ? before : before.withMessages(messages), [...notes, why])
  const ends = stop ?? (origin === 'follow_up' ? why : undefined)
  return context.withState(ends === undefined ? state : state.withStopSignal(stopSignal(ends)))
}

function beforeTool(context: HookContext, verdict: HookVerdict | undefined): HookContext | undefined {
  if (verdict === undefined) return undefined
  const { permission, permissionReason, updatedInput } = verdict
  let left = withVerdict(context, 'PreToolUse', verdict) ?? context
  if (permission === 'deny') return left.withBlocked(permissionReason)
  if (permission !== undefined) left = left.withPermission(permission)
  return updatedInput === undefined ? left : left.withToolInput(updatedInput)
}

function afterTool(
  context: HookContext,
  event: 'PostToolUse' | 'PostToolUseFailure',
  verdict: HookVerdict | undefined,
): HookContext | undefined {
  if (verdict === undefined) return undefined
  const { block = '', contexts, stop, output, withholds, ...rest } = verdict
  // The call has already run, so blocking means notifying the model.
  const allContexts = block.trim() === '' ? contexts : [block, ...contexts]
  let left = withVerdict(context, event, { ...rest, contexts: allContexts }) ?? context
  if (withholds === true) left = left.withToolOutput(withheldByHook)
  else if (output !== undefined) left = left.withToolOutput(output)
  return stop === undefined ? left : left.withContinuationPrevented(stop || texts.stoppedByHook)
}

/** Whether a hook's matcher matches a tool, under any of its names for matchers. */
function matchesTool({ matcher }: ShellHook, tool: string): boolean {
  return matchedNames(tool).some((name) => matches(matcher, name))
}
