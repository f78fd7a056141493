import { messageOf } from '../errors.ts'
import { schemaProblems } from '../tools/schema.ts'
import type { AnyTool, InputCheck } from '../tools/tool.ts'

/** Checks an input against the tool's schema, then by the tool's own check. The message says what is right. */
export function checkInput(tool: AnyTool, input: unknown): InputCheck<unknown> {
  const problems = schemaProblems(tool.inputSchema, input)
  if (problems.length > 0) return { valid: false, message: invalidMessage(tool, problems.join('; ')) }
  if (tool.validate === undefined) return { valid: true, input }
  try {
    const checked = tool.validate(input)
    return checked.valid ? checked : { valid: false, message: invalidMessage(tool, checked.message) }
  } catch (error) {
    return { valid: false, message: invalidMessage(tool, messageOf(error)) }
  }
}

function invalidMessage(tool: AnyTool, problem: string): string {
  return `Invalid input for ${tool.name}: ${problem}. Nothing was run. Its input schema is ${JSON.stringify(tool.inputSchema)}`
}

/** A predicate that throws counts as false: what is not known to be harmless is not. */
export function isReadOnly(tool: AnyTool, input: unknown): boolean {
  if (typeof tool.readOnly === 'boolean') return tool.readOnly
  try {
    // `input` has passed this tool's own check, which is what its predicates are written for.
    return tool.readOnly(input as never)
  } catch {
    return false
  }
}
