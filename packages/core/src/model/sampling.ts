import { ConfigurationError } from '../values/errors.ts'
import { fieldsOf, isListOf, refuse, type Given } from '../values/given.ts'

/**
 * Whether the model is to call a tool: as it likes (`auto`), no tool, some tool (`required`), or the one that is named.
 */
export type ToolChoice =
  | 'auto'
  | 'none'
  | 'required'
  | {
      /** The name of the tool. */
      readonly tool: string
    }

/** How a model picks the tokens of its reply. A service that does not take one of these is asked without it, and a notice says so once. */
export interface Sampling {
  /** 0 for the most likely answer; higher for more variety. */
  readonly temperature?: number
  /** Consider only the most likely tokens, up to this share of the probability: above 0, at most 1. */
  readonly topP?: number
  /** The reply ends before the first of these texts. */
  readonly stopSequences?: readonly string[]
  /** The same seed and request tend to get the same answer. A whole number. */
  readonly seed?: number
}

export const isTemperature: Given = (name, value) => {
  if (typeof value !== 'number' || !(value >= 0 && value <= 2)) refuse(name, 'a number from 0 to 2', value)
}

export const isTopP: Given = (name, value) => {
  if (typeof value !== 'number' || !(value > 0 && value <= 1)) refuse(name, 'a number above 0 and at most 1', value)
}

export const isSeed: Given = (name, value) => {
  if (!Number.isSafeInteger(value)) refuse(name, 'a whole number', value)
}

export const isStopSequences: Given = isListOf((name, value) => {
  if (typeof value !== 'string' || value === '') refuse(name, 'a text that is not empty', value)
})

export const isReplyLimit: Given = (name, value) => {
  if (!Number.isInteger(value) || Number(value) < 1) refuse(name, 'a whole number of tokens above 0', value)
}

export const isToolChoice: Given = (name, value) => {
  if (value === 'auto' || value === 'none' || value === 'required') return
  const tool = fieldsOf(value)?.['tool']
  if (typeof tool !== 'string' || tool === '') refuse(name, "'auto', 'none', 'required' or { tool: 'name' }", value)
}

/** What is set of it; null for nothing. */
export function samplingOf({ temperature, topP, stopSequences = [], seed }: Sampling): Sampling | null {
  const sampling = {
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(stopSequences.length > 0 && { stopSequences: [...stopSequences] }),
    ...(seed !== undefined && { seed }),
  }
  return Object.keys(sampling).length === 0 ? null : sampling
}

/** @throws ConfigurationError for a call that is required of tools which there are not. */
export function checkToolChoice(choice: ToolChoice | undefined, tools: readonly string[]): void {
  if (choice === undefined || choice === 'auto' || choice === 'none') return
  if (tools.length === 0) throw new ConfigurationError('toolChoice requires a call, but there are no tools.')
  if (choice !== 'required' && !tools.includes(choice.tool))
    throw new ConfigurationError(`toolChoice names the tool ${choice.tool}, but there is ${tools.join(', ')}.`)
}
