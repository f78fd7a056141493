// Results of calls that the loop rejects, and of subagents.
import { countOf, tailOf } from '../values/text.ts'

// Calls that are rejected before they run.

/** @param problem one line, without a full stop */
export const invalidInput = (tool: string, problem: string): string =>
  `Invalid input for ${tool}: ${problem}. Nothing was run.`
export const noCheckResult = 'its validate function returned neither { valid, input } nor { valid, message }'
/** Added to the problem of an input. Optional fields have a question mark. */
export const fieldsOfTool = (names: readonly string[]): string => `. Its fields are ${names.join(', ')}`
export const inputChangedByHook = (message: string): string =>
  `A hook changed the input and made it invalid. ${message}`

export function unknownTool(name: string, names: readonly string[]): string {
  const available = names.length === 0 ? 'This run has no tools.' : `Available tools: ${names.join(', ')}.`
  return `There is no tool named ${JSON.stringify(name)}. ${available}`
}

/** What is wrong with arguments that are not a JSON object. `before`: the characters before the error. */
export type JsonError =
  | 'refused'
  | 'not_an_object'
  | {
      readonly kind: 'cut' | 'invalid'
      readonly at: number
      readonly character: string
      readonly before: string
      readonly expected: string
    }

export function invalidArguments(tool: string, error: JsonError, received: string, length: number): string {
  return `The arguments of ${tool} ${jsonErrorText(error)}. Nothing was run. Received ${length} characters: ${received}`
}

function jsonErrorText(error: JsonError): string {
  if (error === 'refused') return 'were rejected by the service, or are nested too deeply'
  if (error === 'not_an_object') return 'must be one JSON object'
  const { kind, at, character, before, expected } = error
  const where =
    kind === 'cut' ? `they were cut off after ${at} characters` : `character ${at + 1} is ${JSON.stringify(character)}`
  return `are not valid JSON: ${where}, after ${JSON.stringify(before)}, where ${expected} was expected`
}

export const callLimitReached = (limit: number): string => `the limit of ${countOf(limit, 'tool call')} is reached`

// Permission.

export const hookDefers = 'A hook deferred the decision about this call.'
export const hookAsks = 'A hook requires approval of this call.'
/** The tool's `needsApproval` requires it. */
export const toolAsks = (tool: string): string => `${tool} requires approval of this call.`
export const toolAsksAfterError = (tool: string, problem: string): string =>
  `${tool} requires approval of this call, because its needsApproval failed: ${problem}`
/** @param why one sentence */
export const notAllowedInAgent = (why: string): string =>
  `Not allowed: ${why} Calls of subagents cannot be approved in this run; continue without this call.`

// Subagents.

export const noAgentsAtDepth = (depth: number): string =>
  `Agents at depth ${depth} cannot start other agents. Do the work yourself.`

/** @param isTemporary Whether agents in the background hold the rest of the limit until they end. */
export function agentLimitReached(limit: number, who: 'run' | 'agent', isTemporary: boolean): string {
  const until = isTemporary ? ' until the agents in the background end' : ''
  return `This ${who} can start at most ${countOf(limit, 'subagent')}, and the limit is reached${until}. Do the work yourself.`
}

export function agentStarted(id: string, atEnd: 'wait' | 'stop'): string {
  const end =
    atEnd === 'wait'
      ? 'The run does not end before it, so do not wait yourself. Stop it when you no longer need it.'
      : 'It is stopped when the run ends.'
  return `The agent runs in the background as ${id}. You receive its answer when it ends. ${end}`
}

export const waitedForAgent = '(Subagents cannot start agents in the background, so this agent ran to its end first.)'
export const noAnswerOfAgent = '(The agent ended without an answer.)'
/** @param signal why, such as `cost_limit: Reached maximum budget ($1)` */
export const agentStoppedEarly = (signal: string): string => `The agent was stopped before it was done (${signal}).`

/** The last output of a stopped agent. */
export const lastTextOfAgent = (text: string, limit: number): string => `Its last output:\n\n${endOf(text, limit)}`
export const lastResultOfAgent = (result: string, limit: number): string =>
  `It had not written anything yet. The last tool result that it received:\n\n${endOf(result, limit)}`

function endOf(text: string, limit: number): string {
  return text.length <= limit ? text : `(the end of ${text.length} characters)\n${tailOf(text, limit)}`
}

/** How an agent in the background ended. `agent`: `The agent reviewer (Review the diff)`. */
export function agentEnd(agent: string, how: 'ended' | 'failed' | 'stopped'): string {
  return `${agent} ${{ ended: 'has ended', failed: 'was stopped before it was done', stopped: 'was stopped' }[how]}.`
}
export const lostAgentEnd = (agent: string): string =>
  `${agent} was started by a process that no longer exists, so it cannot continue. What it did is unknown: check the current state before you continue.`
