import { messageOf } from '../values/errors.ts'
import { disregard } from '../values/eventually.ts'
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
  // Everybody who judges the call sees the tool that would run.
  return inspectInput(tool, tool.name === call.name ? call : { ...call, name: tool.name }, {
    index,
    written: call.name,
  })
}

// Spec R-TOOL-2a.
/**
 * Checks the call's input against the tool's schema, then by the tool's own check. From here on the tool has a copy of its own:
 * what it changes in it changes nothing on the transcript. An input that plainly means one that fits is that one, for everybody who judges the
 * call.
 */
export function inspectInput(
  tool: AnyTool,
  made: ToolUseBlock,
  { index, written }: Pick<ValidCall, 'index' | 'written'>,
): InspectedCall {
  // Inputs come as JSON: replies, hooks and rules are made so where they enter.
  const { input: given, problems } = fittingInput(tool, made.input as Json)
  const call = given === made.input ? made : { ...made, input: given }
  const checked =
    problems.length > 0 ? { valid: false as const, message: problems.join('; ') } : checkInput(tool, given)
  if (!checked.valid) {
    const fields = problems.length > 0 ? fieldsOf(tool) : ''
    return { kind: 'invalid', call: made, index, message: invalidMessage(tool, checked.message + fields) }
  }
  const { input } = checked
  const readOnly = isReadOnly(tool, input)
  const parallelSafe = (readOnly || isAgentTool(tool)) && tool.concurrencySafe !== false
  // Taken before the tool has it, which may change it.
  const taken = tool.validate === undefined ? call.input : jsonOf(input)
  const known = { readOnly, parallelSafe, said: undefined, started: undefined }
  return { kind: 'valid', call, index, written, tool, taken, input, ...known }
}

/** What fits stays as it is. */
function fittingInput(tool: AnyTool, made: Json): { readonly input: Json; readonly problems: readonly string[] } {
  const given = canonicalInput(tool, made)
  const problems = schemaProblems(tool.inputSchema, given)
  if (problems.length === 0) return { input: given, problems }
  const input = canonicalInput(tool, coercedInput(tool.inputSchema, given))
  if (input === given) return { input, problems }
  return { input: deepFreeze(input), problems: schemaProblems(tool.inputSchema, input) }
}

/** Plain JavaScript may give anything back, or change what it was given; only another object counts. */
function canonicalInput(tool: AnyTool, made: Json): Json {
  if (tool.canonicalInput === undefined || !isJsonObject(made)) return made
  try {
    const input: unknown = tool.canonicalInput(made)
    disregard(input)
    return input === made || !isJsonObject(input) ? made : deepFreeze(jsonOf(input))
  } catch {
    return made
  }
}

function checkInput(tool: AnyTool, given: Json): InputCheck<unknown> {
  const input = mutableCopyOf(given)
  if (tool.validate === undefined) return { valid: true, input }
  try {
    return checkOf(tool.validate(input), input)
  } catch (error) {
    return { valid: false, message: messageOf(error) }
  }
}

/** Plain JavaScript may give anything back; only what says so is valid. */
function checkOf(checked: unknown, input: unknown): InputCheck<unknown> {
  disregard(checked)
  if (typeof checked === 'object' && checked !== null && 'valid' in checked) {
    if (checked.valid === true) return { valid: true, input: 'input' in checked ? checked.input : input }
    if ('message' in checked && typeof checked.message === 'string') return { valid: false, message: checked.message }
  }
  return { valid: false, message: noCheckResult }
}

/** Characters of what is wrong with an input: the model corrects the first of it first. */
const mostCharacters = 4_000

/** One line, whatever the problem quotes: the schema was told with the tool. */
function invalidMessage(tool: AnyTool, problem: string): string {
  const line = headOf(problem, mostCharacters)
    .replaceAll(/\s*[\n\r\u2028\u2029]\s*/g, ' ')
    .replace(/\.$/, '')
  return invalidInput(tool.name, line)
}

/** Characters of arguments that are not JSON which the model is shown, and of what stands before the error. */
const mostReceived = 1_000
const mostBefore = 30

// Spec R-TOOL-2b.
/** What is wrong with arguments that are not a JSON object, where, and what was received. */
function invalidJsonMessage(name: string, received: string): string {
  const shown = shortenText(received, mostReceived)
  return invalidArguments(name, jsonErrorOf(received), shown, received.length)
}

function jsonErrorOf(received: string): JsonError {
  const problem = jsonProblemOf(received)
  if (problem === undefined) return 'refused'
  const { kind, at, expected } = problem
  if (kind === 'not_an_object') return kind
  const character = String.fromCodePoint(received.codePointAt(at) ?? 0)
  return { kind, at, character, before: received.slice(Math.max(0, at - mostBefore), at), expected }
}

/** The names of the fields, where there are few enough to be read. */
function fieldsOf({ inputSchema: { properties, required } }: AnyTool): string {
  const names = isJsonObject(properties) ? Object.keys(properties) : []
  if (names.length === 0 || names.length > 30) return ''
  const needed: readonly unknown[] = Array.isArray(required) ? required : []
  return fieldsOfTool(names.map((name) => (needed.includes(name) ? name : `${name}?`)))
}

/** A predicate that throws or gives no boolean counts as false: what is not known to be harmless is not. */
function isReadOnly(tool: AnyTool, input: unknown): boolean {
  if (typeof tool.readOnly === 'boolean') return tool.readOnly
  try {
    // `input` has passed this tool's own check, which is what its predicates are written for.
    const isReading: unknown = tool.readOnly(input as never)
    disregard(isReading)
    return isReading === true
  } catch {
    return false
  }
}

/** True when the tool alone tells, whatever the input, that its calls run one at a time. */
export function runsAlone(tool: AnyTool): boolean {
  return tool.concurrencySafe === false || (tool.readOnly === false && !isAgentTool(tool))
}
