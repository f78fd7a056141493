import { headOf, isJsonObject, wellFormedJson } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import type { HookEnd } from './run-command.ts'
import type { HookEvent } from './settings.ts'
import * as texts from './hook-texts.ts'

/** The decision of one hook, read from its exit code and JSON output. */
export interface HookAnswer {
  /** The hook's reason for blocking the event; '' without a reason. */
  readonly block?: string
  readonly permission?: 'allow' | 'deny' | 'ask' | 'defer'
  readonly permissionReason?: string
  /** Replaces the whole input. */
  readonly updatedInput?: JsonObject
  /** Context for the model. */
  readonly context?: string
  /** Replaces the tool's result. */
  readonly output?: string
  /** The reason to stop the run, for the user. */
  readonly stop?: string
  /** A message for the user. */
  readonly systemMessage?: string
  /** The decision on a PermissionRequest. */
  readonly request?: {
    readonly behavior: 'allow' | 'deny'
    readonly message?: string
    readonly updatedInput?: JsonObject
    readonly interrupt?: true
  }
  /** The hook's output is omitted from the stream. */
  readonly suppressOutput?: true
  /** The hook failed, which decides nothing. Contains the error for the user. */
  readonly error?: string
  /** The hook should have redacted the result and failed: the result is withheld, whatever other hooks return. */
  readonly withholds?: true
  /** The hook redacts: its output takes precedence over that of hooks that received the unredacted result. */
  readonly redacts?: true
}

/** Maximum characters of context from one hook. */
const contextLimit = 10_000

const nothing: HookAnswer = Object.freeze<HookAnswer>({})

/**
 * Exit code 2 blocks, whatever the JSON says. JSON is read at every exit code. Any other code without JSON is an error
 * that decides nothing.
 */
export function answerOf(event: HookEvent, end: HookEnd): HookAnswer {
  const { kind, exitCode, stdout, stderr } = end
  if (kind === 'timed out') return { error: 'it timed out' }
  if (kind === 'aborted' || kind === 'left') return nothing
  if (kind === 'not confined') {
    const why = texts.notConfined(cut(stderr.trim(), 500))
    // A command could prevent hooks from being confined: if a guard did not run, the call is blocked.
    return guards.has(event) ? { ...blocking(event, texts.hookNotRun(why), nothing), error: why } : { error: why }
  }
  if (kind === 'threw') return { error: cut(stderr.trim(), 500) || 'it threw' }
  if (kind !== 'exited') return { error: `${kind}: ${cut(stderr.trim(), 500)}` }
  const text = stdout.trim()
  const json = text.startsWith('{') ? parsed(text) : undefined
  if (json === 'too deep') return exitCode === 2 ? blocking(event, stderr.trim(), nothing) : { error: tooDeep }
  const jsonAnswer = json === undefined ? nothing : answerOfJson(event, json)
  if (exitCode === 2) return blocking(event, stderr.trim(), jsonAnswer)
  if (json !== undefined) return jsonAnswer
  if (exitCode !== 0) {
    const why = `exit code ${exitCode}${stderr.trim() === '' ? '' : `: ${cut(stderr.trim(), 500)}`}`
    return { error: end.isConfined === true && isRefusedByTheSandbox(stderr) ? `${why}. ${keptBy(event)}` : why }
  }
  if (plainIsContext.has(event)) return text === '' ? nothing : { context: cut(text, contextLimit) }
  return text.startsWith('{') ? { error: 'its output starts like JSON but is not valid JSON' } : nothing
}

/** Whether the error is a refusal by the sandbox, in the wording of C, Node and Python. */
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
/** Deeper values are meant to break parsers, and would also break code that serializes them. */
const maxDepth = 64

function parsed(text: string): JsonObject | 'too deep' | undefined {
  try {
    // JSON.parse returns JSON.
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

function blocking(event: HookEvent, stderr: string, jsonAnswer: HookAnswer): HookAnswer {
  const { stop, systemMessage, context, suppressOutput } = jsonAnswer
  const reason =
    cut(stderr, contextLimit) || jsonAnswer.block || jsonAnswer.permissionReason || jsonAnswer.request?.message || ''
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
    // If an answer both denies and allows, denying wins.
    ...(decided.permission === 'deny' && { permission: 'deny', permissionReason: decided.permissionReason ?? '' }),
    ...(decided.request !== undefined && { request: decided.request }),
  }
}

/** The former values: `block`, and `approve` for tools. */
function decisionOf(event: HookEvent, decision: Json | undefined, reason: string): HookAnswer {
  if (decision === 'block') {
    if (event === 'PreToolUse') return { permission: 'deny', permissionReason: reason }
    if (event === 'PermissionRequest') return { request: { behavior: 'deny', message: reason } }
    return { block: reason }
  }
  if (decision === 'approve' && event === 'PreToolUse') return { permission: 'allow', permissionReason: reason }
  return nothing
}

function specificOf(event: HookEvent, rawValue: Json | undefined): HookAnswer {
  if (rawValue === undefined || rawValue === null) return nothing
  if (!isJsonObject(rawValue)) return { error: 'hookSpecificOutput must be an object' }
  const { hookEventName: name } = rawValue
  if (name !== undefined && name !== event)
    return { error: `hookSpecificOutput is of ${JSON.stringify(name)}, and this is ${event}` }
  const context = textOf(rawValue['additionalContext'])
  return {
    ...(context !== undefined && context.trim() !== '' && { context }),
    ...(event === 'PreToolUse' && preToolUse(rawValue)),
    ...(event === 'PreSkillShellCommand' && preSkillShellCommand(rawValue)),
    ...(event === 'PermissionRequest' && permissionRequest(rawValue['decision'])),
    ...((event === 'PostToolUse' || event === 'PostToolUseFailure') &&
      rawValue['updatedToolOutput'] !== undefined && { output: asText(rawValue['updatedToolOutput']) }),
  }
}

function preToolUse({ permissionDecision, permissionDecisionReason, updatedInput }: JsonObject): HookAnswer {
  const reason = textOf(permissionDecisionReason)
  const isWrong = isNoInput(updatedInput)
  const decided =
    permissionDecision === undefined || permissionDecision === null ? undefined : permissionOf(permissionDecision)
  // The hook allowed an input that differs from the current one.
  const permission = isWrong && decided === 'allow' ? 'ask' : decided
  return {
    ...(permission !== undefined && { permission }),
    ...(reason !== undefined && { permissionReason: reason }),
    ...(updatedInput !== undefined && isJsonObject(updatedInput) && { updatedInput }),
    ...(isKnown(permissionDecision) ? {} : { error: 'permissionDecision must be allow, deny, ask or defer' }),
    ...(isWrong && { error: 'updatedInput must be an object, the whole input' }),
  }
}

/** A PreSkillShellCommand hook can only refuse; a hook that tries to change the input counts as refusing. */
function preSkillShellCommand(rawValue: JsonObject): HookAnswer {
  const { permission, permissionReason, error } = preToolUse({ ...rawValue, updatedInput: null })
  const changes = (rawValue['updatedInput'] ?? undefined) !== undefined
  if (!changes && (permission === undefined || permission === 'allow')) return nothing
  const reason = permissionReason ?? (changes ? texts.inputNotChangeable : '')
  return { block: reason, ...(error !== undefined && { error }) }
}

function isNoInput(rawValue: Json | undefined): boolean {
  return rawValue !== undefined && rawValue !== null && !isJsonObject(rawValue)
}

function isKnown(permission: Json | undefined): boolean {
  return permission === undefined || permission === null || permission === 'ask' || permissionOf(permission) !== 'ask'
}

/** An invalid permission becomes `ask`. */
function permissionOf(rawValue: Json): NonNullable<HookAnswer['permission']> {
  return rawValue === 'allow' || rawValue === 'deny' || rawValue === 'defer' ? rawValue : 'ask'
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
  // An unknown field may be a misspelled change of the input.
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
