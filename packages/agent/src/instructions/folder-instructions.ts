import { dirname } from 'node:path'
import { type AnyTool, type AgentState, type ToolContext, type ToolOutput } from '@halting/core'
import { isAgentTool, isJsonObject, type AnyLeafTool } from '@halting/core/adapters'
import { resolveToolPath, changedPathsOf, isInside, patchedFilesOf, patchToolName } from '@halting/policy/files'
import { realPath } from '@halting/journal/files'
import { folderInstructions } from './briefing-texts.ts'
import { readPlaces, type ReadingRules } from './instruction-files.ts'
import { instructionBlock, instructionMark } from './instruction-text.ts'
import { type BriefingPlaces, isLevelEnabled, foldersAround, type InstructionPlace, placesIn } from './places.ts'

/** The input field with the file of a call, by tool. */
const fileFields: { readonly [tool: string]: string } = {
  Read: 'file_path',
  Edit: 'file_path',
  Write: 'file_path',
  NotebookEdit: 'notebook_path',
}

/** Returns the files of a call, as written in its input. */
function filesOf(tool: string, input: unknown): readonly string[] {
  if (tool === patchToolName) return changedPathsOf(patchedFilesOf(input)).map(({ path }) => path)
  const field = fileFields[tool]
  const rawPath = field !== undefined && isJsonObject(input) ? input[field] : undefined
  return typeof rawPath === 'string' ? [rawPath] : []
}

/** Maximum characters of instructions added to a result. */
const maxCharacters = 12_000

// Spec R-INSTR-5.
/**
 * Adds the instructions of a folder to the result of the first call on a file in that folder. The conversation records
 * what was shown: after a resume nothing is shown twice; after a compaction that removed instructions, they are shown
 * again.
 */
export function withFolderInstructions(
  options: BriefingPlaces & ReadingRules,
  isRead: ReadonlySet<string>,
): (tool: AnyTool) => AnyTool {
  const shownAt = new Map<string, string>()
  return (tool) => {
    if (!(tool.name in fileFields || tool.name === patchToolName) || isAgentTool(tool)) return tool
    return withFolders(tool, async (input, context) => {
      const paths = filesOf(tool.name, input).map((path) => resolveToolPath(path, options.cwd))
      const moment = momentOf(context.state)
      const around = new Map(paths.flatMap((path) => placesBelow(path, options)).map((place) => [place.path, place]))
      const changed = new Set(paths.map(realPath))
      const places = [...around.values()].filter((place) => {
        const real = realPath(place.path)
        if (changed.has(real) || isRead.has(real) || shownAt.get(place.path) === moment) return false
        return !isShown(instructionMark(place.path), context.state)
      })
      if (places.length === 0) return ''
      const { files } = await readPlaces(places, options, isRead, maxCharacters)
      for (const file of files) shownAt.set(file.path, moment)
      return files.length === 0 ? '' : folderInstructions(files.map(instructionBlock))
    })
  }
}

function withFolders(
  tool: AnyLeafTool,
  instructions: (input: unknown, context: ToolContext) => Promise<string>,
): AnyTool {
  return {
    ...tool,
    async execute(input: never, context: ToolContext) {
      const result = await tool.execute(input, context)
      const output: ToolOutput = typeof result === 'string' ? { content: result } : result
      if (output.isError === true) return result
      const text = await instructions(input, context)
      if (text === '') return result
      const { content } = output
      return {
        ...output,
        content: typeof content === 'string' ? `${content}\n\n${text}` : [...content, { type: 'text', text }],
      }
    },
  }
}

/** The instruction files between the working directory and the file. */
function placesBelow(path: string, options: BriefingPlaces): readonly InstructionPlace[] {
  const { cwd } = options
  if (!isInside(path, cwd)) return []
  return (
    foldersAround(dirname(path))
      .filter((folder) => folder !== cwd && isInside(folder, cwd))
      // Imports files inside the project like those of its other instructions.
      .flatMap((folder) => placesIn(folder).map((place) => ({ ...place, root: cwd })))
      .filter(({ level }) => isLevelEnabled(level, options))
  )
}

/**
 * Identifies the state of a conversation: calls of one message share a state that does not include each other's
 * results.
 */
function momentOf(state: AgentState): string {
  return `${state.agentId} ${state.executionId} ${state.transcript.length}`
}

function isShown(mark: string, state: AgentState): boolean {
  // In JSON, quotes are escaped.
  const escapedMark = JSON.stringify(mark).slice(1, -1)
  return state.messages().some(({ content }) => JSON.stringify(content).includes(escapedMark))
}
