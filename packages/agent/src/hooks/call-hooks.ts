import { randomUUID } from 'node:crypto'
import type { Json, JsonObject } from '@halting/core'
import type { HookCall } from '@halting/core/after'
import { answerOf, type HookAnswer } from './hook-answer.ts'
import type { HookEnd } from './run-command.ts'
import { runHook, type EventSource, type HookSurroundings } from './run-hook.ts'
import { matchedNames, matches } from './matcher.ts'
import type { HookEvent, ShellHook, ShellHookTable } from './settings.ts'
import { verdictOf, type HookVerdict } from './verdict.ts'

/** Progress of one hook in the event stream. */
export type HookLine = {
  /** Id of this call of the hook. */
  readonly hook_id: string
  /** Name of the hook. */
  readonly hook_name: string
  /** The event. */
  readonly hook_event: HookEvent
} & (
  | { readonly subtype: 'hook_started' }
  | {
      readonly subtype: 'hook_progress'
      /** The hook's stdout so far. */
      readonly stdout: string
      /** The hook's stderr so far. */
      readonly stderr: string
      /** Stdout and stderr, in the order in which they were written. */
      readonly output: string
    }
  | {
      readonly subtype: 'hook_response'
      /** The hook's stdout. */
      readonly stdout: string
      /** The hook's stderr. */
      readonly stderr: string
      /** Stdout and stderr, in the order in which they were written. */
      readonly output: string
      /** Exit code of a command; absent for other hooks. */
      readonly exit_code?: number
      /** The outcome of the hook. */
      readonly outcome: 'success' | 'error' | 'cancelled'
    }
)

export interface EventCall {
  readonly event: HookEvent
  /** The value that matchers are compared with: the tool, the source or the trigger. */
  readonly about: string
  readonly input: JsonObject
  readonly source: EventSource
}

export interface Callers extends HookSurroundings {
  readonly hooks: ShellHookTable
  emit(line: HookLine): void
  /** Called for each finished hook, for statistics. */
  called(call: HookCall): void
  /** Called with a background hook that continues to run. Its promise resolves with notes for the user. */
  runInBackground(running: Promise<readonly string[]>): void
  /** Aborted when the session is over. */
  readonly over: AbortSignal
  /** Hooks with `once` that have run. */
  readonly finishedOnce: Set<ShellHook>
}

/** Returns the hooks to call for an event: those whose matcher matches, without duplicates. */
export function hooksFor(
  hooks: ShellHookTable,
  event: HookEvent,
  about: string,
  toolInput: unknown = null,
): readonly ShellHook[] {
  const found = new Map<string, ShellHook>()
  const names = matchedNames(about, toolInput)
  for (const hook of hooks[event] ?? []) {
    if (!names.some((name) => matches(hook.matcher, name))) continue
    const identity = JSON.stringify([hook.pluginRoot ?? null, identityOf(hook)])
    const same = found.get(identity)
    found.set(identity, same === undefined ? hook : stricter(same, hook))
  }
  return [...found.values()]
}

function identityOf(hook: ShellHook): Json {
  switch (hook.type) {
    case 'command':
      return [hook.command]
    case 'http':
      return [hook.url, hook.headers]
    case 'prompt':
      return { prompt: hook.prompt }
    case 'callback':
      return { callback: hook.id }
  }
}

/** Of two identical hooks, the stricter one applies: a second file must not weaken a guard. */
function stricter(one: ShellHook, other: ShellHook): ShellHook {
  if (one.onError !== other.onError) return one.onError === undefined ? other : one
  if (one.async !== other.async) return one.async ? other : one
  if (one.once !== other.once) return one.once === true ? other : one
  return other.timeoutMs > one.timeoutMs ? other : one
}

/** Calls the hooks of an event in parallel and merges their answers. Undefined if there are none. */
export async function callHooks(call: EventCall, callers: Callers): Promise<HookVerdict | undefined> {
  const { event, about, input } = call
  const hooks = hooksFor(callers.hooks, event, about, input['tool_input'] ?? null).filter(
    (hook) => !callers.finishedOnce.has(hook),
  )
  for (const hook of hooks) if (hook.once === true) callers.finishedOnce.add(hook)
  if (hooks.length === 0) return undefined
  const answers = await Promise.all(hooks.map((hook) => callOne(hook, call, callers)))
  const verdict = verdictOf(answers)
  const errors = answers.flatMap(({ error }, index) =>
    error === undefined ? [] : [failureNote(event, hooks[index], error)],
  )
  return errors.length === 0 ? verdict : { ...verdict, notes: [...verdict.notes, ...errors] }
}

function failureNote(event: HookEvent, hook: ShellHook | undefined, error: string): string {
  return `A ${event} hook failed (${hook === undefined ? '' : shortName(hook)}): ${error.replace(/\.$/, '')}.`
}

function shortName(hook: ShellHook): string {
  const text = nameOf(hook)
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}

function nameOf(hook: ShellHook): string {
  switch (hook.type) {
    case 'command':
      return hook.command
    case 'http':
      return hook.url
    case 'prompt':
      return 'prompt'
    case 'callback':
      return hook.id
  }
}

async function callOne(
  hook: ShellHook,
  { event, about, input, source }: EventCall,
  callers: Callers,
): Promise<HookAnswer> {
  const base = { hook_id: randomUUID(), hook_name: about === '' ? event : `${event}:${about}`, hook_event: event }
  callers.emit({ subtype: 'hook_started', ...base })
  const onProgress = (stdout: string, stderr: string): void => {
    // The early output of the hook may contain the result that it should redact.
    if (hook.onError === 'withhold') return
    callers.emit({ subtype: 'hook_progress', ...base, ...outputOf(stdout, stderr) })
  }
  // A background hook ends at its timeout or with the session, not with its caller. The run does not wait for the
  // hook, so the hook may not ask a model through the run.
  const by = hook.async ? { signal: callers.over } : source
  const beganAt = performance.now()
  const running = runHook({ hook, input, source: by, onProgress }, callers).then((end) => {
    const answer = answerOfHook(event, hook, end)
    const reported = answer.withholds === true ? { ...end, stdout: '', stderr: '' } : end
    callers.emit({ subtype: 'hook_response', ...base, ...responseOf(reported, answer) })
    const durationMs = Math.round(performance.now() - beganAt)
    callers.called({ hook: shortName(hook), event, durationMs, decisions: decisionsOf(end, answer) })
    return answer
  })
  if (!hook.async) return running
  callers.runInBackground(
    running.then(({ error, systemMessage }) => [
      ...(systemMessage === undefined ? [] : [systemMessage]),
      ...(error === undefined ? [] : [failureNote(event, hook, error)]),
    ]),
  )
  return {}
}

/**
 * Returns the answer of a guard: a failed guard, or a missing answer, blocks the event. An event that is already over
 * cannot be blocked.
 */
function answerOfHook(event: HookEvent, hook: ShellHook, end: HookEnd): HookAnswer {
  const answer = answerOf(event, end)
  if (hook.onError === 'withhold') return redactingAnswer(end, answer)
  // No model is available for this event, so such a guard would never take effect.
  const isUnasked = hook.type === 'prompt' && event === 'PreSkillShellCommand'
  const isClosed =
    hook.type === 'callback' && hook.onFailure === 'block' && event !== 'Stop' && event !== 'SubagentStop'
  const isGuard = isClosed || isUnasked
  if (!isGuard || answer.error === undefined) return answer
  const stderr = `A hook failed: ${answer.error}`
  return { ...answerOf(event, { kind: 'exited', exitCode: 2, stdout: '', stderr }), error: answer.error }
}

/**
 * Returns the answer of a redacting hook. If the hook failed, or was ended before it completed, the result is
 * withheld. The hook's own message may quote the result.
 */
function redactingAnswer({ kind, exitCode, stdout }: HookEnd, answer: HookAnswer): HookAnswer {
  // The answer may follow a warning of the hook's interpreter. Invalid JSON is already an error.
  const isUnreadable = stdout.trim() !== '' && !stdout.trimStart().startsWith('{')
  const hasAnswer = exitCode === 0 ? !isUnreadable : answer.output !== undefined
  if (kind === 'exited' && answer.error === undefined && hasAnswer) return { ...answer, redacts: true }
  const how = kind === 'exited' && exitCode !== 0 ? `exit code ${exitCode}` : kind === 'exited' ? 'no answer' : kind
  return {
    error: `${how}. It redacts results, so the result is withheld, and its output is not shown`,
    withholds: true,
  }
}

/** Returns the decisions of a hook, one word each. */
function decisionsOf({ kind }: HookEnd, answer: HookAnswer): readonly string[] {
  const { block, permission, request, stop, updatedInput, output, context, error } = answer
  return [
    ...(permission === undefined ? [] : [permission]),
    ...(request === undefined ? [] : [request.behavior]),
    ...(block === undefined ? [] : ['block']),
    ...(stop === undefined ? [] : ['stop']),
    ...(updatedInput === undefined ? [] : ['changed input']),
    ...(output === undefined ? [] : ['changed output']),
    ...(context === undefined ? [] : ['context']),
    ...(error === undefined ? [] : ['error']),
    ...(kind === 'timed out' || kind === 'aborted' ? [kind] : []),
  ]
}

const reportedCharacters = 10_000

function outputOf(stdout: string, stderr: string) {
  const [out, err] = [stdout.slice(0, reportedCharacters), stderr.slice(0, reportedCharacters)]
  return { stdout: out, stderr: err, output: out + err }
}

function responseOf({ kind, exitCode, stdout, stderr }: HookEnd, { error, suppressOutput }: HookAnswer) {
  const isFine = kind === 'left' || (kind === 'exited' && error === undefined && exitCode !== 2)
  return {
    ...outputOf(suppressOutput === true ? '' : stdout, stderr),
    ...(exitCode !== null && { exit_code: exitCode }),
    outcome: kind === 'aborted' || kind === 'timed out' ? 'cancelled' : isFine ? 'success' : 'error',
  } as const
}
