import type { AnyLeafTool } from '@halting/core/adapters'
import type { ContentBlock, Json, ToolContext, ToolOutput } from '@halting/core'

type Redact = (text: string) => string

/** The same tool, whose output goes through `redact` before anybody sees it: the model, the record, hooks, and files of large results. */
export function redactedTool(tool: AnyLeafTool, redact: Redact): AnyLeafTool {
  return {
    ...tool,
    async execute(input: never, context: ToolContext) {
      const progress = (data: Json): void => context.progress(redactedJson(data, redact))
      try {
        return redactedOutput(await tool.execute(input, { ...context, progress }), redact)
      } catch (thrown) {
        if (thrown instanceof Error) thrown.message = redact(thrown.message)
        throw thrown
      }
    },
  }
}

function redactedOutput(output: ToolOutput | string, redact: Redact): ToolOutput | string {
  if (typeof output === 'string') return redact(output)
  const { content, details } = output
  const shown = typeof content === 'string' ? redact(content) : content.map((block) => redactedBlock(block, redact))
  return { ...output, content: shown, ...(details !== undefined && { details: redactedJson(details, redact) }) }
}

function redactedBlock(block: ContentBlock, redact: Redact): ContentBlock {
  return block.type === 'text' && typeof block.text === 'string' ? { ...block, text: redact(block.text) } : block
}

function redactedJson(data: Json, redact: Redact): Json {
  if (typeof data === 'string') return redact(data)
  if (Array.isArray(data)) return data.map((each: Json) => redactedJson(each, redact))
  if (typeof data !== 'object' || data === null) return data
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [redact(name), redactedJson(value as Json, redact)]),
  )
}
