// Subagents: instructions after their own prompt, and reasons why one cannot start.
import type { HasTool } from '../tools/available-tools.ts'
import { deniedCalls, nobodyAnswers, untrustedContent } from '../coding-agent/system-prompt-texts.ts'

export const generalPrompt: string =
  'You are an agent of halting, a coding agent in a terminal. Complete the task you were given with your tools: all of it, and nothing more. ' +
  'Read before you edit, follow the existing style and conventions, and check what you changed.'

/** Follows the prompt of every agent, including user-defined ones. */
export const subagentRules = (has: HasTool): string =>
  [
    'You work for another agent, which sees only your last message. Put in it what you found or did (locations as path:line), the evidence that it works, and what remains.',
    nobodyAnswers,
    deniedCalls,
    untrustedContent,
    ...(has('Bash') ? ['Every Bash command starts in the same directory: cd affects only its own command.'] : []),
  ].join(' ')

/** How the parent reads and stops an agent in the background. */
export function backgroundControls(tools: { readonly hasTaskOutput: boolean; readonly hasTaskStop: boolean }): string {
  const controls = [
    ...(tools.hasTaskOutput ? ['Read its output so far with TaskOutput.'] : []),
    ...(tools.hasTaskStop ? ['End it with TaskStop.'] : []),
  ]
  return controls.join(' ')
}

/** An agent in the list of the tool's description. */
export function agentLine(name: string, description: string, tools?: readonly string[]): string {
  return `- ${name}: ${description}${tools === undefined ? '' : ` (tools: ${tools.join(', ') || 'none'})`}`
}
export const moreAgents = (count: number): string => `(and ${count} more)`

// Results of calls that start no agent.

export const unknownAgent = (name: string, known: string): string =>
  `Unknown agent ${JSON.stringify(name)}. Nothing was started. Use one of: ${known}.`

export function unknownModel(name: string, known: readonly string[]): string {
  const use = known.length === 0 ? 'Omit model' : `Omit model, or use one of: ${known.join(', ')}`
  return `Model ${JSON.stringify(name)} is not available to agents. Nothing was started. ${use}.`
}

export const uncheckableGoals = (agent: string): string =>
  `Agent ${agent} has goals (until) that cannot be checked here. Nothing was started.`

export const misspelledTool = (field: string, agent: string, entry: string, name: string): string =>
  `${field} of agent ${agent} contains ${entry}, but the tool is named ${name}. Nothing was started.`

export const allToolsGuarded = (agent: string, tools: readonly string[]): string =>
  `Agent ${agent} was not started, because it would have no tools. Its PreToolUse hooks guard ${tools.join(', ')}, and these hooks do not run for agents. Use another agent.`

export const noToolAvailable = (agent: string, tools: readonly string[]): string =>
  `Agent ${agent} would have no tools: none of ${tools.join(', ')} is available here. Nothing was started.`
