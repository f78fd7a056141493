import { messageOf } from '../../errors.ts'
import { disregard } from '../../eventually.ts'
import { jsonOf, mutableCopyOf, type Json } from '../../json.ts'
import type { ToolUseBlock } from '../../messages.ts'
import { schemaProblems } from '../../tools/schema.ts'
import { isAgentTool, type AnyTool, type InputCheck } from '../../tools/tool.ts'
import type { Run } from '../run.ts'
import type { InspectedCall } from './call.ts'

export function inspectCall(run: Run, call: ToolUseBlock, index: number): InspectedCall {
  const tool = run.context.tools.get(call.name)
  if (tool === undefined) return { kind: 'invalid', call, index, message: unknownTool(call.name, run) }
  return inspectInput(tool, call, index)
}

/**
 * Checks the call's input against the tool's schema, then by the tool's own check. From here on the tool has a copy of its own:
 * what it changes in it changes nothing on the transcript.
 */
export function inspectInput(tool: AnyTool, call: ToolUseBlock, index: number): InspectedCall {
  const checked = checkInput(tool, call.input)
  if (!checked.valid) return { kind: 'invalid', call, index, message: invalidMessage(tool, checked.message) }
  const { input } = checked
  const readOnly = isReadOnly(tool, input)
  const parallelSafe = isAgentTool(tool) ? tool.concurrencySafe === true : readOnly && tool.concurrencySafe !== false
  // Taken before the tool has it, which may change it.
  const taken = tool.validate === undefined ? call.input : jsonOf(input)
  return { kind: 'valid', call, index, tool, taken, input, readOnly, parallelSafe, said: undefined, started: undefined }
}

function checkInput(tool: AnyTool, given: unknown): InputCheck<unknown> {
  const problems = schemaProblems(tool.inputSchema, given)
  if (problems.length > 0) return { valid: false, message: problems.join('; ') }
  // Inputs come as JSON: replies, hooks and rules are made so where they enter.
  const input = mutableCopyOf(given as Json)
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
  return { valid: false, message: 'its check gave no answer ({ valid, input } or { valid, message })' }
}

function invalidMessage(tool: AnyTool, problem: string): string {
  return `Invalid input for ${tool.name}: ${problem}. Nothing was run. Its input schema is ${JSON.stringify(tool.inputSchema)}`
}

function unknownTool(name: string, { context }: Run): string {
  const names = [...context.tools.keys()]
  return `There is no tool named ${JSON.stringify(name)}. ${names.length === 0 ? 'There are no tools in this run.' : `There are: ${names.join(', ')}.`}`
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
  if (isAgentTool(tool)) return tool.concurrencySafe !== true
  return tool.concurrencySafe === false || tool.readOnly === false
}
