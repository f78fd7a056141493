import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { type AnyLeafTool, isJsonObject } from '@halting/core/adapters'
import { AgentState, type Json, type ToolContext, type ToolOutput } from '@halting/core'
import { createCodingTools, type Limits, Workspace, type WorkspaceOptions } from '@halting/agent'
import { onTestFinished } from 'vitest'
import { temporaryFolder } from '../../../policy/test/support/temporary-folder.ts'

export { temporaryFolder }

/** Name of the folder with the sessions of this one. */
export function projectName(cwd: string): string {
  const hash = createHash('sha256').update(cwd).digest('hex').slice(0, 12)
  return `${cwd.replaceAll(/[^a-zA-Z0-9]/g, '-')}-${hash}`
}

export interface Harness {
  readonly cwd: string
  readonly workspace: Workspace
  readonly tools: readonly AnyLeafTool[]
  /** Validates like the loop, then runs the tool. */
  readonly use: (name: string, input: unknown, signal?: AbortSignal) => Promise<ToolResult>
  /** The same, called by a subagent. */
  readonly useInAgent: (name: string, input: unknown) => Promise<ToolResult>
}

interface ToolResult {
  readonly text: string
  readonly isError: boolean
  readonly details: Record<string, unknown>
  readonly output: ToolOutput
}

export function codingTools(limits: Partial<Limits> = {}, options: Partial<WorkspaceOptions> = {}): Harness {
  const cwd = options.cwd ?? temporaryFolder()
  const workspace = new Workspace({ ...options, cwd, limits })
  onTestFinished(() => workspace.dispose())
  const tools = createCodingTools(workspace)
  /** The task list of the calls so far. */
  const memos: Json[] = []
  return {
    cwd,
    workspace,
    tools,
    async use(name, input, signal = new AbortController().signal) {
      const result = await useTool(toolNamed(tools, name), input, { signal, memos })
      if (result.output.memo !== undefined && taskTools.has(name)) memos.push(result.output.memo)
      return result
    },
    useInAgent: (name, input) => useTool(toolNamed(tools, name), input, { agentType: 'helper' }),
  }
}

const taskTools = new Set(['TaskCreate', 'TaskUpdate', 'TodoWrite'])

export function toolNamed(tools: readonly AnyLeafTool[], name: string): AnyLeafTool {
  const tool = tools.find((candidate) => candidate.name === name)
  if (tool === undefined) throw new Error(`no tool ${name}`)
  return tool
}

/** Validates like the loop, then runs the tool. */
export const runTool = (tool: AnyLeafTool, input: unknown): Promise<ToolResult> => useTool(tool, input, {})

async function useTool(
  tool: AnyLeafTool,
  input: unknown,
  {
    signal = new AbortController().signal,
    agentType = null,
    memos = [],
  }: Partial<Pick<ToolContext, 'signal' | 'agentType' | 'memos'>>,
): Promise<ToolResult> {
  const meant = isJsonObject(input) ? (tool.canonicalInput?.(input) ?? input) : input
  const check = tool.validate?.(meant) ?? { valid: false, message: `${tool.name} does not validate` }
  if (!check.valid) return resultOf({ content: check.message, isError: true })
  // The tools read only the conversation of the run, which is empty here.
  const state = AgentState.empty()
  const rest = { idempotencyKey: 'key', progress: () => undefined }
  const context = { callId: 'call_1', toolName: tool.name, agentType, signal, state, memos, ...rest }
  // The tool's own check has passed: `execute` accepts the input.
  const output = await tool.execute(check.input as never, context)
  return resultOf(typeof output === 'string' ? { content: output } : output)
}

function resultOf(output: ToolOutput): ToolResult {
  const text = typeof output.content === 'string' ? output.content : JSON.stringify(output.content)
  return { text, isError: output.isError === true, details: { ...(output.details as object | undefined) }, output }
}

/** Whether a process runs; a zombie does not. */
export function runs(processId: number): boolean {
  try {
    process.kill(processId, 0)
  } catch {
    return false
  }
  const stat = `/proc/${processId}/stat`
  if (!existsSync('/proc/self/stat')) return true
  try {
    const text = readFileSync(stat, 'latin1')
    return text.charAt(text.lastIndexOf(')') + 2) !== 'Z'
  } catch {
    return false
  }
}

/** Waits for something to become true; fails when it does not. */
export async function until(isTrue: () => boolean | Promise<boolean>, limitMs: number = 10_000): Promise<void> {
  const deadline = performance.now() + limitMs
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error('it did not become true')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** The number that a command wrote into a file, once it is there. */
export async function numberIn(path: string): Promise<number> {
  await until(() => existsSync(path) && /^\d+\n/.test(readFileSync(path, 'utf8')))
  return Number(readFileSync(path, 'utf8'))
}
