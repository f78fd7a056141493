import { messageOf } from '../values/errors.ts'
import { ignoreRejection } from '../values/maybe-promise.ts'
import { deepFreeze, isJsonObject, jsonOf, mutableCopyOf, type Json } from '../values/json.ts'
import { invalidJsonOf, jsonProblemOf } from '../values/json-problem.ts'
import type { ToolUseBlock } from '../model/messages.ts'
import { calledName, calledTool } from '../tools/definitions.ts'
import { coercedInput } from '../tools/coerce-input.ts'
import { shortenText } from '../context/shorten.ts'
import { headOf } from '../values/text.ts'
import { schemaProblems } from '../tools/schema.ts'
import { isAgentTool, type AnyTool, type InputCheck } from '../tools/tool.ts'
import type { Run } from '../run/run.ts'
import type { InspectedCall, ValidCall } from '../run/tool-phase.ts'
import {
  fieldsOfTool,
  invalidArguments,
  invalidInput,
  noCheckResult,
  unknownTool,
  type JsonError,
} from './call-texts.ts'

export function inspectCall(run: Run, call: ToolUseBlock, index: number): InspectedCall {
  const received = invalidJsonOf(call.input)
  if (received !== undefined) return { kind: 'invalid', call, index, message: invalidJsonMessage(call.name, received) }
  const tool = calledTool(call.name, run.context)
  if (tool === undefined)
    return {
      kind: 'invalid',
      call,
      index,
      message: unknownTool(
        calledName(call.name, run.context),
        run.context.toolDefinitions.map(({ name }) => name),
      ),
    }
  // Rules, hooks and the person all receive the name of the tool that would run.
  return inspectInput(tool, tool.name === call.name ? call : { ...call, name: tool.name }, {
    index,
    writtenName: call.name,
  })
}

// Spec R-TOOL-2a.
/**
 * Checks the call's input against the tool's schema, then with the tool's own check. From then on the tool has a
 * separate copy, so its changes do not affect the transcript. An input with an obvious equivalent that fits is replaced
 * by the equivalent for all rules, hooks and people that decide about the call.
 */
export function inspectInput(
  tool: AnyTool,
  unchecked: ToolUseBlock,
  { index, writtenName: written }: Pick<ValidCall, 'index' | 'writtenName'>,
): InspectedCall {
  // Inputs are JSON: inputs from replies, hooks and rules are converted when they are received.
  const { input: canonical, problems } = fittingInput(tool, unchecked.input as Json)
  const call = canonical === unchecked.input ? unchecked : { ...unchecked, input: canonical }
  const checked =
    problems.length > 0 ? { valid: false as const, message: problems.join('; ') } : checkInput(tool, canonical)
  if (!checked.valid) {
    const fields = problems.length > 0 ? listedFields(tool) : ''
    return { kind: 'invalid', call: unchecked, index, message: invalidMessage(tool, checked.message + fields) }
  }
  const { input } = checked
  const readOnly = isReadOnly(tool, input)
  const parallelSafe = (readOnly || isAgentTool(tool)) && tool.concurrencySafe !== false
  // Copied before the tool receives it, because the tool may change it.
  const copy = tool.validate === undefined ? call.input : jsonOf(input)
  const common = { readOnly, parallelSafe, earlyDecision: undefined, started: undefined }
  return { kind: 'valid', call, index, writtenName: written, tool, validatedInput: copy, input, ...common }
}

/** Returns the input in canonical form if it fits, or else the converted input, with its remaining problems. */
function fittingInput(tool: AnyTool, unchecked: Json): { readonly input: Json; readonly problems: readonly string[] } {
  const canonical = canonicalInput(tool, unchecked)
  const problems = schemaProblems(tool.inputSchema, canonical)
  if (problems.length === 0) return { input: canonical, problems }
  const input = canonicalInput(tool, coercedInput(tool.inputSchema, canonical))
  if (input === canonical) return { input, problems }
  return { input: deepFreeze(input), problems: schemaProblems(tool.inputSchema, input) }
}

/** JavaScript code may return anything, or change its argument. Only a new object counts. */
function canonicalInput(tool: AnyTool, unchecked: Json): Json {
  if (tool.canonicalInput === undefined || !isJsonObject(unchecked)) return unchecked
  try {
    const input: unknown = tool.canonicalInput(unchecked)
    ignoreRejection(input)
    return input === unchecked || !isJsonObject(input) ? unchecked : deepFreeze(jsonOf(input))
  } catch {
    return unchecked
  }
}

function checkInput(tool: AnyTool, canonical: Json): InputCheck<unknown> {
  const input = mutableCopyOf(canonical)
  if (tool.validate === undefined) return { valid: true, input }
  try {
    return validCheckResult(tool.validate(input), input)
  } catch (error) {
    return { valid: false, message: messageOf(error) }
  }
}

/** JavaScript code may return anything. Only an explicit `valid: true` is valid. */
function validCheckResult(checked: unknown, input: unknown): InputCheck<unknown> {
  ignoreRejection(checked)
  if (typeof checked === 'object' && checked !== null && 'valid' in checked) {
    if (checked.valid === true) return { valid: true, input: 'input' in checked ? checked.input : input }
    if ('message' in checked && typeof checked.message === 'string') return { valid: false, message: checked.message }
  }
  return { valid: false, message: noCheckResult }
}

/** Maximum length of an input problem: the model corrects the first errors first. */
const maxProblemLength = 4_000

/** The message is a single line, whatever the problem quotes. The model already has the schema. */
function invalidMessage(tool: AnyTool, problem: string): string {
  const line = headOf(problem, maxProblemLength)
    .replaceAll(/\s*[\n\r\u2028\u2029]\s*/g, ' ')
    .replace(/\.$/, '')
  return invalidInput(tool.name, line)
}

/** Maximum number of characters of malformed arguments that the model receives, and of those before the error. */
const maxReceivedLength = 1_000
const maxBeforeLength = 30

// Spec R-TOOL-2b.
/** The problem with arguments that are not a JSON object, its position, and what was received. */
function invalidJsonMessage(name: string, received: string): string {
  const excerpt = shortenText(received, maxReceivedLength)
  return invalidArguments(name, jsonErrorOf(received), excerpt, received.length)
}

function jsonErrorOf(received: string): JsonError {
  const problem = jsonProblemOf(received)
  if (problem === undefined) return 'refused'
  const { kind, at, expected } = problem
  if (kind === 'not_an_object') return kind
  const character = String.fromCodePoint(received.codePointAt(at) ?? 0)
  return { kind, at, character, before: received.slice(Math.max(0, at - maxBeforeLength), at), expected }
}

/** The names of the fields, if there are few enough to list. */
function listedFields({ inputSchema: { properties, required } }: AnyTool): string {
  const names = isJsonObject(properties) ? Object.keys(properties) : []
  if (names.length === 0 || names.length > 30) return ''
  const needed: readonly unknown[] = Array.isArray(required) ? required : []
  return fieldsOfTool(names.map((name) => (needed.includes(name) ? name : `${name}?`)))
}

/**
 * Whether the call is read-only. A predicate that throws or returns no boolean counts as false: only calls that are
 * known to be harmless are read-only.
 */
function isReadOnly(tool: AnyTool, input: unknown): boolean {
  if (typeof tool.readOnly === 'boolean') return tool.readOnly
  try {
    // `input` has passed this tool's own check, so it has the type that the predicate accepts.
    const isReading: unknown = tool.readOnly(input as never)
    ignoreRejection(isReading)
    return isReading === true
  } catch {
    return false
  }
}

/** Whether calls of the tool run one at a time regardless of their input. */
export function runsAlone(tool: AnyTool): boolean {
  return tool.concurrencySafe === false || (tool.readOnly === false && !isAgentTool(tool))
}
