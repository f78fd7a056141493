import { headOf, isJsonObject, wellFormedJson } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import type { HookEnd } from './run-command.ts'
import type { HookEvent } from './settings.ts'
import * as texts from './hook-texts.ts'

/** What one hook wants, read from how it ended (CONVENTIONS of hooks: exit codes and JSON). */
export interface HookAnswer {
  /** Why it blocks what the event is about; '' when it gave no reason. */
  readonly block?: string
  readonly permission?: 'allow' | 'deny' | 'ask' | 'defer'
  readonly permissionReason?: string
  /** Takes the place of the whole input. */
  readonly updatedInput?: JsonObject
  /** For the model. */
  readonly context?: string
  /** Takes the place of the tool's result. */
  readonly output?: string
  /** The run is to stop; the reason is for the person. */
  readonly stop?: string
  /** For the person. */
  readonly systemMessage?: string
  /** PermissionRequest: the decision. */
  readonly request?: {
    readonly behavior: 'allow' | 'deny'
    readonly message?: string
    readonly updatedInput?: JsonObject
    readonly interrupt?: true
  }
  /** What it printed is not told in the stream. */
  readonly suppressOutput?: true
  /** It failed, which decides nothing: for the person. */
  readonly error?: string
  /** It was to redact the result and failed: nobody is shown it, whatever other hooks made of it. */
  readonly withholds?: true
  /** It redacts: its output counts before those of hooks that saw the result as it was. */
  readonly redacts?: true
}

/** The model is shown no more of one hook. */
const contextLimit = 10_000

const nothing: HookAnswer = Object.freeze<HookAnswer>({})

/** Exit code 2 blocks, whatever JSON says. JSON is read at every exit code. Any other code without JSON is an error that decides nothing. */
export function answerOf(event: HookEvent, end: HookEnd): HookAnswer {
  const { kind, exitCode, stdout, stderr } = end
  if (kind === 'timed out') return { error: 'it timed out' }
  if (kind === 'aborted' || kind === 'left') return nothing
  if (kind === 'not held') {
    const why = texts.notConfined(cut(stderr.trim(), 500))
    // A command could see to it that no hook can be held: a guard that did not look lets nothing through.
    return guards.has(event) ? { ...blocking(event, texts.hookNotRun(why), nothing), error: why } : { error: why }
  }
  if (kind === 'threw') return { error: cut(stderr.trim(), 500) || 'it threw' }
  if (kind !== 'exited') return { error: `${kind}: ${cut(stderr.trim(), 500)}` }
  const text = stdout.trim()
  const json = text.startsWith('{') ? parsed(text) : undefined
  if (json === 'too deep') return exitCode === 2 ? blocking(event, stderr.trim(), nothing) : { error: tooDeep }
  const said = json === undefined ? nothing : answerOfJson(event, json)
  if (exitCode === 2) return blocking(event, stderr.trim(), said)
  if (json !== undefined) return said
  if (exitCode !== 0) {
    const why = `exit code ${exitCode}${stderr.trim() === '' ? '' : `: ${cut(stderr.trim(), 500)}`}`
    return { error: end.isHeld === true && isRefusedByTheSandbox(stderr) ? `${why}. ${keptBy(event)}` : why }
  }
  if (plainIsContext.has(event)) return text === '' ? nothing : { context: cut(text, contextLimit) }
  return text.startsWith('{') ? { error: 'its output starts like JSON but is not valid JSON' } : nothing
}

/** What the kernel says of what is read-only or shut in the sandbox, in the words of C, Node and Python. */
function isRefusedByTheSandbox(stderr: string): boolean {
  return /read-only file system|permission denied|operation not permitted|\b(?:EROFS|EACCES|EPERM)\b/i.test(stderr)
}

function keptBy(event: HookEvent): string {
  const open = guards.has(event) ? 'NOT GUARDED: the hook made no decision. The' : 'The'
  return `${open} sandbox may have blocked a file: allow the path in sandbox.filesystem.allowWrite or allowRead, or add the hook to sandbox.excludedCommands`
}

const guards: ReadonlySet<HookEvent> = new Set<HookEvent>([
  'PreToolUse',
  'PermissionRequest',
  'PreSkillShellCommand',
  'UserPromptSubmit',
])

const plainIsContext: ReadonlySet<HookEvent> = new Set<HookEvent>(['UserPromptSubmit', 'SessionStart'])

const tooDeep = 'its JSON output is nested too deeply'
/** What is deeper was made to break readers; it would break whoever writes it down too. */
const maxDepth = 64

function parsed(text: string): JsonObject | 'too deep' | undefined {
  try {
    // JSON.parse gives JSON.
    const value = JSON.parse(text) as Json
    if (isDeeper(value, maxDepth)) return 'too deep'
    const whole = text.includes('\\u') ? wellFormedJson(value) : value
    return isJsonObject(whole) ? whole : undefined
  } catch {
    return undefined
  }
}

function isDeeper(value: Json, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner as Json, levels - 1))
}

function blocking(event: HookEvent, stderr: string, said: HookAnswer): HookAnswer {
  const { stop, systemMessage, context, suppressOutput } = said
  const reason = cut(stderr, contextLimit) || said.block || said.permissionReason || said.request?.message || ''
  const common: HookAnswer = {
    ...(stop !== undefined && { stop }),
    ...(systemMessage !== undefined && { systemMessage }),
    ...(context !== undefined && { context }),
    ...(suppressOutput && { suppressOutput }),
  }
  if (event === 'PreToolUse') return { ...common, permission: 'deny', permissionReason: reason }
  if (event === 'PermissionRequest')
    return { ...common, request: { behavior: 'deny', ...(reason !== '' && { message: reason }) } }
  return { ...common, block: reason }
}

function answerOfJson(event: HookEvent, json: JsonObject): HookAnswer {
  const { reason, stopReason, systemMessage, hookSpecificOutput } = json
  const specific = specificOf(event, hookSpecificOutput)
  const decided = decisionOf(event, json['decision'], textOf(reason) ?? '')
  return {
    ...decided,
    ...(json['continue'] === false && { stop: textOf(stopReason) ?? '' }),
    ...(json['suppressOutput'] === true && { suppressOutput: true }),
    ...(typeof systemMessage === 'string' &&
      systemMessage !== '' && { systemMessage: cut(systemMessage, contextLimit) }),
    ...specific,
    // Of two words in one answer to refuse goes before to allow.
    ...(decided.permission === 'deny' && { permission: 'deny', permissionReason: decided.permissionReason ?? '' }),
    ...(decided.request !== undefined && { request: decided.request }),
  }
}

/** The older words: `block`, and for tools `approve`. */
function decisionOf(event: HookEvent, decision: Json | undefined, reason: string): HookAnswer {
  if (decision === 'block') {
    if (event === 'PreToolUse') return { permission: 'deny', permissionReason: reason }
    if (event === 'PermissionRequest') return { request: { behavior: 'deny', message: reason } }
    return { block: reason }
  }
  if (decision === 'approve' && event === 'PreToolUse') return { permission: 'allow', permissionReason: reason }
  return nothing
}

function specificOf(event: HookEvent, given: Json | undefined): HookAnswer {
  if (given === undefined || given === null) return nothing
  if (!isJsonObject(given)) return { error: 'hookSpecificOutput must be an object' }
  const { hookEventName: name } = given
  if (name !== undefined && name !== event)
    return { error: `hookSpecificOutput is of ${JSON.stringify(name)}, and this is ${event}` }
  const context = textOf(given['additionalContext'])
  return {
    ...(context !== undefined && context.trim() !== '' && { context }),
    ...(event === 'PreToolUse' && preToolUse(given)),
    ...(event === 'PreSkillShellCommand' && preSkillShellCommand(given)),
    ...(event === 'PermissionRequest' && permissionRequest(given['decision'])),
    ...((event === 'PostToolUse' || event === 'PostToolUseFailure') &&
      given['updatedToolOutput'] !== undefined && { output: asText(given['updatedToolOutput']) }),
  }
}

function preToolUse({ permissionDecision, permissionDecisionReason, updatedInput }: JsonObject): HookAnswer {
  const reason = textOf(permissionDecisionReason)
  const isWrong = isNoInput(updatedInput)
  const decided =
    permissionDecision === undefined || permissionDecision === null ? undefined : permissionOf(permissionDecision)
  // It allowed another input than the one that there is.
  const permission = isWrong && decided === 'allow' ? 'ask' : decided
  return {
    ...(permission !== undefined && { permission }),
    ...(reason !== undefined && { permissionReason: reason }),
    ...(updatedInput !== undefined && isJsonObject(updatedInput) && { updatedInput }),
    ...(isKnown(permissionDecision) ? {} : { error: 'permissionDecision must be allow, deny, ask or defer' }),
    ...(isWrong && { error: 'updatedInput must be an object, the whole input' }),
  }
}

/** It can refuse, and change nothing: an input that it changes is refused, too. */
function preSkillShellCommand(given: JsonObject): HookAnswer {
  const { permission, permissionReason, error } = preToolUse({ ...given, updatedInput: null })
  const changes = (given['updatedInput'] ?? undefined) !== undefined
  if (!changes && (permission === undefined || permission === 'allow')) return nothing
  const reason = permissionReason ?? (changes ? texts.inputNotChangeable : '')
  return { block: reason, ...(error !== undefined && { error }) }
}

function isNoInput(given: Json | undefined): boolean {
  return given !== undefined && given !== null && !isJsonObject(given)
}

function isKnown(permission: Json | undefined): boolean {
  return permission === undefined || permission === null || permission === 'ask' || permissionOf(permission) !== 'ask'
}

/** A permission that is none has a person asked. */
function permissionOf(given: Json): NonNullable<HookAnswer['permission']> {
  return given === 'allow' || given === 'deny' || given === 'defer' ? given : 'ask'
}

const fieldsOfDecision: ReadonlySet<string> = new Set([
  'behavior',
  'updatedInput',
  'updatedPermissions',
  'message',
  'interrupt',
])

function permissionRequest(decision: Json | undefined): HookAnswer {
  if (decision === undefined || decision === null) return nothing
  if (!isJsonObject(decision)) return { error: 'decision must be an object with a behavior' }
  const { behavior, updatedInput, interrupt } = decision
  if (behavior !== 'allow' && behavior !== 'deny') return { error: 'decision.behavior must be allow or deny' }
  // It may have been meant to change the input.
  const stranger = Object.keys(decision).find((field) => !fieldsOfDecision.has(field))
  if (behavior === 'allow' && stranger !== undefined)
    return { error: `decision has the field ${stranger}: another input is updatedInput` }
  if (behavior === 'allow' && isNoInput(updatedInput))
    return { error: 'decision.updatedInput must be an object, the whole input' }
  const message = textOf(decision['message'])
  return {
    request: {
      behavior,
      ...(message !== undefined && { message }),
      ...(updatedInput !== undefined && isJsonObject(updatedInput) && { updatedInput }),
      ...(interrupt === true && { interrupt }),
    },
  }
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' ? cut(value, contextLimit) : undefined
}

function asText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function cut(text: string, limit: number): string {
  return text.length <= limit ? text : `${headOf(text, limit - texts.textCut.length)}${texts.textCut}`
}
