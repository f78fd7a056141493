import { redactedMark } from '@halting/core/redact'
import { isAgentTool, type AnyLeafTool, type PrecheckContext } from '@halting/core/adapters'
import type { AnyTool, ContentBlock, Json, ToolContext, ToolOutput } from '@halting/core'

type Redact = (text: string) => string

/**
 * The same tools with redacted output. For a tool that starts subagents, the tools of these are redacted; answers then
 * come from redacted tools.
 */
export function redactedTools(tools: readonly AnyTool[], redact: Redact): readonly AnyTool[] {
  // A tool of an agent may start agents that have the same tool.
  const made = new Map<AnyTool, AnyTool>()
  const redacted = (tool: AnyTool): AnyTool => {
    const known = made.get(tool)
    if (known !== undefined) return known
    if (!isAgentTool(tool)) return keep(tool, redactedTool(tool, redact))
    const { tools: own } = tool
    if (own === undefined) return keep(tool, tool)
    const parts: AnyTool[] = []
    const agent = keep(tool, {
      ...tool,
      get description() {
        return tool.description
      },
      tools: parts,
      spawn: (input, context) => tool.spawn(input, context),
    })
    parts.push(...own.map(redacted))
    return agent
  }
  const keep = (tool: AnyTool, as: AnyTool): AnyTool => {
    made.set(tool, as)
    return as
  }
  return tools.map(redacted)
}

/**
 * Wraps a tool so that its output passes through `redact` before any consumer receives it: the model, the record,
 * hooks, and files of large results.
 */
export function redactedTool(tool: AnyLeafTool, rawRedact: Redact): AnyLeafTool {
  const redact = closed(rawRedact)
  const { precheck } = tool
  return {
    ...tool,
    ...(precheck !== undefined && {
      async precheck(input: never, context: PrecheckContext) {
        const why = await precheck.call(tool, input, context)
        return why === undefined ? undefined : redact(why)
      },
    }),
    // The description may change.
    get description() {
      return tool.description
    },
    async execute(input: never, context: ToolContext) {
      const progress = (data: Json): void => context.progress(redactedJson(data, redact))
      try {
        return redactedOutput(await tool.execute(input, withProgress(context, progress)), redact)
      } catch (thrown) {
        throw redactedError(thrown, redact)
      }
    },
  }
}

/** A wrapper of a context: accessors of a context are not own fields, so a copy of its fields would lose them. */
function withProgress(context: ToolContext, progress: ToolContext['progress']): ToolContext {
  return {
    ...context,
    get state() {
      return context.state
    },
    get rights() {
      return context.rights
    },
    progress,
  }
}

/** Withholds output that cannot be redacted, and also the error, which may quote the output. */
function closed(redact: Redact): Redact {
  return (text) => {
    try {
      return redact(text)
    } catch {
      return redactedMark
    }
  }
}

function redactedOutput(output: ToolOutput | string, redact: Redact): ToolOutput | string {
  if (typeof output === 'string') return redact(output)
  const { content, details } = output
  const redactedContent =
    typeof content === 'string' ? redact(content) : content.map((block) => redactedBlock(block, redact))
  return {
    ...output,
    content: redactedContent,
    ...(details !== undefined && { details: redactedJson(details, redact) }),
  }
}

/** Other blocks, such as documents and search results, contain texts too. The bytes of an image are not text. */
function redactedBlock(block: ContentBlock, redact: Redact): ContentBlock {
  if (block.type === 'image') return block
  // Strings of JSON are replaced by strings.
  return redactedJson(block as unknown as Json, redact, isOfBytes) as unknown as ContentBlock
}

function isOfBytes(data: { readonly [name: string]: Json }): boolean {
  return data['type'] === 'base64' || data['type'] === 'image'
}

/**
 * The same error with redacted texts, unless it cannot be changed: an abort error of the platform, a frozen value, or
 * no error at all.
 */
function redactedError(thrown: unknown, redact: Redact): unknown {
  if (typeof thrown === 'string') return redact(thrown)
  if (!(thrown instanceof Error)) return thrown
  const message = redact(thrown.message)
  if (message === thrown.message) return thrown
  try {
    thrown.message = message
    return thrown
  } catch {
    return Object.assign(new Error(message), { name: thrown.name })
  }
}

/** Whether an array consists of the lines of one text, as in a diff: a key may span several. */
function isLines(data: Json): data is readonly string[] {
  if (!Array.isArray(data) || !data.every((each: Json) => typeof each === 'string')) return false
  return data.some((line) => line.includes('PRIVATE KEY')) && data.every((line) => !line.includes('\n'))
}

function redactedJson(
  data: Json,
  redact: Redact,
  stays: (data: { readonly [name: string]: Json }) => boolean = () => false,
): Json {
  if (typeof data === 'string') return redact(data)
  if (isLines(data)) return redact(data.join('\n')).split('\n')
  if (Array.isArray(data)) return data.map((each: Json) => redactedJson(each, redact, stays))
  if (typeof data !== 'object' || data === null) return data
  // Arrays were handled above, which the type of readonly arrays does not express.
  if (stays(data as { readonly [name: string]: Json })) return data
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [redact(name), redactedJson(value as Json, redact, stays)]),
  )
}
