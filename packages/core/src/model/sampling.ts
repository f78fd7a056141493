import { ConfigurationError } from '../values/errors.ts'
import { fieldsOf, isListOf, throwInvalidOption, type Validator } from '../values/validators.ts'

/** Whether the model should call a tool: its own choice (`auto`), no tool, any tool (`required`), or the named tool. */
export type ToolChoice =
  | 'auto'
  | 'none'
  | 'required'
  | {
      /** The name of the tool. */
      readonly tool: string
    }

/** How a model samples the tokens of its reply. Settings that a service does not support are left out, and reported once in a notice. */
export interface Sampling {
  /** 0 for the most likely answer; higher for more variety. */
  readonly temperature?: number
  /** Consider only the most likely tokens, up to this share of the probability: above 0, at most 1. */
  readonly topP?: number
  /** The reply ends before the first occurrence of any of these texts. */
  readonly stopSequences?: readonly string[]
  /** The same seed and request tend to get the same answer. An integer. */
  readonly seed?: number
}

export const isTemperature: Validator = (name, value) => {
  if (typeof value !== 'number' || !(value >= 0 && value <= 2)) throwInvalidOption(name, 'a number from 0 to 2', value)
}

export const isTopP: Validator = (name, value) => {
  if (typeof value !== 'number' || !(value > 0 && value <= 1))
    throwInvalidOption(name, 'a number above 0 and at most 1', value)
}

export const isSeed: Validator = (name, value) => {
  if (!Number.isSafeInteger(value)) throwInvalidOption(name, 'a whole number', value)
}

export const isStopSequences: Validator = isListOf((name, value) => {
  if (typeof value !== 'string' || value === '') throwInvalidOption(name, 'a text that is not empty', value)
})

export const isReplyLimit: Validator = (name, value) => {
  if (!Number.isInteger(value) || Number(value) < 1) throwInvalidOption(name, 'a whole number of tokens above 0', value)
}

export const isToolChoice: Validator = (name, value) => {
  if (value === 'auto' || value === 'none' || value === 'required') return
  const tool = fieldsOf(value)?.['tool']
  if (typeof tool !== 'string' || tool === '')
    throwInvalidOption(name, "'auto', 'none', 'required' or { tool: 'name' }", value)
}

/** The fields that are set; null for none. */
export function samplingOf({ temperature, topP, stopSequences = [], seed }: Sampling): Sampling | null {
  const sampling = {
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(stopSequences.length > 0 && { stopSequences: [...stopSequences] }),
    ...(seed !== undefined && { seed }),
  }
  return Object.keys(sampling).length === 0 ? null : sampling
}

/** @throws ConfigurationError for a required call of tools that do not exist. */
export function checkToolChoice(choice: ToolChoice | undefined, tools: readonly string[]): void {
  if (choice === undefined || choice === 'auto' || choice === 'none') return
  if (tools.length === 0) throw new ConfigurationError('toolChoice requires a call, but there are no tools.')
  if (choice !== 'required' && !tools.includes(choice.tool))
    throw new ConfigurationError(`toolChoice names the tool ${choice.tool}, but there is ${tools.join(', ')}.`)
}
