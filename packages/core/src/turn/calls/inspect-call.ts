import { messageOf } from '../../errors.ts'
import type { ToolUseBlock } from '../../messages.ts'
import { schemaProblems } from '../../tools/schema.ts'
import { isAgentTool, type AnyTool, type InputCheck } from '../../tools/tool.ts'
import type { Run } from '../run.ts'

/** A call with all that its input decides: looked at once, and again only where a hook or a rule changed the input. */
export type InspectedCall = ValidCall | InvalidCall

export interface ValidCall {
  readonly kind: 'valid'
  readonly call: ToolUseBlock
  /** Place in the message. */
  readonly index: number
  readonly tool: AnyTool
  /** Checked by the tool. */
  readonly input: unknown
  readonly readOnly: boolean
  /** May run beside its neighbours. */
  readonly parallelSafe: boolean
}

/** An unknown tool, or an input that its tool does not take. */
interface InvalidCall {
  readonly kind: 'invalid'
  readonly call: ToolUseBlock
  readonly index: number
  /** For the model: what is right. */
  readonly message: string
}

export function inspectCall(run: Run, call: ToolUseBlock, index: number): InspectedCall {
  const tool = run.context.tools.get(call.name)
  if (tool === undefined) return { kind: 'invalid', call, index, message: unknownTool(call.name, run) }
  return inspectInput(tool, call, index)
}

/** Checks the call's input against the tool's schema, then by the tool's own check. */
export function inspectInput(tool: AnyTool, call: ToolUseBlock, index: number): InspectedCall {
  const checked = checkInput(tool, call.input)
  if (!checked.valid) return { kind: 'invalid', call, index, message: invalidMessage(tool, checked.message) }
  const { input } = checked
  const readOnly = isReadOnly(tool, input)
  const parallelSafe = isAgentTool(tool) ? tool.concurrencySafe === true : readOnly && tool.concurrencySafe !== false
  return { kind: 'valid', call, index, tool, input, readOnly, parallelSafe }
}

function checkInput(tool: AnyTool, input: unknown): InputCheck<unknown> {
  const problems = schemaProblems(tool.inputSchema, input)
  if (problems.length > 0) return { valid: false, message: problems.join('; ') }
  if (tool.validate === undefined) return { valid: true, input }
  try {
    return tool.validate(input)
  } catch (error) {
    return { valid: false, message: messageOf(error) }
  }
}

function invalidMessage(tool: AnyTool, problem: string): string {
  return `Invalid input for ${tool.name}: ${problem}. Nothing was run. Its input schema is ${JSON.stringify(tool.inputSchema)}`
}

function unknownTool(name: string, { context }: Run): string {
  const names = [...context.tools.keys()]
  return `There is no tool named ${JSON.stringify(name)}. ${names.length === 0 ? 'There are no tools in this run.' : `There are: ${names.join(', ')}.`}`
}

/** A predicate that throws counts as false: what is not known to be harmless is not. */
function isReadOnly(tool: AnyTool, input: unknown): boolean {
  if (typeof tool.readOnly === 'boolean') return tool.readOnly
  try {
    // `input` has passed this tool's own check, which is what its predicates are written for.
    return tool.readOnly(input as never)
  } catch {
    return false
  }
}

/** True when the tool alone tells, whatever the input, that its calls run one at a time. */
export function runsAlone(tool: AnyTool): boolean {
  if (isAgentTool(tool)) return tool.concurrencySafe !== true
  return tool.concurrencySafe === false || tool.readOnly === false
}
